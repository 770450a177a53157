// The server of a guide that connects marketplace accounts to those of another library, as the page has it.
import assert from 'node:assert/strict';
import { createSandbox } from 'marketgate/sandbox';

const [library = ''] = process.argv.slice(2);
const port = 3100;
const origin = `http://localhost:${port}`;

const sandbox = createSandbox();
const { baseUrl, authUrl, apiKey, appId, appSecret, close } = await sandbox.listen();
sandbox.redirectUrl = `${origin}/callback`;
Object.assign(process.env, {
  ...{ MARKETPLACE_BASE_URL: baseUrl, MARKETPLACE_API_KEY: apiKey },
  ...{
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
  },
  ...{ COOKIE_SECRET: 'c2VjcmV0IG9mIHRoZSBjb29raWVzIGhlcmU', BETTER_AUTH_URL: origin },
  ...{
    BETTER_AUTH_SECRET: 'oJ0V2x1XbUeJ9mT3qYw7LsGzRk5Nc8Pd',
    AUTH_SECRET: 'oJ0V2x1XbUeJ9mT3qYw7LsGzRk5Nc8Pd',
  },
});
// The page names port 3000.
const { Server } = await import('node:net');
const { listen } = Server.prototype;
Server.prototype.listen = function (_port, ...rest) {
  return listen.call(this, port, ...rest);
};
const file = { 'better-auth': 'server.js', 'auth-js': 'accounts.js' }[library];
await import(`../guide/${file}`);

/** A browser: keeps the cookies of the site. */
function visitor() {
  const jar = new Map();
  const open = async (path, init = {}) => {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const headers = { accept: 'text/html', origin, cookie, ...init.headers };
    const response = await fetch(new URL(path, origin), { redirect: 'manual', ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  };
  /** Starts at a path, logs in as this user of the marketplace, and presses "Continue". Gives the last response. */
  const logIn = async (path, userId) => {
    let response = await open(path);
    while (response.headers.get('location')?.startsWith('/')) {
      response = await open(response.headers.get('location'));
    }
    const callback = sandbox.acceptLogin(userId);
    response = await open(callback);
    const page = new URL(response.headers.get('location') ?? '', callback).href;
    if (page.includes('marketgate=')) {
      assert.match(await (await open(page)).text(), /connected to your account here/);
      response = await open(`${page}&answer=continue`);
    }
    return response.status === 302 ? open(response.headers.get('location')) : response;
  };
  const post = (path, body) =>
    open(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  return { open, logIn, post };
}

const me = async (response) => (await response).json();
const mira = visitor();
const { id, name } = await me(mira.logIn('/account', '3001'));
assert.equal(name, 'Mira Solheim');
assert.deepEqual(await me(mira.open('/account')), { id, name });
assert.equal(
  (await me(visitor().logIn('/marketplace', '3001'))).id,
  id,
  'one user for one account',
);

const ada = visitor();
if (library === 'better-auth') {
  const account = { name: 'ada', email: 'ada@site.example', password: 'correct horse battery' };
  assert.equal((await ada.post('/api/auth/sign-up/email', account)).status, 200);
} else {
  const { csrfToken } = await me(ada.open('/auth/csrf'));
  await ada.post('/auth/callback/credentials', { csrfToken, name: 'ada' });
}
const own = await me(ada.open('/account'));
assert.equal(own.name, 'ada');
assert.equal((await ada.logIn('/marketplace', '3001')).status, 409, 'the account of another user');
assert.deepEqual(await me(ada.logIn('/marketplace', '3003')), own, 'connected');
assert.equal((await me(visitor().logIn('/marketplace', '3003'))).id, own.id, 'logs in by it');
assert.equal((await ada.logIn('/marketplace', '3004')).status, 409, 'replaces no account');
assert.deepEqual(await me(ada.logIn('/marketplace', '3003')), own, 'the same account again');

if (library === 'better-auth') {
  // Nobody takes the address of a user who has not come yet.
  for (const email of [
    'marketplace-3004@users.invalid',
    'X@USERS.INVALID',
    `${'a'.repeat(64)}@users.invalid`,
  ]) {
    const squatter = { name: 'squatter', email, password: 'correct horse battery' };
    assert.equal((await visitor().post('/api/auth/sign-up/email', squatter)).status, 400, email);
    const moved = await ada.post('/api/auth/change-email', { newEmail: email });
    assert.ok(moved.status >= 400, email);
  }
}
const late = visitor();
await late.logIn('/marketplace', '3004');
assert.ok((await me(late.open('/account'))).id, 'the fourth user logs in');

const code = sandbox.codes.find(({ kind }) => kind === 'supported')?.code;
const download = async ({ open }) => {
  const headers = { accept: 'application/json', 'x-purchase-code': code };
  return (await open('/downloads', { headers })).status;
};
assert.equal(await download(visitor()), 401);
assert.equal(await download(mira), 200);
assert.equal(await download(ada), 403, 'the code is held by another user');
assert.equal((await visitor().open('/callback?auth_key=x')).status, 403);
const outside = ['/api/auth/logInWithMarketplace', '/api/auth/log-in-with-marketplace'];
for (const path of library === 'better-auth' ? outside : []) {
  assert.equal((await visitor().post(path, { accountId: '3001', name: 'x' })).status, 404);
}

await close();
console.log('works');
process.exit(); // the pages close nothing
