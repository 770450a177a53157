import express, { type ErrorRequestHandler } from 'express';
import {
  errorHandler,
  KeyApi,
  loadPurchase,
  MemoryGuessLimit,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { openShop, type Shop, VALIDATION } from '../../support/shop.js';
import { hearWarnings } from '../../support/warnings.js';
import { guess } from '../../support/wire.js';

const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);
const count = (answers: { status: number }[], status: number): number =>
  statuses(answers).filter((each) => each === status).length;

describe('failed attempts', () => {
  async function open(options: RequirePurchaseOptions = {}, shopOptions: object = {}) {
    const shop = await openShop(shopOptions);
    const app = express();
    app.set('trust proxy', 1);
    app.get('/', requirePurchase(shop.keyApi, options), (_req, res) => void res.json({ ok: true }));
    app.use(errorHandler({ log: false }));
    const ask = (code: string, from = '10.0.0.1') =>
      request(app).get('/').set('x-purchase-code', code).set('x-forwarded-for', from);
    return { ...shop, ask };
  }

  it('over the limit are 429 with Retry-After, without a call', async () => {
    const { ask, asked } = await open({ guessLimit: { limit: 3, windowMs: 60_000 } });
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push(await ask(guess(i)));
    expect(statuses(answers)).toEqual([403, 403, 403, 429, 429, 429]);
    expect(answers[5]?.body.code).toBe('too_many_attempts');
    expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(answers[5]?.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(asked(VALIDATION)).toBe(3);
  });

  it('over the limit have Retry-After also where the app itself responds', async () => {
    const shop = await openShop();
    const app = express();
    const guard = (onDenied?: RequirePurchaseOptions['onDenied']) =>
      requirePurchase(shop.keyApi, { guessLimit: { limit: 1 }, onDenied });
    app.get('/', guard());
    app.get(
      '/own',
      guard((denial, _req, res) => void res.status(denial.status).send('refused')),
    );
    app.use(((error, _req, res, _next) =>
      res.status(error.status).send('own')) as ErrorRequestHandler);
    const ask = (path: string, n: number) =>
      request(app).get(path).set('x-purchase-code', guess(n));
    const first = await ask('/own', 1).expect(403);
    expect(first.headers['retry-after']).toBeUndefined();
    for (const path of ['/own', '/']) {
      const { headers } = await ask(path, 2).expect(429);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
  });

  it('valid codes do not count, also when they belong to another item', async () => {
    const { ask, code } = await open({ item: 1042, guessLimit: { limit: 1 } }, { cache: false });
    for (let i = 0; i < 4; i++) {
      await ask(code('supported')).expect(200);
      await ask(code('other-item')).expect(403);
    }
    await ask(guess(1)).expect(403);
    await ask(guess(2)).expect(429);
  });

  it('what another process has asked is counted there', async () => {
    const shared = new MemorySharedCache();
    const shop = await open({ guessLimit: { limit: 1 } }, { cache: { shared } });
    const { baseUrl, apiKey, ask } = shop;
    const other = new KeyApi({ baseUrl, apiKey, clock: shop.sandbox.clock, cache: { shared } });
    onTestFinished(() => other.close());
    for (const code of [guess(1), guess(2)]) await other.validatePurchase(code);
    expect(shared.rows.size).toBe(2);
    for (const n of [1, 2, 3]) await ask(guess(n)).expect(403);
    await ask(guess(4)).expect(429);
  });

  it('are counted by what the app says', async () => {
    const { ask } = await open({
      guessLimit: {
        limit: 1,
        keyGenerator: (req) => String(req.headers['x-forwarded-for']).slice(0, 4),
      },
    });
    await ask(guess(1), '10.1.0.1').expect(403);
    await ask(guess(2), '10.1.0.2').expect(429);
    await ask(guess(2), '10.2.0.2').expect(403);
  });
});

describe.each(expressVersions)('one count for each KeyApi, on %s', (_version, express) => {
  function serve({ keyApi }: Shop, guards: RequirePurchaseOptions[]) {
    const app = express();
    for (const [i, options] of guards.entries()) {
      app.get(`/${i}`, requirePurchase(keyApi, options), (_req, res) => void res.end());
    }
    app.use(errorHandler({ log: false }));
    return (i: number, code: string) =>
      request(app).get(`/${i}`).set('x-purchase-code', code).then();
  }

  const own = () => ({ guessLimit: new MemoryGuessLimit() });
  it.each<[string, RequirePurchaseOptions[]]>([
    ['on eight routes', [{}, {}, {}, {}, { item: 1042 }, {}, {}, { supported: true }]],
    ['with a limit of each kind', [own(), own(), {}, { guessLimit: { limit: 10 } }, own()]],
  ])('guards %s allow no more than one', async (_what, guards) => {
    const shop = await openShop();
    const ask = serve(shop, guards);
    const answers = [];
    for (let n = 0; n < 24; n++) answers.push(await ask(n % guards.length, guess(n)));
    expect(count(answers, 403)).toBe(10);
    expect(count(answers, 429)).toBe(14);
    expect(shop.asked(VALIDATION)).toBe(10);
  });

  it('a code that turns out valid is given back to both counts', async () => {
    const shop = await openShop();
    const limit = new MemoryGuessLimit({ limit: 1 });
    const ask = serve(shop, [{ guessLimit: limit }, { guessLimit: { limit: 1 } }]);
    expect((await ask(0, shop.code('supported'))).status).toBe(200);
    expect((await ask(1, guess(1))).status).toBe(403);
  });

  it('one wrong code at two guards at once is one attempt', async () => {
    const shop = await openShop({ cache: false });
    const ask = serve(shop, Array(2).fill({ guessLimit: { limit: 2 } }));
    await Promise.all([ask(0, guess(1)), ask(1, guess(1))]);
    expect(shop.asked(VALIDATION)).toBe(1);
    expect((await ask(0, guess(2))).status).toBe(403);
    expect((await ask(1, guess(3))).status).toBe(429);
  });

  it('the stricter guard stops at its own limit, whatever the other has seen', async () => {
    const shop = await openShop();
    const ask = serve(shop, [
      { guessLimit: { limit: 5 } },
      { guessLimit: { limit: 2, windowMs: 30_000 } },
    ]);
    await ask(0, guess(1));
    await ask(0, guess(2));
    expect((await ask(1, guess(3))).status).toBe(429);
    expect((await ask(0, guess(3))).status).toBe(403);
  });

  it('guards of two services count for themselves', async () => {
    const [one, other] = [await openShop(), await openShop()];
    const askOne = serve(one, [{ guessLimit: { limit: 1 } }]);
    const askOther = serve(other, [{ guessLimit: { limit: 1 } }]);
    await askOne(0, guess(1));
    expect((await askOne(0, guess(2))).status).toBe(429);
    expect((await askOther(0, guess(2))).status).toBe(403);
  });

  it('a guard made for each request counts all the same, and that is said', async () => {
    const warnings = hearWarnings();
    const shop = await openShop();
    const app = express();
    app.get(
      '/',
      (req, res, next) => requirePurchase(shop.keyApi)(req, res, next),
      (_req, res) => void res.end(),
    );
    app.use(errorHandler({ log: false }));
    const answers = [];
    for (let n = 0; n < 12; n++) {
      answers.push(await request(app).get('/').set('x-purchase-code', guess(n)));
    }
    expect(count(answers, 403)).toBe(10);
    expect(count(answers, 429)).toBe(2);
    expect(warnings).toEqual(['MARKETGATE_CREATED_IN_HANDLER']);
  });

  it('loadPurchase counts with them', async () => {
    const shop = await openShop();
    const app = express();
    app.get('/', loadPurchase(shop.keyApi), (req, res) => void res.json(req.marketplace));
    app.get('/guarded', requirePurchase(shop.keyApi), (_req, res) => void res.end());
    app.use(errorHandler({ log: false }));
    const ask = (path: string, code: string) =>
      request(app).get(path).set('x-purchase-code', code).then();
    for (let n = 0; n < 10; n++) await ask('/', guess(n));
    expect((await ask('/guarded', guess(10))).status).toBe(429);
    expect((await ask('/', guess(10))).body).toMatchObject({ verdict: 'unknown' });
  });

  it('an answer that never comes holds nobody up but those who would be too many', async () => {
    const shop = await openShop();
    shop.sandbox.faults.hang = true;
    const ask = serve(shop, [{ guessLimit: { limit: 1 } }]);
    const held = ask(0, guess(1));
    const waiting = ask(0, guess(2));
    await shop.keyApi.close();
    expect(statuses(await Promise.all([held, waiting]))).toEqual([503, 503]);
  });
});
