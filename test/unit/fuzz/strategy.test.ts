import assert from 'node:assert/strict';
import fc from 'fast-check';
import { everythingOf } from '../../support/secrets/support/everything-of.js';
import { openLogin, STATE_KEY } from '../../support/strategy-harness.js';
import { checkClean, checkPrototypes, SECRET, secretsOf, settled } from './support/checks.js';
import { fuzz } from './support/fuzz.js';

const SECRETS = secretsOf('authKey', 'appSecret');
const OUTCOMES = ['success', 'fail', 'redirect', 'pass', 'error', 'page'];

/** A visit must end once, in an outcome that shows no secret. Gives where the visitor goes. */
async function ended(visit: ReturnType<ReturnType<typeof openLogin>['visit']>) {
  const result = await settled(visit);
  assert.ok('value' in result, 'it failed instead of ending');
  const { recorded, to } = result.value;
  assert.equal(recorded.length, 1, 'not exactly one outcome');
  const [outcome = '', ...args] = recorded[0] ?? [];
  assert.ok(OUTCOMES.includes(outcome));
  checkClean(everythingOf(args), SECRETS);
  checkPrototypes();
  return { outcome, to };
}

const key = fc.oneof(
  { weight: 4, arbitrary: fc.constant<unknown>(SECRET.authKey) },
  { weight: 2, arbitrary: fc.anything() },
  { weight: 1, arbitrary: fc.constantFrom<unknown>('', ' ', '\0', 'x'.repeat(5000), ['a', 'b']) },
);
const query = fc.record(
  {
    auth_key: key,
    'auth_key[]': fc.string(),
    'auth_key[x]': fc.anything(),
    state: fc.anything(),
    confirm: fc.oneof(fc.string(), fc.anything()),
    answer: fc.constantFrom<unknown>('continue', 'cancel', '', ['continue'], 7),
    x: fc.constantFrom<unknown>('1', `1?auth_key=${SECRET.authKey}`, null),
    __proto__: fc.constant(null),
  },
  { requiredKeys: [] },
);
const headers = fc.record(
  {
    'sec-purpose': fc.constantFrom('prefetch', '', 'x'),
    purpose: fc.constantFrom<unknown>('prefetch', ['prefetch'], ''),
    cookie: fc.string({ maxLength: 60 }),
  },
  { requiredKeys: [] },
);
const rubbish = fc.oneof(fc.anything(), fc.array(fc.anything(), { maxLength: 3 }));

fuzz(
  'queries, headers and sessions of a callback let no stranger in, and spend an auth_key once',
  fc.asyncProperty(
    query,
    headers,
    fc.oneof(fc.constant(undefined), rubbish),
    fc.record({ isStarted: fc.boolean(), state: fc.boolean(), confirm: fc.boolean() }),
    async (query, headers, junk, { isStarted, state, confirm }) => {
      const { session, visit, exchanged } = openLogin({ state, confirm });
      if (isStarted) await ended(visit());
      if (junk !== undefined) session[STATE_KEY] = junk;
      const { outcome } = await ended(visit(query, { headers }));
      if (outcome === 'success') {
        assert.ok(isStarted && junk === undefined && !confirm && !state, 'a stranger was let in');
        assert.equal(query.auth_key, exchanged[0]);
      }
      assert.ok(exchanged.length <= 1 && exchanged.every((spent) => typeof spent === 'string'));
      const again = await ended(visit(query, { headers }));
      assert.notEqual(again.outcome, 'success', 'the same callback let somebody in again');
    },
  ),
);

const PIECES = [
  ...'/ // \\ /\\ . .. /./ /../ : @ ? # %2f %5c %00 %0d%0a ; & = " \' < ~ % ／ ＼ ∕'.split(' '),
  ...'http: https: HTTPS: javascript: data: evil.example app.test 127.0.0.1 [::1]'.split(' '),
  ...['a', 'account', 'auth_key=x', '\ud800', '\udc00'],
  ...' \t\n\r\0\u2028\u2029\u0085\u00a0\u200b\u202e',
];
const pieces = fc.array(fc.constantFrom(...PIECES), { maxLength: 9 });
const path = fc.oneof(
  pieces.map((parts) => parts.join('')),
  pieces.map((parts) => `/${parts.join('')}`),
  fc.webPath(),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

function checkSameOrigin(found: string): void {
  // As a browser reads a Location, as one that takes backslashes for slashes does, and after a
  // program has written it into a header and another has taken blanks off it.
  const backslashes = found.replaceAll('\\', '/');
  for (const read of [found, backslashes, found.replace(/[\t\r\n]/g, ''), found.trim()]) {
    const url = new URL(read, 'https://app.test/callback');
    assert.equal(url.origin, 'https://app.test');
    assert.ok(!url.pathname.startsWith('//'), 'a second read would leave the site');
  }
  assert.ok(!/\p{Cc}/u.test(found), 'a header could be split');
}

/** Without halves of surrogate pairs, which no cookie can carry. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

/** A cookie holds the letters of other scripts in another way: as escapes or not. */
const bytesOf = (path: string): string =>
  Buffer.from(path)
    .toString('latin1')
    .replace(/%[\da-f]{2}/gi, (it) => String.fromCharCode(Number.parseInt(it.slice(1), 16)));

fuzz(
  'a path to go to after a login, from the app, a session or a cookie, stays on the site',
  fc.asyncProperty(path, path, fc.boolean(), async (wanted, saved, isCookie) => {
    const session = { 'marketgate:returnTo': saved };
    const { browser, visit } = openLogin({ where: isCookie ? 'cookie' : 'session', session });
    browser.cookies['marketgate.return_to'] = encodeURIComponent(wellFormed(saved));
    await ended(visit({}, {}, { returnTo: wanted }));
    const { to } = await ended(visit({ auth_key: SECRET.authKey }));
    if (to === undefined) return;
    checkSameOrigin(to);
    assert.ok([wanted, wellFormed(saved), saved].some((it) => bytesOf(it) === bytesOf(to)));
  }),
);
