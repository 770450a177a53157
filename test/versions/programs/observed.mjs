// A shop on a day on which every secret travels: by query, header, form and JSON, with failures.
import assert from 'node:assert/strict';
import express from 'express';
import {
  errorHandler,
  firstOf,
  fromBody,
  fromHeader,
  fromQuery,
  KeyApi,
  LoginApi,
  MarketplaceStrategy,
  MemoryTokenStore,
  requirePurchase,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';
import { listen, SECRET } from './shop.mjs';

/**
 * @param before a middleware that stands first, and `after` one for errors.
 * @returns what must not be in any span, event or log line.
 */
export async function dayOfTheShop({ before, after = [] } = {}) {
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret, close } = await sandbox.listen();
  const tokenStore = new MemoryTokenStore();
  const keyApis = ['query', 'form', 'json'].map(
    (validationEncoding) => new KeyApi({ baseUrl, apiKey, validationEncoding, retries: 0 }),
  );
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  const passport = new Passport();
  const loginAttempts = { cookieSecret: SECRET };
  passport.use(
    new MarketplaceStrategy({ loginApi, tokenStore, loginAttempts }, ({ profile }) => profile),
  );

  const app = express();
  if (before) app.use(before);
  app.use(express.json(), express.urlencoded());
  const authenticate = passport.authenticate('marketplace', { session: false });
  app.get('/login', authenticate);
  app.get('/callback', authenticate, () => {
    throw new Error('a mistake of the app');
  });
  const code = firstOf(fromHeader('x-purchase-code'), fromQuery(), fromBody());
  keyApis.forEach((keyApi, i) => {
    app.all(`/download/${i}`, requirePurchase(keyApi, { code }), () => {
      throw new Error('a mistake of the app');
    });
  });
  app.use(...after, errorHandler({ log: false }));
  app.use((_error, _req, res, _next) => res.status(500).end());
  const shop = await listen(app);
  const origin = `http://127.0.0.1:${shop.port}`;
  sandbox.redirectUrl = `${origin}/callback`;

  const codes = sandbox.codes.map((each) => each.code);
  await keyApis[0].listItems();
  for (const [i, path] of keyApis.map((_keyApi, i) => [i * 4, `${origin}/download/${i}`])) {
    const [first, second, third, fourth] = codes.slice(i);
    await fetch(path, {
      headers: { 'x-purchase-code': first, referer: `${path}?purchase_code=${second}` },
    });
    await fetch(`${path}?${new URLSearchParams({ purchase_code: second })}`);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ purchase_code: third });
    await fetch(path, { method: 'POST', headers, body });
    await fetch(path, { method: 'POST', body: new URLSearchParams({ purchase_code: fourth }) });
  }
  const start = await fetch(`${origin}/login`, { redirect: 'manual' });
  const cookie = start.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const callback = sandbox.acceptLogin('3001');
  const done = await fetch(callback, { headers: { cookie, referer: callback } });
  assert.equal(done.status, 500, 'the login was good, and the app made a mistake');
  await close();
  await fetch(`${origin}/download/0`, { headers: { 'x-purchase-code': codes[8] } });
  await assert.rejects(loginApi.getUser(await tokenStore.get('3001')));

  await shop.close();
  await Promise.all([...keyApis, loginApi].map((api) => api.close()));
  const authKey = new URL(callback).searchParams.get('auth_key');
  const { value } = await tokenStore.get('3001');
  return { apiKey, appSecret, authKey, value, cookie: cookie.split('=')[1], ...codes.slice(0, 12) };
}

/** Fails when a secret is in the text, or when less than this had to be redacted. */
export function assertClean(text, secrets, least = 10) {
  for (const [name, secret] of Object.entries(secrets)) {
    const at = text.indexOf(secret);
    assert.equal(at, -1, `${name}: …${text.slice(Math.max(0, at - 60), at)}`);
  }
  assert.ok(text.split('[redacted]').length > least, text.slice(0, 500));
}
