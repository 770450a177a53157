// What an app in TypeScript writes; only type-checked, under every module resolution.
import express from 'express';
import {
  type AccessToken,
  checkPurchase,
  errorHandler,
  fromHeader,
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
type IsAny<T> = 0 extends 1 & T ? true : false;

const sandbox = createSandbox();
const { baseUrl, authUrl, apiKey, appId, appSecret, close } = await sandbox.listen(0);

const keyApi = new KeyApi({
  ...{ baseUrl, apiKey: async () => apiKey, timeout: 5_000, retries: 1 },
  fetch: (url, init) => fetch(url, init),
});
const purchase = await keyApi.validatePurchase('code', { signal: AbortSignal.timeout(1_000) });
export const purchaseIsTyped: Same<typeof purchase, Purchase | null> = true;
if (purchase) {
  const { id } = purchase.item;
  const until = purchase.supported_until;
  const fields: [Same<typeof id, number>, Same<typeof until, string | undefined>] = [true, true];
  console.log(fields);
}
const item = await keyApi.getItem(1042);
export const name: string | undefined = item?.name;
for (const { id } of await keyApi.listItems()) console.log(id.toFixed());

const loginApi = new LoginApi({ authUrl, appId, appSecret });
const token = await loginApi.exchange('auth-key');
export const tokenIsTyped: Same<typeof token, AccessToken> = true;
console.log(new URL(loginApi.loginUrl()), token.expiresAt - token.issuedAt);
console.log((await loginApi.getUser(token.value)).user_id.length);

const tokenStore = new MemoryTokenStore({ max: 1_000 });

// Inline verify callbacks of every kind; none may make a parameter an implicit any.
passport.use(
  new MarketplaceStrategy({ loginApi, tokenStore }, (accessToken, refresh, profile, done) => {
    const token: string = accessToken;
    const typed: [IsAny<typeof accessToken>, Same<typeof refresh, undefined>] = [false, true];
    const email: string | undefined = profile.emails?.[0]?.value;
    done(null, { id: profile.id, email, token, typed });
  }),
);
passport.use(
  new MarketplaceStrategy(
    { loginApi, tokenStore },
    (_accessToken, _refreshToken, _params, profile, done) => {
      const id: Same<typeof profile.id, string> = true;
      done(null, id && { id: profile.id });
    },
  ),
);
passport.use(
  new MarketplaceStrategy(
    { loginApi, tokenStore, passReqToCallback: true },
    (req, _accessToken, _refreshToken, _params, profile, done) => {
      done(null, { id: profile.id, from: req.originalUrl });
    },
  ),
);
passport.use(
  new MarketplaceStrategy({ loginApi, tokenStore }, async ({ profile, token, req }) => {
    const typed: [Same<typeof profile.id, string>, Same<typeof token, AccessToken>] = [true, true];
    return profile.verified ? { id: profile.id, from: req.originalUrl, typed } : false;
  }),
);

const app = express();
app.get('/login', passport.authenticate('marketplace'));
app.get(
  '/download',
  requirePurchase(keyApi, {
    code: fromHeader('x-purchase-code'),
    item: [1042],
    licenseType: 'Extended',
    supported: true,
    accept: (bought, req) => bought.price > 0 && req.method === 'GET',
    onUnknown: 'deny',
    client: (req) => req.ip,
    onDenied: (denial, _req, _res, next) => {
      next(denial.code === 'purchase_required' ? undefined : denial);
    },
  }),
  (req, res) => {
    const id = req.marketplace?.purchase?.item.id;
    const typed: Same<typeof id, number | undefined> = true;
    res.json({ id, typed, verdict: req.marketplace?.verdict });
  },
);
app.get('/items', loadItems(keyApi), (req, res) => {
  res.json(req.marketplace?.items?.map((each) => each.name.toUpperCase()));
});
// A guard changes no type of its route.
app.get(
  '/guarded/:id',
  requirePurchase(keyApi),
  loadItem(keyApi, { id: (req) => req.params.id }),
  (req, res) => {
    const { id } = req.params;
    const bought = purchaseOf(req);
    const typed: [Same<typeof id, string>, Same<typeof bought, Purchase>] = [true, true];
    res.json({ id, typed, tags: req.marketplace?.item?.tags?.join(', ') });
  },
);
app.use(
  errorHandler({
    loginPath: '/login',
    log: (line) => console.error(line.toUpperCase()),
    render: ({ title, retryAfter = 0 }, req, res) => res.send(`${req.path} ${title} ${retryAfter}`),
  }),
);

// Editors offer the usual licences, and any other is fine too.
app.get(
  '/all/:id',
  requireLogin(),
  requireAccessToken({ tokenStore }),
  loadUser(loginApi, { tokenStore }),
  loadAccount(keyApi),
  loadPurchase(keyApi, { licenseType: ['Extended', 'Team'] }),
  (req, res) => {
    const typed: Same<typeof req.params.id, string> = true;
    res.json(typed);
  },
);

const decision = await checkPurchase(keyApi, 'code', { client: '203.0.113.7', item: 1042 });
if (decision.verdict === 'valid') console.log(decision.purchase.item.id);
else if (decision.verdict === 'unknown') console.log(problemOf(decision.error).status);
else console.log(decision.denial.purchase?.item.id);

keyApi.getAccount().catch((error: unknown) => {
  if (isMarketgateError(error)) console.log(error.code === 'api_key_rejected', error.status);
});
await keyApi.close();
await close();
