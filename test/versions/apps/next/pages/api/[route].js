import {
  errorHandler,
  KeyApi,
  LoginApi,
  loadUser,
  MarketplaceStrategy,
  MemoryTokenStore,
  purchaseOf,
  requirePurchase,
  userOf,
} from 'marketgate';
import { createRouter, expressWrapper } from 'next-connect';
import { Passport } from 'passport';

// A route of Next's pages API, which Next builds by itself: it gets Node's request and response.
const { BASE_URL, AUTH_URL, API_KEY, APP_ID, APP_SECRET, COOKIE_SECRET } = process.env;
const keyApi = new KeyApi({ baseUrl: BASE_URL, apiKey: API_KEY, retries: 0 });
const loginApi = new LoginApi({ authUrl: AUTH_URL, appId: APP_ID, appSecret: APP_SECRET });
const tokenStore = new MemoryTokenStore();
const passport = new Passport();
passport.use(
  new MarketplaceStrategy(
    { loginApi, tokenStore, loginAttempts: { cookieSecret: COOKIE_SECRET } },
    ({ profile }) => ({ id: profile.id }),
  ),
);
const guard = requirePurchase(keyApi, { item: 1042, guessLimit: { limit: 2 } });
const broken = requirePurchase(keyApi, {
  item: () => {
    throw new Error('a mistake of the app');
  },
});
const authenticate = passport.authenticate('marketplace', { session: false });
const onError = errorHandler({ log: false });

const router = createRouter();
router.get('/api/download', expressWrapper(guard), (req, res) => {
  res.json({ item: purchaseOf(req).item.id });
});
router.get('/api/broken', expressWrapper(broken));
router.get('/api/login', expressWrapper(authenticate));
const user = expressWrapper(loadUser(loginApi, { tokenStore }));
router.get('/api/callback', expressWrapper(authenticate), user, (req, res) => {
  res.json({ id: req.user.id, name: userOf(req).user_name });
});

export const config = { api: { externalResolver: true } };
export default router.handler({
  onError: (error, req, res) => onError(error, req, res, () => res.status(500).end()),
});
