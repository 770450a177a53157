import {
  errorHandler,
  type KeyApi,
  loadPurchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { openShop, VALIDATION } from '../../support/shop.js';
import { guess } from '../../support/wire.js';

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
    const visit = (code: string, from = '10.0.0.1', path: number | string = 0) =>
      request(app).get(`/${path}`).set({ 'x-purchase-code': code, 'x-forwarded-for': from }).then();
    const ask = async (...of: Parameters<typeof visit>) => (await visit(...of)).status;
    return { visit, ask };
  }

  it('is one count for all guards and loadPurchase: over it 429 with Retry-After, and no request', async () => {
    const { keyApi, asked } = await openShop();
    const { ask, visit } = serve(keyApi, {}, { supported: true });
    for (let n = 0; n < 10; n++) expect(await ask(guess(n), undefined, n % 2)).toBe(403);
    const { status, body, headers } = await visit(guess(10));
    expect([status, body.code]).toEqual([429, 'too_many_attempts']);
    const seconds = Number(headers['retry-after']);
    expect(seconds > 0 && seconds <= 60).toBe(true);
    expect((await visit(guess(11), undefined, 'load')).body).toMatchObject({ verdict: 'unknown' });
    expect(asked(VALIDATION)).toBe(10);
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

  it('counts by what the app says, once asked for each request; by address where that is nothing, and nobody where it is false', async () => {
    const ids: Record<string, unknown> = {
      '10.0.0.1': 'anna',
      '10.0.0.2': 'anna',
      '10.0.0.3': ' ',
      '10.0.0.4': false,
    };
    const client = vi.fn(({ ip = '' }) => ids[ip] as string | false | undefined);
    const { keyApi } = await openShop({ guessLimit: { limit: 1 } });
    const { ask } = serve(keyApi, { client });
    expect(await ask(guess(0), '10.0.0.1')).toBe(403);
    expect(client).toHaveBeenCalledTimes(1);
    expect(await ask(guess(1), '10.0.0.2')).toBe(429);
    for (const status of [403, 429]) expect(await ask(guess(status), '10.0.0.3')).toBe(status);
    for (let n = 10; n < 14; n++) expect(await ask(guess(n), '10.0.0.4')).toBe(403);
  });
});
