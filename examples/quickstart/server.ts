// Items, a login, and downloads for customers, on a marketplace inside this process.
import type { AddressInfo } from 'node:net';
import express from 'express';
import session from 'express-session';
import {
  errorHandler,
  itemsOf,
  KeyApi,
  LoginApi,
  loadItems,
  MarketplaceStrategy,
  MemoryTokenStore,
  purchaseOf,
  requireLogin,
  requirePurchase,
  returnTo,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import passport from 'passport';

// With a real marketplace these five come from the environment, and nothing below changes.
const sandbox = createSandbox();
const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();

const keyApi = new KeyApi({ baseUrl, apiKey });
const loginApi = new LoginApi({ authUrl, appId, appSecret });

passport.use(
  new MarketplaceStrategy({ loginApi, tokenStore: new MemoryTokenStore() }, ({ profile }) => ({
    id: profile.id, // key your accounts by this, not by the e-mail address
    name: profile.displayName,
  })),
);
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser<Express.User>((user, done) => done(null, user));

const app = express();
app.use(
  session({
    secret: 'only for the sandbox',
    resave: false,
    saveUninitialized: false,
    cookie: { sameSite: 'lax' },
  }),
);
app.use(passport.session());

app.get('/', loadItems(keyApi), (req, res) => {
  res.json(itemsOf(req).map(({ id, name }) => ({ id, name })));
});

app.get('/login', passport.authenticate('marketplace'));
app.get('/callback', passport.authenticate('marketplace', { failWithError: true }), (req, res) =>
  res.redirect(returnTo(req) ?? '/account'),
);
app.get('/account', requireLogin({ loginPath: '/login' }), (req, res) => res.json(req.user));

// The code comes in the header x-purchase-code, and must be a code for this item.
app.get(
  '/downloads/:id',
  requirePurchase(keyApi, { item: (req) => Number(req.params.id) }),
  (req, res) => res.send(`Here is ${purchaseOf(req).item.name}.\n`),
);

app.use(errorHandler({ loginPath: '/login' }));
const port = Number(process.env.PORT ?? 3000);
if (!(port >= 0 && port < 65_536)) {
  console.error('PORT must be a number from 0 to 65535.');
  process.exit(1);
}
const server = app.listen(port, '127.0.0.1', (error) => {
  if (error) {
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  }
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  const [code] = sandbox.codes;
  console.log(`Items: ${origin}/   Login: ${origin}/account   Marketplace: ${baseUrl}/
curl ${origin}/downloads/${code?.item_id} -H 'x-purchase-code: ${code?.code}'`);
});
