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
import { openShop, type Shop, VALIDATION } from '../../support/shop.js';
import { hearWarnings } from '../../support/warnings.js';

const guess = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);
const count = (answers: { status: number }[], status: number): number =>
  statuses(answers).filter((each) => each === status).length;

describe.each(expressVersions)('one count for each KeyApi, on %s', (_version, express) => {
  function serve({ keyApi }: Pick<Shop, 'keyApi'>, guards: RequirePurchaseOptions[]) {
    const app = express();
    app.set('trust proxy', 1);
    for (const [i, options] of guards.entries()) {
      app.get(`/${i}`, requirePurchase(keyApi, options), (_req, res) => void res.end());
    }
    app.use(errorHandler());
    return (i: number, code: string, from = '10.0.0.1') =>
      request(app).get(`/${i}`).set('x-purchase-code', code).set('x-forwarded-for', from).then();
  }

  it('eight guarded routes allow no more than one', async () => {
    const shop = await openShop();
    const ask = serve(shop, [{}, {}, {}, {}, { item: 1042 }, {}, {}, { supported: true }]);
    const answers = [];
    for (let n = 0; n < 24; n++) answers.push(await ask(n % 8, guess(n)));
    expect(count(answers, 403)).toBe(10);
    expect(count(answers, 429)).toBe(14);
    expect(shop.asked(VALIDATION)).toBe(10);
  });

  it('nor do they at once', async () => {
    const shop = await openShop();
    const ask = serve(shop, Array(8).fill({}));
    const all = Array.from({ length: 80 }, (_, n) => ask(n % 8, guess(n)));
    expect(count(await Promise.all(all), 403)).toBe(10);
    expect(shop.asked(VALIDATION)).toBe(10);
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

  it('guards of two services that are given one limit count together', async () => {
    const guessLimit = new MemoryGuessLimit({ limit: 1 });
    const askOne = serve(await openShop(), [{ guessLimit }]);
    const askOther = serve(await openShop(), [{ guessLimit }]);
    await askOne(0, guess(1));
    expect((await askOther(0, guess(2))).status).toBe(429);
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
    app.use(errorHandler());
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
    app.use(errorHandler());
    const ask = (path: string, code: string) =>
      request(app).get(path).set('x-purchase-code', code).then();
    for (let n = 0; n < 10; n++) await ask('/', guess(n));
    expect((await ask('/guarded', guess(10))).status).toBe(429);
    expect((await ask('/', guess(10))).body).toEqual({ verdict: 'unknown' });
  });

  it('seven addresses leave the service to the next new customer', async () => {
    // As a service that allows sixty requests a minute.
    const shop = await openShop();
    const ask = serve(shop, [{}]);
    const tries = [];
    for (let n = 0; n < 70; n++) tries.push(await ask(0, guess(n), `10.0.0.${n % 7}`));
    expect(shop.asked(VALIDATION)).toBe(30);
    expect(count(tries, 403)).toBe(30);
    expect(count(tries, 429)).toBe(40);
    expect((await ask(0, shop.code('supported'), '192.0.2.1')).status).toBe(200);
    // Another new one who mistypes is told so, and not that there were too many.
    expect((await ask(0, guess(99), '192.0.2.2')).status).toBe(403);
  });

  it('seven addresses at once do no better', async () => {
    const shop = await openShop();
    const ask = serve(shop, [{}]);
    await Promise.all(Array.from({ length: 70 }, (_, n) => ask(0, guess(n), `10.0.0.${n % 7}`)));
    expect(shop.asked(VALIDATION)).toBeLessThanOrEqual(30);
    expect((await ask(0, shop.code('supported'), '192.0.2.1')).status).toBe(200);
  });

  it('an answer that never comes holds nobody up but those who would be too many', async () => {
    const shop = await openShop();
    const leaving = new KeyApi({
      baseUrl: shop.baseUrl,
      apiKey: shop.apiKey,
      retries: 0,
      clock: shop.sandbox.clock,
    });
    onTestFinished(() => leaving.close());
    shop.sandbox.faults.hang = true;
    const ask = serve({ keyApi: leaving }, [{ guessLimit: { limit: 1 } }]);
    const held = ask(0, guess(1));
    const waiting = ask(0, guess(2));
    await leaving.close();
    expect(statuses(await Promise.all([held, waiting]))).toEqual([503, 503]);
  });
});
