import type { ErrorRequestHandler } from 'express';
import {
  checkPurchase,
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
import { json, page } from '../../support/service-in-memory.js';
import { openShop, VALIDATION } from '../../support/shop.js';
import { hearWarnings } from '../../support/warnings.js';
import { guess, refusal } from '../../support/wire.js';

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

  it('answers 429 with Retry-After over the limit, and sends no request', async () => {
    const { ask, asked } = await open({ guessLimit: { limit: 3, windowMs: 60_000 } });
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push(await ask(guess(i)));
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 429, 429, 429]);
    expect(answers[5]?.body.code).toBe('too_many_attempts');
    expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(answers[5]?.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(asked(VALIDATION)).toBe(3);
  });

  it('sends Retry-After also where the app itself responds', async () => {
    const { keyApi } = await openShop();
    const app = express();
    app.get('/', requirePurchase(keyApi, { guessLimit: { limit: 1 } }));
    app.use(((error, _req, res, _next) =>
      res.status(error.status).send('own')) as ErrorRequestHandler);
    const ask = (n: number) => request(app).get('/').set('x-purchase-code', guess(n));
    expect((await ask(1)).headers['retry-after']).toBeUndefined();
    expect(Number((await ask(2).expect(429)).headers['retry-after'])).toBeGreaterThan(0);
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
    const keyGenerator: NonNullable<
      Extract<RequirePurchaseOptions['guessLimit'], { limit?: number }>['keyGenerator']
    > = (req) => String(req.headers['x-forwarded-for']).slice(0, 4);
    const { ask } = await open({ guessLimit: { limit: 1, keyGenerator } });
    const answers = [];
    for (const from of ['10.1.0.1', '10.1.0.2', '10.2.0.2'])
      answers.push(await ask(guess(1), from));
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    answers.push(await ask(guess(2), '10.1.0.2'), await ask(guess(3), '10.2.0.9'));
    expect(answers.slice(3).map(({ status }) => status)).toEqual([429, 403]);
  });

  const own = () => ({ guessLimit: new MemoryGuessLimit() });
  it.each<[string, RequirePurchaseOptions[]]>([
    ['on eight routes', [{}, {}, {}, {}, { item: 1042 }, {}, {}, { supported: true }]],
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

  it('ends with the client of the service, for attempts in flight and those that wait', async () => {
    const { ask, keyApi, sandbox } = await open({ guessLimit: { limit: 1 } });
    sandbox.faults.hang = true;
    const answers = [ask(guess(1)), ask(guess(2))];
    await keyApi.close();
    expect(tally(await Promise.all(answers))[200]).toBeUndefined();
  });

  describe('against attackers', () => {
    it('58 wrong codes from six addresses leave the quota for customers', async () => {
      const { ask, code, asked } = await open({}, { cache: false });
      const guesses = Array.from({ length: 58 }, (_, n) => ask(guess(n), `203.0.113.${n % 6}`));
      await Promise.all(guesses);
      expect(asked(VALIDATION)).toBeLessThanOrEqual(30);
      expect((await ask(code('supported'), '192.0.2.1')).status).toBe(200);
    });

    it('a fresh address has one attempt, once all together have had too many', async () => {
      const { ask, asked } = await open();
      for (const round of [0, 1]) {
        for (let n = 0; n < 40; n++) await ask(guess(round * 40 + n), `203.0.113.${n}`);
      }
      expect(asked(VALIDATION)).toBe(40);
    });

    it('a burst of 40 guesses of one client asks the service ten times', async () => {
      const { ask, asked } = await open();
      const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(guess(n))));
      expect(tally(answers)).toEqual({ 403: 10, 429: 30 });
      expect(asked(VALIDATION)).toBe(10);
    });

    it('a client that hangs up each time reaches the limit', async () => {
      const service = new KeyApiService({ says: 'negative' });
      const keyApi = service.client();
      await keyApi.validatePurchase(guess(100));
      service.hold();
      for (let n = 0; n < 20; n++) {
        const leaving = new AbortController();
        const { signal } = leaving;
        const check = checkPurchase(keyApi, guess(n), { client: 'anna', signal });
        const ended = check.then(({ verdict }) => verdict, String);
        for (let i = 0; i < 3; i++) await new Promise(setImmediate);
        leaving.abort('left');
        await ended;
      }
      expect(service.asked()).toBe(1 + 10);
    });

    it.each([
      ['refuses in other words', () => json(refusal('Geçersiz kod'))],
      ['answers with a page', () => page(200)],
      ['answers 400', () => json({ error: 'bad' }, 400)],
    ])('codes that the service %s count as failed attempts', async (_what, reply) => {
      const service = new KeyApiService();
      service.override = ({ path }) => (path === VALIDATION ? reply() : undefined);
      const ask = serve(service.client(), { onUnknown: 'allow' });
      const answers = [];
      for (let n = 0; n < 12; n++) answers.push(await ask(guess(n)));
      expect(tally(answers)).toEqual({ 502: 10, 429: 2 });
    });
  });

  describe('for honest visitors', () => {
    it('lets a burst of fifteen customers of one office in', async () => {
      const service = new KeyApiService();
      const ask = serve(service.client(), {});
      const answers = await Promise.all(Array.from({ length: 15 }, (_, n) => ask(guess(n))));
      expect(tally(answers)).toEqual({ 200: 15 });
    });

    it('lets a colleague behind the address of a guesser in with a code that is known', async () => {
      const service = new KeyApiService();
      const ask = serve(service.client(), {});
      expect((await ask(guess(50))).status).toBe(200);
      service.says = 'negative';
      await Promise.all(Array.from({ length: 20 }, (_, n) => ask(guess(n))));
      service.says = 'positive';
      expect(tally([await ask(guess(50)), await ask(guess(51))])).toEqual({ 200: 1, 429: 1 });
      expect((await ask(guess(51), '192.0.2.1')).status).toBe(200);
    });

    it('counts no outage as a failed attempt', async () => {
      const service = new KeyApiService({ says: 'outage' });
      const ask = serve(service.client(), {});
      const answers = [];
      for (let n = 0; n < 12; n++) answers.push(await ask(guess(n)));
      expect(tally(answers)).toEqual({ 503: 12 });
    });

    it('lets visitors in during an outage where the app says so', async () => {
      const service = new KeyApiService({ says: 'outage' });
      const ask = serve(service.client(), { onUnknown: 'allow' });
      expect(tally([await ask('no code'), await ask(guess(1))])).toEqual({ 403: 1, 200: 1 });
    });
  });
});
