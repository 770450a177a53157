import assert from 'node:assert/strict';

const control = async (name, fields) => {
  const url = `${env.MARKETPLACE_BASE_URL}/sandbox/api/${name}`;
  return (await fetch(url, { method: 'POST', body: new URLSearchParams(fields) })).json();
};
const back = async () => (await control('accept-login', { user_id: '3001' })).url;
const request = (path, cookie = '', site = 'same-origin') =>
  new Request(new URL(path, 'http://shop.example'), {
    headers: { cookie, 'sec-fetch-site': site },
  });
const cookiesOf = (answer) =>
  answer.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
const finish = (url, ...from) => callback(request(url, ...from), '192.0.2.1');

// A login comes back to the browser that began it, once.
const attempt = cookiesOf(begin(request('/login')));
const url = await back();
const done = await finish(url, attempt, 'cross-site');
assert.equal(done.headers.get('location'), '/account');
assert.match(done.headers.getSetCookie()[0], /^attempt=.*HttpOnly; SameSite=Lax; Max-Age=0/);
const user = cookiesOf(done);
assert.equal(userOf(request('/account', user)).id, '3001');
assert.match(await (await finish(url, attempt)).text(), /already used.*href="\/login"/);
// The attempt's own cookie is no user, and a changed one is none either.
for (const forged of [attempt.replace('attempt=', 'user='), user.replace(/user=.../, 'user=abc')]) {
  assert.equal(userOf(request('/account', forged)), undefined);
}

// Nobody is logged in by a link, and no other site begins or ends a login.
const foreign = await finish(await back(), '', 'cross-site');
assert.deepEqual([foreign.status, foreign.headers.getSetCookie()], [403, []]);
const begun = begin(request('/login', '', 'cross-site'));
assert.deepEqual([begun.status, begun.headers.getSetCookie()], [200, []]);
assert.equal(logout(request('/logout', '', 'cross-site')).status, 403);

// An outage is no refusal.
const late = await back();
await control('set', { errorRate: 1 });
assert.equal((await finish(late, attempt)).status, 503);
