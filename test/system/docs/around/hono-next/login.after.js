import assert from 'node:assert/strict';

const back = async () => {
  const url = `${env.MARKETPLACE_BASE_URL}/sandbox/api/accept-login`;
  const body = new URLSearchParams({ user_id: '3001' });
  return (await (await fetch(url, { method: 'POST', body })).json()).url;
};
const request = (path, cookie = '', site = 'same-origin') =>
  new Request(new URL(path, 'http://shop.example'), {
    headers: { cookie, 'sec-fetch-site': site },
  });
const cookieOf = (answer) => answer.headers.getSetCookie().at(-1)?.split(';')[0];

// A login comes back to the browser that began it, once.
const attempt = cookieOf(begin(request('/login')));
const url = await back();
const done = await callback(request(url, attempt, 'cross-site'), '192.0.2.1');
assert.equal(done.headers.get('location'), '/account');
assert.match(done.headers.getSetCookie()[0], /^attempt=.*HttpOnly; SameSite=Lax; Max-Age=0/);
const user = cookieOf(done);
assert.equal(userOf(request('/account', user)).id, '3001');
assert.equal((await callback(request(url, attempt), '192.0.2.1')).status, 401);
// The attempt's own cookie is no user, and a changed one is none either.
for (const forged of [attempt.replace('attempt=', 'user='), user.replace(/user=.../, 'user=abc')]) {
  assert.equal(userOf(request('/account', forged)), undefined);
}

// Nobody is logged in by a link, and no other site begins or ends a login.
const foreign = await callback(request(await back(), '', 'cross-site'), '192.0.2.1');
assert.deepEqual([foreign.status, cookieOf(foreign)], [403, undefined]);
assert.equal(cookieOf(begin(request('/login', '', 'cross-site'))), undefined);
assert.equal(logout(request('/logout', '', 'cross-site')).status, 403);
