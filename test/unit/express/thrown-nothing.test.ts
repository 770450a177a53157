import {
  errorHandler,
  loadItem,
  loadPurchase,
  loadUser,
  MemoryTokenStore,
  requireAccessToken,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { listen } from '../../support/listen.js';
import { openShop } from '../../support/shop.js';

// What `next` reads as "go on", or as "skip this route".
const NOTHINGS = [undefined, null, '', 'route'];

describe.each(expressVersions)('a function of the app that throws, on %s', (_version, express) => {
  it.each(NOTHINGS)('%j opens nothing', async (thrown) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { keyApi, code } = await openShop();
    const tokenStore = new MemoryTokenStore();
    const fail = (): never => {
      throw thrown;
    };
    const reject = (): Promise<never> => Promise.reject(thrown);
    const guards = [
      requirePurchase(keyApi, { accept: reject }),
      requirePurchase(keyApi, { accept: fail }),
      requirePurchase(keyApi, { code: reject }),
      requirePurchase(keyApi, { code: fail }),
      requirePurchase(keyApi, { item: fail }),
      requirePurchase(keyApi, { licenseType: 'none', onDenied: reject }),
      requirePurchase({ validatePurchase: reject }),
      requirePurchase({ validatePurchase: reject }, { onUnknown: 'allow' }),
      requirePurchase({ validatePurchase: reject }, { guessLimit: { keyGenerator: fail } }),
      loadPurchase(keyApi, { code: fail }),
      loadItem(keyApi, { id: fail }),
      loadItem({ getItem: reject }),
      loadUser({ getUser: reject }, { tokenStore, userId: fail }),
      requireAccessToken({ tokenStore, userId: fail }),
    ];
    const app = express();
    for (const [i, guard] of guards.entries()) {
      app.get(`/${i}/:id`, guard, (_req, res) => void res.send('in'));
      app.get(`/${i}/:id`, (_req, res) => void res.send('past the guard'));
    }
    app.use(errorHandler());
    const origin = await listen(app);
    const headers = { 'x-purchase-code': code('supported') };
    const ask = async (i: number) => (await fetch(`${origin}/${i}/1042`, { headers })).status;
    const statuses = await Promise.all(guards.map((_guard, i) => ask(i)));
    expect(statuses).toEqual(guards.map(() => 500));
  });
});
