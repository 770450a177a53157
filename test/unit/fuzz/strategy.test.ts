import assert from 'node:assert/strict';
import fc from 'fast-check';
import { everythingOf } from '../../support/secrets/support/everything-of.js';
import { openLogin } from '../../support/strategy-harness.js';
import { checkClean, SECRET, secretsOf, settled } from './support/checks.js';
import { fuzz } from './support/fuzz.js';

const SECRETS = secretsOf('authKey');

/** A visit must end once, in an outcome that shows no secret. */
async function ended(visit: ReturnType<ReturnType<typeof openLogin>['visit']>) {
  const result = await settled(visit);
  assert.ok('value' in result, 'it failed instead of ending');
  const { recorded, to } = result.value;
  assert.equal(recorded.length, 1, 'not exactly one outcome');
  checkClean(everythingOf(recorded), SECRETS);
  return { outcome: recorded[0]?.[0], to };
}

const key = fc.oneof(fc.constant<unknown>(SECRET.authKey), fc.anything());
fuzz(
  'queries and sessions of a callback let no stranger in, and spend an auth_key once',
  fc.asyncProperty(
    fc.record({ auth_key: key, 'auth_key[x]': key, marketgate: key }, { requiredKeys: [] }),
    fc.option(fc.anything(), { nil: undefined }),
    async (query, junk) => {
      const { session, visit, exchanged } = openLogin();
      await ended(visit());
      if (junk !== undefined) for (const name of Object.keys(session)) session[name] = junk;
      const { outcome } = await ended(visit(query));
      assert.ok(outcome !== 'success' || junk === undefined, 'a stranger was let in');
      assert.deepEqual(exchanged, outcome === 'success' ? [query.auth_key] : []);
      const again = await ended(visit(query));
      assert.notEqual(again.outcome, 'success', 'the same callback let somebody in again');
    },
  ),
);

const PIECES = [
  ...'/ // \\ /\\ . .. /./ /../ : @ ? # %2f %5c %0d%0a & ~ % ／ ＼ ∕'.split(' '),
  ...'https: HTTPS: javascript: evil.example app.test [::1] a account auth_key=x'.split(' '),
  ...' \t\n\r\0\u2028\u2029\u0085\u00a0\u200b\u202e\ud800\udc00'.split(''),
];
const pieces = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 9 })
  .map((parts) => parts.join(''));
const path = fc.oneof(
  pieces,
  pieces.map((text) => `/${text}`),
  fc.webPath(),
);

fuzz(
  'a path to go to after a login, from the app, a session or a cookie, stays on the site',
  fc.asyncProperty(path, path, fc.boolean(), async (wanted, saved, isCookie) => {
    const session = { 'marketgate:returnTo': saved };
    const { browser, visit } = openLogin({ where: isCookie ? 'cookie' : 'session', session });
    // No cookie can carry halves of surrogate pairs.
    browser.cookies['marketgate.return_to'] = encodeURIComponent(String(Buffer.from(saved)));
    await ended(visit({}, {}, { returnTo: wanted }));
    const { to } = await ended(visit({ auth_key: SECRET.authKey }));
    if (to === undefined) return;
    assert.ok(!/\p{Cc}/u.test(to), 'a header could be split');
    // As a browser reads a Location, as one that takes backslashes for slashes does, and after a
    // program has written it into a header and another has taken blanks off it.
    for (const read of [to, to.replaceAll('\\', '/'), to.replace(/[\t\r\n]/g, ''), to.trim()]) {
      const url = new URL(read, 'https://app.test/callback');
      assert.equal(url.origin, 'https://app.test');
      assert.ok(!url.pathname.startsWith('//'), 'a second read would leave the site');
    }
  }),
);
