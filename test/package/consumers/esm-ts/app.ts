// What an app in TypeScript writes; only type-checked, under every module resolution.
import express from 'express';
import {
  type AccessToken,
  checkPurchase,
  errorHandler,
  fromHeader,
  type Item,
  isMarketgateError,
  KeyApi,
  LoginApi,
  loadAccount,
  loadItem,
  loadItems,
  loadPurchase,
  loadUser,
  MarketplaceStrategy,
  MemoryTokenStore,
  type Purchase,
  problemOf,
  purchaseOf,
  requireAccessToken,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import passport from 'passport';

/** True only where the two types are the same; `any` is the same as nothing but itself. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const { baseUrl, authUrl, apiKey, appId, appSecret, close } = await createSandbox().listen(0);
const keyApi = new KeyApi({
  ...{ baseUrl, apiKey: async () => apiKey },
  fetch: (url, init) => fetch(url, init),
});
const purchase = await keyApi.validatePurchase('code', { signal: AbortSignal.timeout(1_000) });
const items = await keyApi.listItems();
const loginApi = new LoginApi({ authUrl, appId, appSecret });
const token = await loginApi.exchange('auth-key');
const tokenStore = new MemoryTokenStore({ max: 1_000 });
export const answers: [
  Same<typeof purchase, Purchase | null>,
  Same<Purchase['supported_until'], string | undefined>,
  // Answers are frozen, so their lists are readonly.
  Same<typeof items, readonly Item[]>,
  Same<Item['tags'], readonly string[] | undefined>,
  Same<typeof token, AccessToken>,
] = [true, true, true, true, true];

// Inline verify callbacks; no parameter may be an implicit any.
passport.use(
  new MarketplaceStrategy({ loginApi, tokenStore }, (accessToken, refresh, profile, done) => {
    const typed: [Same<typeof refresh, undefined>, Same<typeof profile.id, string>] = [true, true];
    done(null, { id: profile.id, token: accessToken.length, typed });
  }),
);
passport.use(
  new MarketplaceStrategy({ loginApi, tokenStore }, async ({ profile, token, req }) => {
    const typed: [Same<typeof profile.id, string>, Same<typeof token, AccessToken>] = [true, true];
    return profile.verified ? { id: profile.id, from: req.originalUrl, typed } : false;
  }),
);

const app = express();
app.get(
  '/download',
  requirePurchase(keyApi, {
    code: fromHeader('x-purchase-code'),
    item: [1042],
    accept: (bought, req) => bought.price > 0 && req.method === 'GET',
    client: (req) => req.ip,
    onDenied: (denial, _req, _res, next) => {
      next(denial.code === 'purchase_required' ? undefined : denial);
    },
  }),
  loadItems(keyApi),
  (req, res) => {
    const id = req.marketplace?.purchase?.item.id;
    const typed: Same<typeof id, number | undefined> = true;
    res.json({ typed, names: req.marketplace?.items?.map((each) => each.name.toUpperCase()) });
  },
);
// A guard changes no type of its route.
app.get(
  '/guarded/:id',
  requireLogin(),
  requireAccessToken({ tokenStore }),
  loadUser(loginApi, { tokenStore }),
  loadAccount(keyApi),
  // Editors offer the usual licences, and any other is fine too.
  loadPurchase(keyApi, { licenseType: ['Extended', 'Team'] }),
  requirePurchase(keyApi),
  loadItem(keyApi, { id: (req) => req.params.id }),
  (req, res) => {
    const bought = purchaseOf(req);
    const typed: [Same<typeof req.params.id, string>, Same<typeof bought, Purchase>] = [true, true];
    res.json(typed);
  },
);
app.use(
  errorHandler({
    log: (line) => console.error(line.toUpperCase()),
    render: ({ title, retryAfter = 0 }, req, res) => res.send(`${req.path} ${title} ${retryAfter}`),
  }),
);

const decision = await checkPurchase(keyApi, 'code', { client: '203.0.113.7', item: 1042 });
if (decision.verdict === 'valid') console.log(decision.purchase.item.id);
else if (decision.verdict === 'unknown') console.log(problemOf(decision.error).status);
else console.log(decision.denial.purchase?.item.id);

keyApi.getAccount().catch((error: unknown) => {
  if (isMarketgateError(error)) console.log(error.code === 'api_key_rejected', error.status);
});
await close();
