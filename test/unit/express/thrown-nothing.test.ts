import {
  errorHandler,
  loadItem,
  loadPurchase,
  loadUser,
  MemoryGuessLimit,
  MemoryHolderStore,
  MemoryTokenStore,
  requireAccessToken,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { listen } from '../../support/listen.js';
import { openShop } from '../../support/shop.js';

// What `next` reads as "go on", or as "skip this route".
const NOTHINGS = [undefined, null, '', 'route'];

allowNoUnhandledRejection();

describe.each(expressVersions)('a function of the app that throws, on %s', (_version, express) => {
  it.each(NOTHINGS)('%j opens nothing', async (thrown) => {
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
      requirePurchase(keyApi, { item: reject }),
      requirePurchase(keyApi, { fresh: reject }),
      requirePurchase(keyApi, { holder: { store: new MemoryHolderStore(), id: reject } }),
      requirePurchase(keyApi, { licenseType: 'none', onDenied: reject }),
      requirePurchase({ validatePurchase: reject }),
      requirePurchase({ validatePurchase: reject }, { onUnknown: 'allow' }),
      requirePurchase({ validatePurchase: reject }, { guessLimit: { keyGenerator: fail } }),
      requirePurchase(
        { validatePurchase: reject },
        { guessLimit: { keyGenerator: reject as never } },
      ),
      requirePurchase(
        { validatePurchase: reject },
        {
          guessLimit: { ...new MemoryGuessLimit(), keyGenerator: reject, reserve: reject } as never,
        },
      ),
      loadPurchase(keyApi, { code: fail }),
      loadItem(keyApi, { id: fail }),
      loadItem(keyApi, { id: reject }),
      loadItem({ getItem: reject }),
      loadUser({ getUser: reject }, { tokenStore, userId: fail }),
      loadUser({ getUser: reject }, { tokenStore, userId: reject }),
      requireAccessToken({ tokenStore, userId: fail }),
      requireAccessToken({ tokenStore, userId: reject }),
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
