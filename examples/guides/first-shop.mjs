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
const verify = async ({ profile }) => ({ id: profile.id, name: profile.displayName ?? profile.id });
passport.use(new MarketplaceStrategy({ loginApi }, verify));
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const STYLE = `:root { color-scheme: light dark; --card: light-dark(#fff, #1b262e); --main: light-dark(#0d5c68, #6cc5cf) }
body { max-width: 34rem; margin: 10vh auto; padding: 0 1rem; font: 1.0625rem/1.6 system-ui; background: light-dark(#f5f4f0, #10181d) }
main { padding: 1.5rem 2rem; border-radius: .75rem; background: var(--card) }
a { color: var(--main) }
button { padding: .5rem 1rem; font: inherit; border: 1px solid; border-radius: .5rem; background: none; cursor: pointer }`;
const escaped = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const page = (title, body) => `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
  <title>${escaped(title)}</title><style>${STYLE}</style><main><h1>${escaped(title)}</h1>${body}</main>`;

const app = express();
app.use(session({ secret: env.SESSION_SECRET, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }));
app.use(passport.session()); // above all routes, because it sets req.user

app.get('/', (req, res) => {
  const link = req.user ? '<a href="/account">Your account</a>' : '<a href="/login">Log in</a>';
  res.send(page('My shop', `<p><a href="/downloads/1042">Download Fjord Light</a></p><p>${link}</p>`));
});

// Downloads. Programs send the code in a header, browsers redeem it once.
const code = firstOf(fromHeader('x-purchase-code'), fromSession());
const item = (req) => Number(req.params.id);
app.get('/downloads/:id', requirePurchase(keyApi, { code, item }), (req, res) => {
  res.send(page(purchaseOf(req).item.name, '<p>Thank you for buying this.</p><a href="/">Back</a>')); // or res.download(path)
});
// A form of another site comes without the session's cookie, but a new one in the answer would take its place.
const ownForms = (req, res, next) =>
  ['same-origin', 'none', undefined].includes(req.get('sec-fetch-site')) ? next() : res.sendStatus(403);
app.post('/redeem', ownForms, express.urlencoded(), requirePurchase(keyApi, { code: fromBody() }), (req, res, next) => {
  const { cookie, ...kept } = req.session;
  // A new session, so that nobody else has its cookie. It keeps the code, not the verdict: a refund ends it.
  req.session.regenerate((error) => {
    if (error) return next(error);
    Object.assign(req.session, kept, { purchase_code: req.body.purchase_code });
    res.redirect(303, `/downloads/${purchaseOf(req).item.id}`);
  });
});
app.get('/redeem', (_req, res) => res.redirect('/')); // where a refused form was, opened again

// Login. It begins a new session; `keepSessionInfo` takes the redeemed code along.
const login = passport.authenticate('marketplace', { failWithError: true, keepSessionInfo: true });
app.get('/login', login);
app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/account'));
app.get('/account', requireLogin(), (req, res) => {
  res.send(page(`Hello, ${req.user.name}`, '<p><a href="/">Home</a></p><form method="post" action="/logout"><button>Log out</button></form>'));
});
app.post('/logout', ownForms, (req, res, next) => req.logout((error) => (error ? next(error) : res.redirect(303, '/'))));

const site = { name: 'My shop', contact: 'help@shop.example' }; // on the pages for refusals and outages; also logo, words
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

app.use(errorHandler({ loginPath: '/login', redeemPath: '/redeem', site })); // below all routes
app.listen(3000);
