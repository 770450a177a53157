import {
  errorHandler,
  KeyApi,
  type KeyApiOptions,
  loadPurchase,
  MemoryGuessLimit,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { openShop, VALIDATION } from '../../support/shop.js';
import { hearWarnings } from '../../support/warnings.js';
import { guess } from '../../support/wire.js';

/** How many answers of each status there are. */
function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe.each(expressVersions)('the guess limit on %s', (_version, express) => {
  /** An app with one route for each guard. Visitors name their address. */
  function serve(keyApi: KeyApi, ...guards: RequirePurchaseOptions[]) {
    const app = express();
    app.set('trust proxy', 1);
    for (const [i, options] of guards.entries()) {
      app.get(`/${i}`, requirePurchase(keyApi, options), (_req, res) => void res.end());
    }
    app.get('/load', loadPurchase(keyApi), (req, res) => void res.json(req.marketplace));
    app.use(errorHandler({ log: false }));
    return (code: string, from = '10.0.0.1', path: number | string = 0) =>
      request(app).get(`/${path}`).set({ 'x-purchase-code': code, 'x-forwarded-for': from }).then();
  }
  async function open(guard: RequirePurchaseOptions = {}, options: Partial<KeyApiOptions> = {}) {
    const shop = await openShop(options);
    return { ...shop, ask: serve(shop.keyApi, guard) };
  }
  /** A service in memory, and an app in front of it. */
  function serveOn(says: KeyApiService['says'], options: RequirePurchaseOptions = {}) {
    const service = new KeyApiService({ says });
    return { service, ask: serve(service.client(), options) };
  }
  const times = <T>(count: number, visit: (n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => visit(n)));

  it('answers 429 with Retry-After over the limit, and sends no request', async () => {
    const { ask, asked } = await open({ guessLimit: { limit: 3, windowMs: 60_000 } });
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await ask(guess(i)));
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 429, 429]);
    expect(answers[4]?.body.code).toBe('too_many_attempts');
    const seconds = Number(answers[4]?.headers['retry-after']);
    expect(seconds > 0 && seconds <= 60).toBe(true);
    expect(asked(VALIDATION)).toBe(3);
  });

  it('counts no valid code, also not of another item, and no repeat that a cache answers', async () => {
    const shared = new MemorySharedCache();
    const limit = { item: 1042, guessLimit: { limit: 1 } };
    const { ask, code, baseUrl, apiKey, sandbox } = await open(limit, { cache: { shared } });
    const { clock } = sandbox;
    const other = new KeyApi({ baseUrl, apiKey, clock, cache: { shared } });
    onTestFinished(() => other.close());
    await other.validatePurchase(guess(0));
    const sent = [code('supported'), code('other-item'), guess(0), guess(1), guess(1), guess(2)];
    const statuses = [];
    for (const each of sent) statuses.push((await ask(each)).status);
    expect(statuses).toEqual([200, 403, 403, 403, 403, 429]);
  });

  it('counts by what the app says', async () => {
    const keyGenerator = ({ ip = '' }) => ip.slice(0, 4);
    const { ask } = await open({ guessLimit: { limit: 1, keyGenerator } });
    const statuses = [];
    for (const [n, from] of ['10.1.0.1', '10.1.0.2', '10.2.0.2'].entries()) {
      statuses.push((await ask(guess(n), from)).status);
    }
    expect(statuses).toEqual([403, 429, 403]);
  });

  const own = () => ({ guessLimit: new MemoryGuessLimit() });
  it.each<[string, RequirePurchaseOptions[]]>([
    ['on several routes', [{}, { item: 1042 }, {}, { supported: true }]],
    ['with a limit of each kind', [own(), own(), {}, { guessLimit: { limit: 10 } }, own()]],
  ])('is one count for guards %s, and for loadPurchase', async (_what, guards) => {
    const { keyApi, asked } = await openShop();
    const ask = serve(keyApi, ...guards);
    const answers = [];
    for (let n = 0; n < 14; n++) answers.push(await ask(guess(n), undefined, n % guards.length));
    expect(tally(answers)).toEqual({ 403: 10, 429: 4 });
    expect((await ask(guess(20), undefined, 'load')).body).toMatchObject({ verdict: 'unknown' });
    expect(asked(VALIDATION)).toBe(10);
  });

  it('counts one wrong code at two guards at once as one attempt', async () => {
    const { keyApi, asked } = await openShop();
    const two = { guessLimit: { limit: 2 } };
    const ask = serve(keyApi, two, two);
    await Promise.all([0, 1].map((path) => ask(guess(1), undefined, path)));
    expect(asked(VALIDATION)).toBe(1);
    expect(tally([await ask(guess(2)), await ask(guess(3))])).toEqual({ 403: 1, 429: 1 });
  });

  it('counts also where a handler makes the guard for each request, and that is said', async () => {
    const warnings = hearWarnings();
    const { keyApi } = await openShop();
    const app = express();
    app.get('/', (req, res, next) => requirePurchase(keyApi)(req, res, next));
    app.use(errorHandler({ log: false }));
    const answers = [];
    for (let n = 0; n < 12; n++) {
      answers.push(await request(app).get('/').set('x-purchase-code', guess(n)));
    }
    expect(tally(answers)).toEqual({ 403: 10, 429: 2 });
    expect(warnings).toEqual(['MARKETGATE_CREATED_IN_HANDLER']);
  });

  it('leaves the quota for customers under 58 wrong codes from six addresses', async () => {
    const { ask, code, asked } = await open({}, { cache: false });
    await times(58, (n) => ask(guess(n), `203.0.113.${n % 6}`));
    expect(asked(VALIDATION)).toBeLessThanOrEqual(30);
    expect((await ask(code('supported'), '192.0.2.1')).status).toBe(200);
  });

  it('lets a fresh address make one attempt, once all together have had too many', async () => {
    const { ask, asked } = await open();
    for (const round of [0, 1]) {
      for (let n = 0; n < 40; n++) await ask(guess(round * 40 + n), `203.0.113.${n}`);
    }
    expect(asked(VALIDATION)).toBe(40);
  });

  it('lets ten of a burst of 40 guesses of one client reach the service', async () => {
    const { ask, asked } = await open();
    expect(tally(await times(40, (n) => ask(guess(n))))).toEqual({ 403: 10, 429: 30 });
    expect(asked(VALIDATION)).toBe(10);
  });

  it('lets a burst of fifteen customers of one office in', async () => {
    const { ask } = serveOn('positive');
    expect(tally(await times(15, (n) => ask(guess(n))))).toEqual({ 200: 15 });
  });

  it('lets a colleague behind the address of a guesser in with a code that is known', async () => {
    const { service, ask } = serveOn('positive');
    expect((await ask(guess(50))).status).toBe(200);
    service.says = 'negative';
    await times(20, (n) => ask(guess(n)));
    service.says = 'positive';
    expect(tally([await ask(guess(50)), await ask(guess(51))])).toEqual({ 200: 1, 429: 1 });
    expect((await ask(guess(51), '192.0.2.1')).status).toBe(200);
  });

  it('counts no outage as a failed attempt', async () => {
    const { ask } = serveOn('outage');
    expect(tally(await times(12, (n) => ask(guess(n))))).toEqual({ 503: 12 });
  });
});
