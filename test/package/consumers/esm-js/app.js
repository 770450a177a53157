// The clients, the guard, the loaders and the start of a login.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';
import {
  errorHandler,
  KeyApi,
  LoginApi,
  loadItem,
  MarketplaceStrategy,
  MemoryTokenStore,
  requirePurchase,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import passport from 'passport';

const sandbox = createSandbox();
const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen(0);
const keyApi = new KeyApi({ baseUrl, apiKey });
const loginApi = new LoginApi({ authUrl, appId, appSecret });
const loginAttempts = { cookieSecret: ['not-so-secret-but-long-enough-for-a-test'] };
passport.use(
  new MarketplaceStrategy(
    { loginApi, tokenStore: new MemoryTokenStore({ max: 100 }), loginAttempts },
    async ({ profile }) => ({ id: profile.id }),
  ),
);
const authenticate = passport.authenticate('marketplace', { session: false });

const app = express();
app.get('/download', requirePurchase(keyApi, { item: 1042 }), (req, res) => {
  res.json({ item: req.marketplace.purchase.item.id });
});
app.get('/items/:id', loadItem(keyApi), (req, res) => {
  res.json({ item: req.marketplace.item.id });
});
app.get('/login', authenticate);
app.get('/callback', authenticate, (req, res) => res.json(req.user));
app.use(errorHandler());

const server = app.listen(0);
await once(server, 'listening');
const get = (path, headers = {}) =>
  fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers, redirect: 'manual' });

const without = await get('/download');
assert.equal(without.status, 402);
assert.match(without.headers.get('content-type'), /^application\/problem\+json/);
const wrong = await get('/download', { 'x-purchase-code': '00000000-0000-4000-8000-000000000000' });
assert.equal((await wrong.json()).code, 'purchase_code_invalid');
const right = await get('/download', { 'x-purchase-code': sandbox.codes[0].code });
assert.deepEqual(await right.json(), { item: 1042 });
assert.deepEqual(await (await get('/items/1042')).json(), { item: 1042 });
assert.equal(await keyApi.getItem(987654), null);
assert.equal(typeof (await keyApi.getAccount()).username, 'string');

const start = await get('/login');
assert.equal(start.headers.get('location'), loginApi.loginUrl());
assert.match(start.headers.get('set-cookie') ?? '', /HttpOnly/i);
assert.equal((await get('/callback?auth_key=made-up')).status, 403);

server.closeAllConnections();
server.close();
await Promise.all([keyApi.close(), loginApi.close(), sandbox.close()]);
