'use strict';

const {
  errorHandler,
  loadItems,
  MarketplaceStrategy,
  MemoryTokenStore,
  requireLogin,
  requirePurchase,
  returnTo,
} = require('marketgate');

/**
 * The app. `express` and `passport` are handed in, so that the tests can run it on any version.
 *
 * @param {object} parts
 * @param {typeof import('express')} parts.express
 * @param {typeof import('passport')} parts.passport
 * @param {import('marketgate').KeyApi} parts.keyApi
 * @param {import('marketgate').LoginApi} parts.loginApi
 * @param {string} parts.cookieSecret signs the cookies of a login
 */
function createApp({ express, passport, keyApi, loginApi, cookieSecret }) {
  const tokenStore = new MemoryTokenStore();
  const logins = new passport.Passport();
  // The node-style verify of passport-oauth2, as apps of that age have it.
  const verify = (_accessToken, _refreshToken, profile, done) =>
    done(null, { id: profile.id, name: profile.displayName });
  logins.use(
    new MarketplaceStrategy(
      { loginApi, tokenStore, loginAttempts: { cookieSecret: [cookieSecret] } },
      verify,
    ),
  );
  const authenticate = logins.authenticate('marketplace', { session: false });

  const app = express();
  app.disable('x-powered-by');
  app.use(express.urlencoded({ extended: false }));
  app.use(logins.initialize());

  app.get('/login', authenticate);
  app.get('/callback', authenticate, (req, res) => {
    const { id, name } = req.user;
    res.json({ id, name, returnTo: returnTo(req) });
  });
  app.get('/me', requireLogin({ loginPath: '/login' }), (req, res) => res.json(req.user));

  app.get('/items', loadItems(keyApi), (req, res) => {
    res.json(req.marketplace.items.map(({ id, name }) => ({ id, name })));
  });

  // The code comes in the header x-purchase-code, or in the field purchase_code of a form.
  app.all(
    '/items/:id/download',
    requirePurchase(keyApi, { item: (req) => Number(req.params.id) }),
    (req, res) => {
      const { item, license_type } = req.marketplace.purchase;
      res.json({ file: `item-${item.id}.zip`, license_type });
    },
  );

  // Express 4 does not catch the rejection of an async handler; the package's middleware does so itself,
  // and hands every error to next. This turns them into problem+json, or a page, by Accept.
  app.use(errorHandler({ loginPath: '/login' }));
  return app;
}

module.exports = { createApp };
