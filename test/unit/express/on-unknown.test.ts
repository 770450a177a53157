import {
  errorHandler,
  MarketgateError,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { openShop } from '../../support/shop.js';

describe.each(expressVersions)('onUnknown "allow" on %s', (_version, express) => {
  const unavailable = () => new MarketgateError('service_unavailable', 'the app’s own service');
  const fail = (): never => {
    throw unavailable();
  };
  const reject = async (): Promise<never> => fail();

  async function ask(
    options: RequirePurchaseOptions,
    code: string | undefined,
    onDenied = vi.fn(),
  ) {
    const shop = await openShop();
    const app = express();
    app.use(requirePurchase(shop.keyApi, { onUnknown: 'allow', onDenied, ...options }));
    app.use((_req, res) => void res.send('in'));
    app.use(errorHandler());
    const asked = request(app).get('/');
    return asked.set(code === undefined ? {} : { 'x-purchase-code': shop.code('supported') });
  }

  it.each<[string, RequirePurchaseOptions]>([
    ['code', { code: fail }],
    ['code, later', { code: reject }],
    ['item', { item: fail }],
    ['accept', { accept: fail }],
    ['accept, later', { accept: reject }],
    ['keyGenerator', { guessLimit: { keyGenerator: fail } }],
  ])('is not about a failure of the app’s own %s', async (_name, options) => {
    const onDenied = vi.fn();
    const answer = await ask(options, 'a customer’s', onDenied);
    expect(answer).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    expect(onDenied).not.toHaveBeenCalled();
  });

  it.each<[string, RequirePurchaseOptions]>([
    ['code', { code: fail }],
    ['item', { item: fail }],
  ])('lets in nobody without a code where the app’s own %s fails', async (_name, options) => {
    const answer = await ask({ ...options, onDenied: undefined }, undefined);
    expect(answer.status).toBeGreaterThanOrEqual(400);
  });

  it.each(['item_not_found', 'access_token_expired', 'support_expired'] as const)(
    'an error of the app’s own with the code %s is no denial of the guard’s',
    async (code) => {
      const onDenied = vi.fn();
      const accept = async () => Promise.reject(new MarketgateError(code, 'x'));
      const answer = await ask({ accept }, 'a customer’s', onDenied);
      expect(answer.body).toMatchObject({ code });
      expect(onDenied).not.toHaveBeenCalled();
    },
  );

  it('is about a service that cannot be asked, and a code that could be one', async () => {
    const shop = await openShop();
    const app = express();
    app.use(requirePurchase(shop.keyApi, { onUnknown: 'allow' }));
    app.use((req, res) => void res.json(req.marketplace));
    app.use(errorHandler());
    shop.sandbox.faults.html = true;
    const get = (code: string) => request(app).get('/').set('x-purchase-code', code);
    expect((await get(shop.code('supported')).expect(200)).body).toEqual({ verdict: 'unknown' });
    for (const none of ['', ' ', 'short', 'x y z 1 2 3', 'ä'.repeat(20)]) {
      expect((await get(encodeURI(none))).status).toBeGreaterThanOrEqual(400);
    }
  });
});
