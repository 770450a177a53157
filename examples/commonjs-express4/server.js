'use strict';

const { createServer } = require('node:http');
const express = require('express');
const {
  errorHandler,
  KeyApi,
  LoginApi,
  loadItems,
  MarketplaceStrategy,
  MemoryTokenStore,
  requirePurchase,
} = require('marketgate');
const { createSandbox } = require('marketgate/sandbox');
const passport = require('passport');

async function main() {
  const sandbox = createSandbox();
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });

  passport.use(
    new MarketplaceStrategy(
      {
        loginApi,
        tokenStore: new MemoryTokenStore(),
        loginAttempts: {
          cookieSecret: process.env.COOKIE_SECRET || 'only for the sandbox '.repeat(2),
        },
      },
      // The callback style of passport-oauth2.
      (_accessToken, _refreshToken, profile, done) =>
        done(null, { id: profile.id, name: profile.displayName }),
    ),
  );
  const authenticate = passport.authenticate('marketplace', {
    session: false,
    failWithError: true,
  });

  const app = express();
  app.use(express.urlencoded({ extended: false }));
  app.use(passport.initialize());

  app.get('/login', authenticate);
  app.get('/callback', authenticate, (req, res) => res.json(req.user));

  app.get('/items', loadItems(keyApi), (req, res) => {
    res.json(req.marketplace.items.map(({ id, name }) => ({ id, name })));
  });

  // The code comes in the header x-purchase-code, or in the form field purchase_code.
  app.all(
    '/items/:id/download',
    requirePurchase(keyApi, { item: (req) => Number(req.params.id) }),
    (req, res) => {
      const { item, license_type } = req.marketplace.purchase;
      res.json({ file: `item-${item.id}.zip`, license_type });
    },
  );
  app.use(errorHandler());

  const port = Number(process.env.PORT || 3000);
  if (!(port >= 0 && port < 65_536)) {
    console.error('PORT must be a number from 0 to 65535.');
    process.exit(1);
  }
  const server = createServer(app);
  server.once('error', (error) => {
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  });
  server.listen(port, '127.0.0.1', () => {
    const origin = `http://localhost:${server.address().port}`;
    sandbox.redirectUrl = `${origin}/callback`;
    console.log(`The API is at ${origin}/items, the login at ${origin}/login`);
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
