// The strategy in an app without sessions: the first step sends the browser to the service.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';
import { errorHandler, LoginApi, MarketplaceStrategy, MemoryTokenStore } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import passport from 'passport';

const { authUrl, appId, appSecret, close } = await createSandbox().listen(0);
const loginApi = new LoginApi({ authUrl, appId, appSecret });
passport.use(
  new MarketplaceStrategy(
    {
      loginApi,
      tokenStore: new MemoryTokenStore({ max: 100 }),
      loginAttempts: { cookieSecret: ['not-so-secret-but-long-enough-for-a-test'] },
    },
    async ({ profile }) => ({ id: profile.id }),
  ),
);

const app = express();
app.use(passport.initialize());
app.get('/login', passport.authenticate('marketplace', { session: false }));
app.get('/callback', passport.authenticate('marketplace', { session: false }), (req, res) => {
  res.json(req.user);
});
app.use(errorHandler({ loginPath: '/login' }));
const server = app.listen(0);
await once(server, 'listening');
const get = (path) =>
  fetch(`http://127.0.0.1:${server.address().port}${path}`, { redirect: 'manual' });

const start = await get('/login');
assert.equal(start.status, 302);
assert.equal(start.headers.get('location'), loginApi.loginUrl());
assert.match(start.headers.get('set-cookie') ?? '', /HttpOnly/i);

// A callback that no browser of ours began.
assert.equal((await get('/callback?auth_key=made-up')).status, 403);

server.closeAllConnections();
server.close();
await loginApi.close?.();
await close();
