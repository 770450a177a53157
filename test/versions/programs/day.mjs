// A shop on a day on which every secret travels: by query, header, form and JSON, with failures.
import assert from 'node:assert/strict';
import express from 'express';
import * as marketgate from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';
import { listen, SECRET } from './shop.mjs';

const { errorHandler, firstOf, fromBody, fromHeader, fromQuery, KeyApi, LoginApi } = marketgate;

const fail = () => {
  throw new Error('a mistake of the app');
};

/**
 * @param before a middleware above all routes.
 * @param onError an error handler above that of the package.
 * @returns what no span, event or log line may contain.
 */
export async function dayOfTheShop({ before, onError }) {
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret, close } = await sandbox.listen(0);
  const tokenStore = new marketgate.MemoryTokenStore();
  const keyApis = ['query', 'form', 'json'].map(
    (validationEncoding) => new KeyApi({ baseUrl, apiKey, validationEncoding, retries: 0 }),
  );
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  const passport = new Passport();
  const options = { loginApi, tokenStore, loginAttempts: { cookieSecret: SECRET } };
  passport.use(new marketgate.MarketplaceStrategy(options, async ({ profile }) => profile));

  const app = express();
  if (before) app.use(before);
  app.use(express.json(), express.urlencoded());
  const authenticate = passport.authenticate('marketplace', { session: false });
  app.get('/login', authenticate);
  app.get('/callback', authenticate, fail);
  const code = firstOf(fromHeader('x-purchase-code'), fromQuery(), fromBody());
  for (const [i, keyApi] of keyApis.entries()) {
    app.all(`/download/${i}`, marketgate.requirePurchase(keyApi, { code }), fail);
  }
  if (onError) app.use(onError);
  app.use(errorHandler({ log: false }));
  app.use((_error, _req, res, _next) => res.status(500).end());
  const shop = await listen(app);
  const origin = `http://127.0.0.1:${shop.port}`;
  sandbox.redirectUrl = `${origin}/callback`;

  const codes = sandbox.codes.map((each) => each.code);
  await keyApis[0].listItems();
  for (const i of keyApis.keys()) {
    const url = `${origin}/download/${i}`;
    const [first, second, third, fourth] = codes.slice(4 * i);
    const referer = `${url}?purchase_code=${second}`;
    await fetch(url, { headers: { 'x-purchase-code': first, referer } });
    await fetch(referer);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ purchase_code: third });
    await fetch(url, { method: 'POST', headers, body });
    await fetch(url, { method: 'POST', body: new URLSearchParams({ purchase_code: fourth }) });
  }
  const start = await fetch(`${origin}/login`, { redirect: 'manual' });
  const cookies = start.headers.getSetCookie().map((line) => line.split(';')[0]);
  const callback = sandbox.acceptLogin('3001');
  const headers = { cookie: cookies.join('; '), referer: callback };
  assert.equal((await fetch(callback, { headers })).status, 500, 'a login, then the mistake');
  await close();
  await fetch(`${origin}/download/0`, { headers: { 'x-purchase-code': codes[8] } });
  const { value } = await tokenStore.get('3001');
  await assert.rejects(loginApi.getUser(value));

  await shop.close();
  await Promise.all([...keyApis, loginApi].map((api) => api.close()));
  const authKey = new URL(callback).searchParams.get('auth_key');
  const cookie = cookies[0].split('=')[1];
  return { apiKey, appSecret, authKey, value, cookie, ...codes.slice(0, 12) };
}
