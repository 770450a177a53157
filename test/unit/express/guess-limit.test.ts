import {
  errorHandler,
  KeyApi,
  type KeyApiOptions,
  loadItem,
  loadPurchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { openShop, VALIDATION } from '../../support/shop.js';
import { guess } from '../../support/wire.js';

describe.each(expressVersions)('the guess limit on %s', (_version, express) => {
  /** An app with one route for each guard. Visitors name their address. Gives the status of an answer. */
  function serve(keyApi: KeyApi, ...guards: RequirePurchaseOptions[]) {
    const app = express();
    app.set('trust proxy', 1);
    for (const [i, options] of guards.entries()) {
      app.get(`/${i}`, requirePurchase(keyApi, options), (_req, res) => void res.end());
    }
    app.get('/load', loadPurchase(keyApi), (req, res) => void res.json(req.marketplace));
    app.get('/items/:id', loadItem(keyApi), (_req, res) => void res.end());
    app.use(errorHandler({ log: false }));
    const visit = (code: string, from = '10.0.0.1', path: number | string = 0, headers = {}) =>
      request(app)
        .get(`/${path}`)
        .set({ 'x-purchase-code': code, 'x-forwarded-for': from, ...headers })
        .then();
    const ask = async (...of: Parameters<typeof visit>) => (await visit(...of)).status;
    return { visit, ask };
  }
  async function open(options: Partial<KeyApiOptions> = {}, guard: RequirePurchaseOptions = {}) {
    const shop = await openShop(options);
    return { ...shop, ...serve(shop.keyApi, guard) };
  }

  it('answers 429 with Retry-After over the limit, and sends no request', async () => {
    const { ask, visit, asked } = await open({ guessLimit: { limit: 3, windowMs: 60_000 } });
    for (const n of [1, 2, 3]) expect(await ask(guess(n))).toBe(403);
    const { status, body, headers } = await visit(guess(4));
    expect([status, body.code]).toEqual([429, 'too_many_attempts']);
    const seconds = Number(headers['retry-after']);
    expect(seconds > 0 && seconds <= 60).toBe(true);
    expect(asked(VALIDATION)).toBe(3);
  });

  it('counts for the visitor also where a wrapper of a KeyApi adds to what it is called with', async () => {
    const { keyApi } = await openShop({ guessLimit: { limit: 1 } });
    const wrapper = Object.assign(Object.create(keyApi), {
      validatePurchase: (code: string, options: object) =>
        keyApi.validatePurchase(code, { ...options, fresh: true }),
    });
    const { ask } = serve(wrapper, {});
    expect([await ask(guess(1)), await ask(guess(2))]).toEqual([403, 429]);
  });

  it('counts no valid code, also not of another item, and no repeat that a cache answers', async () => {
    const shared = new MemorySharedCache();
    const options = { cache: { shared }, guessLimit: { limit: 1 } };
    const { ask, code, baseUrl, apiKey, sandbox } = await open(options, { item: 1042 });
    const { clock } = sandbox;
    const other = new KeyApi({ baseUrl, apiKey, clock, cache: { shared } });
    onTestFinished(() => other.close());
    await other.validatePurchase(guess(0));
    const sent = [code('supported'), code('other-item'), guess(0), guess(1), guess(1), guess(2)];
    const statuses = [];
    for (const each of sent) statuses.push(await ask(each));
    expect(statuses).toEqual([200, 403, 403, 403, 403, 429]);
    // What the fleet knows is served, also to a client that may ask nothing more.
    const late = '7b0e6d0a-5a53-4f3e-9f0c-2d6c6a6f0e11';
    await other.validatePurchase(late);
    expect(await ask(late)).toBe(403);
  });

  it('counts one wrong code at two guards at once as one attempt', async () => {
    const { keyApi, asked } = await openShop({ guessLimit: { limit: 2 } });
    const { ask } = serve(keyApi, {}, {});
    await Promise.all([0, 1].map((path) => ask(guess(1), undefined, path)));
    expect(asked(VALIDATION)).toBe(1);
    expect([await ask(guess(2)), await ask(guess(3))]).toEqual([403, 429]);
  });

  it('counts by what the app says; by address where that is nothing, and nobody where it is false', async () => {
    const ids: Record<string, unknown> = {
      '10.0.0.1': 'anna',
      '10.0.0.2': 'anna',
      '10.0.0.4': false,
    };
    const client = ({ ip = '' }) => ids[ip] as string | false | undefined;
    const { ask } = await open({ guessLimit: { limit: 1 } }, { client });
    expect(await ask(guess(0), '10.0.0.1')).toBe(403);
    expect(await ask(guess(1), '10.0.0.2')).toBe(429);
    for (const status of [403, 429]) expect(await ask(guess(status), '10.0.0.3')).toBe(status);
    for (let n = 10; n < 14; n++) expect(await ask(guess(n), '10.0.0.4')).toBe(403);
  });

  it('asks the app once for each request who is counted', async () => {
    let count = 0;
    const client = () => `visitor ${++count}`;
    const { ask } = await open({}, { client });
    expect(await ask(guess(0))).toBe(403);
    expect(count).toBe(1);
  });

  it('is a 500 where the app names a client that is no id, also where the cache answers', async () => {
    const { ask, code, keyApi } = await open({}, { client: () => 2 ** 60 });
    await keyApi.validatePurchase(code('supported'));
    for (const sent of [guess(0), code('supported')]) expect(await ask(sent)).toBe(500);
  });

  it('is one count for all guards, and for loadPurchase', async () => {
    const { keyApi, asked } = await openShop();
    const { ask, visit } = serve(keyApi, {}, { supported: true });
    for (let n = 0; n < 12; n++) {
      expect(await ask(guess(n), undefined, n % 2)).toBe(n < 10 ? 403 : 429);
    }
    expect((await visit(guess(20), undefined, 'load')).body).toMatchObject({ verdict: 'unknown' });
    expect(asked(VALIDATION)).toBe(10);
  });

  it('leaves the quota for customers under 58 wrong codes from six addresses', async () => {
    const { ask, code, asked } = await open({ cache: false });
    const guesses = Array.from({ length: 58 }, (_, n) => ask(guess(n), `203.0.113.${n % 6}`));
    await Promise.all(guesses);
    expect(asked(VALIDATION)).toBeLessThanOrEqual(30);
    expect(await ask(code('supported'), '192.0.2.1')).toBe(200);
  });

  it('lets a colleague behind the address of a guesser in with a code that is known', async () => {
    const { service, keyApi } = keyApiOn();
    const { ask } = serve(keyApi, {});
    expect(await ask(guess(50))).toBe(200);
    service.says = 'negative';
    for (let n = 0; n < 10; n++) await ask(guess(n));
    service.says = 'positive';
    expect([await ask(guess(50)), await ask(guess(51))]).toEqual([200, 429]);
    expect(await ask(guess(51), '192.0.2.1')).toBe(200);
  });
});
