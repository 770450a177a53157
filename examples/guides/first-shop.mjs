import express from 'express';
import session from 'express-session';
import {
  errorHandler,
  firstOf,
  fromBody,
  fromHeader,
  fromSession,
  KeyApi,
  LoginApi,
  MarketplaceStrategy,
  purchaseOf,
  requireLogin,
  requirePurchase,
  returnTo,
} from 'marketgate';
import passport from 'passport';

const { env } = process;
const keyApi = new KeyApi({ baseUrl: env.MARKETPLACE_BASE_URL, apiKey: env.MARKETPLACE_API_KEY });
const loginApi = new LoginApi({
  authUrl: env.MARKETPLACE_AUTH_URL,
  appId: env.MARKETPLACE_APP_ID,
  appSecret: env.MARKETPLACE_APP_SECRET,
});
// Key your accounts by profile.id, not by the e-mail address, which the marketplace does not verify.
const verify = async ({ profile }) => ({ id: profile.id, name: profile.displayName });
passport.use(new MarketplaceStrategy({ loginApi }, verify));
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const app = express();
app.use(session({ secret: env.SESSION_SECRET, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }));
app.use(passport.session()); // above all routes, because it sets req.user

app.get('/', (_req, res) => res.send('<a href="/downloads/1042">Download</a> <a href="/account">Your account</a>'));

// Downloads. Programs send the code in a header, browsers redeem it once.
const code = firstOf(fromHeader('x-purchase-code'), fromSession());
const item = (req) => Number(req.params.id);
app.get('/downloads/:id', requirePurchase(keyApi, { code, item }), (req, res) => {
  res.json({ file: purchaseOf(req).item.name }); // or res.download(path)
});
// The form of another site comes without the session's cookie, but a new one in the answer would take its place.
const ownForms = (req, res, next) => (req.get('sec-fetch-site') === 'cross-site' ? res.sendStatus(403) : next());
app.post('/redeem', ownForms, express.urlencoded(), requirePurchase(keyApi, { code: fromBody() }), (req, res, next) => {
  const { cookie, ...kept } = req.session;
  // A new session, so that nobody else has its cookie. It keeps the code, not the verdict: a refund ends it.
  req.session.regenerate((error) => {
    if (error) return next(error);
    Object.assign(req.session, kept, { purchase_code: req.body.purchase_code });
    res.redirect(303, `/downloads/${purchaseOf(req).item.id}`);
  });
});

// Login. It begins a new session; `keepSessionInfo` takes the redeemed code along.
const login = passport.authenticate('marketplace', { failWithError: true, keepSessionInfo: true });
app.get('/login', login);
app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/account'));
app.get('/account', requireLogin(), (_req, res) => {
  res.send('You are logged in. <form method="post" action="/logout"><button>Log out</button></form>');
});
app.post('/logout', ownForms, (req, res, next) => req.logout((error) => (error ? next(error) : res.redirect(303, '/'))));

import { MemoryHolderStore } from 'marketgate';
const holder = { store: new MemoryHolderStore(), id: (req) => req.user?.id };
app.get('/mine/:id', requireLogin(), requirePurchase(keyApi, { code, item, holder }), (req, res) => {
  res.json({ file: purchaseOf(req).item.name });
});

function onDenied(denial, _req, res, next) {
  if (denial.code !== 'support_expired') return next(denial);
  const { item, supported_until: ended } = denial.purchase; // many deployments leave the date out once it has passed
  res.status(403).json({ item: item.name, ended, renew: `https://market.example/items/${item.id}` });
}
app.get('/support/:id', requirePurchase(keyApi, { code, item, supported: true, onDenied }), (_req, res) => {
  res.json({ mail: 'me@site.example' });
});

import { checkPurchase } from 'marketgate';
app.post('/check', express.json(), async (req, res) => {
  const { verdict } = await checkPurchase(keyApi, req.body?.code, { client: req.ip, item: 1042 });
  res.json({ verdict }); // valid, invalid, absent, or unknown: could not find out, or too many attempts
});

import { itemsOf, loadItems } from 'marketgate';
app.get('/items', loadItems(keyApi), (req, res) => res.json(itemsOf(req).map(({ id, name }) => ({ id, name }))));

app.use(errorHandler({ loginPath: '/login', redeemPath: '/redeem' })); // below all routes
app.listen(3000);
