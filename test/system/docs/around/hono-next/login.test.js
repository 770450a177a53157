import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSandbox } from 'marketgate/sandbox';

const sandbox = createSandbox({ redirectUrl: 'http://shop.example/callback' });
let begin, callback, logout, userOf;
before(async () => {
  const { authUrl, appId, appSecret } = await sandbox.listen();
  const SESSION_SECRET = 'not-so-secret-but-of-32-characters';
  Object.assign(process.env, {
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
    SESSION_SECRET,
  });
  ({ begin, callback, logout, userOf } = await import('./login.js'));
});
after(() => sandbox.close());

const request = (path, cookie = '', site = 'same-origin') =>
  new Request(new URL(path, 'http://shop.example'), {
    headers: { cookie, 'sec-fetch-site': site },
  });
const cookiesOf = (answer) =>
  answer.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
const back = () => sandbox.acceptLogin('3001');
const location = (answer) => answer.headers.get('location');

test('a login comes back to the browser that began it, once', async () => {
  const begun = begin(request('/login'));
  assert.match(location(begun), /\/api\/oauth\?app_id=/);
  const url = back();
  const done = await callback(request(url, cookiesOf(begun), 'cross-site'), '192.0.2.1');
  assert.equal(location(done), '/account');
  assert.match(done.headers.getSetCookie()[0], /^attempt=.*HttpOnly; SameSite=Lax; Max-Age=0/);
  assert.equal(userOf(request('/account', cookiesOf(done))).id, '3001');
  // The attempt's own cookie is no user, and a changed one is none either.
  const attempt = cookiesOf(begun).replace('attempt=', 'user=');
  assert.equal(userOf(request('/account', attempt)), undefined);
  assert.equal(
    userOf(request('/account', cookiesOf(done).replace(/user=.../, 'user=abc'))),
    undefined,
  );
  // A used auth_key.
  const again = await callback(request(url, cookiesOf(begun)), '192.0.2.1');
  assert.equal(again.status, 401);
  assert.match(await again.text(), /already used.*href="\/login"/);
});

test('a login that this browser has not begun logs nobody in, and no other site begins or ends one', async () => {
  const foreign = await callback(request(back(), '', 'cross-site'), '192.0.2.1');
  assert.deepEqual([foreign.status, foreign.headers.getSetCookie()], [403, []]);
  for (const site of ['cross-site', 'same-site']) {
    const begun = begin(request('/login', '', site));
    assert.deepEqual([begun.status, begun.headers.getSetCookie()], [200, []]);
    assert.equal(logout(request('/logout', '', site)).status, 403);
  }
});

test('an outage is no refusal', async () => {
  const begun = begin(request('/login'));
  const url = back();
  sandbox.faults.errorRate = 1;
  const answer = await callback(request(url, cookiesOf(begun)), '192.0.2.1');
  sandbox.faults.errorRate = 0;
  assert.equal(answer.status, 503);
});
