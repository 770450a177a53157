import assert from 'node:assert/strict';
import fc from 'fast-check';
import { MarketplaceStrategy, type MarketplaceStrategyOptions, returnTo } from 'marketgate';
import { everythingOf } from '../../support/secrets/support/everything-of.js';
import {
  cookieBrowser,
  drive,
  fakeLoginApi,
  longSecret,
  type Recorded,
  requestOf,
  STATE_COOKIE,
  STATE_KEY,
} from '../../support/strategy-harness.js';
import { checkClean, checkPrototypes, SECRET, secretsOf, settled } from './support/checks.js';
import { fuzz } from './support/fuzz.js';
import { edit, edited, plain } from './support/mutations.js';

const SECRETS = secretsOf('authKey', 'appSecret');
const OUTCOMES = ['success', 'fail', 'redirect', 'pass', 'error', 'page'];

const strategyOf = (options: Partial<MarketplaceStrategyOptions> = {}) => {
  const { loginApi, exchanged } = fakeLoginApi();
  const strategy = new MarketplaceStrategy({ loginApi, ...options }, async ({ profile }) => ({
    id: profile.id,
  }));
  return { strategy, exchanged };
};

/** Runs the strategy; it must end once, in an outcome that shows no secret. */
async function ended(...args: Parameters<typeof drive>): Promise<Recorded> {
  const result = await settled(drive(...args));
  assert.ok('value' in result, 'it failed instead of ending');
  assert.equal(result.value.length, 1, 'not exactly one outcome');
  const [outcome] = result.value;
  assert.ok(outcome !== undefined && OUTCOMES.includes(outcome[0]));
  checkClean(everythingOf(outcome.slice(1)), SECRETS);
  checkPrototypes();
  return outcome;
}

const key = fc.oneof(
  { weight: 4, arbitrary: fc.constant<unknown>(SECRET.authKey) },
  { weight: 2, arbitrary: fc.anything() },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>('', ' ', '\0', 'x'.repeat(5000), ['a', 'b'], []),
  },
);
const query = fc.record(
  {
    auth_key: key,
    'auth_key[]': fc.string(),
    'auth_key[x]': fc.anything(),
    state: fc.oneof(fc.string(), fc.anything()),
    confirm: fc.oneof(fc.string(), fc.anything()),
    answer: fc.constantFrom<unknown>('continue', 'cancel', '', ['continue'], 7),
    x: fc.constantFrom<unknown>('1', `1?auth_key=${SECRET.authKey}`, null),
    __proto__: fc.constant(null),
  },
  { requiredKeys: [] },
);
const headers = fc.record(
  {
    'sec-purpose': fc.constantFrom('prefetch', 'prefetch;prerender', '', 'x'),
    purpose: fc.constantFrom<unknown>('prefetch', 'preview', ['prefetch'], ''),
    cookie: fc.string({ maxLength: 60 }),
  },
  { requiredKeys: [] },
);
const rubbish = fc.oneof(fc.anything(), fc.array(fc.anything(), { maxLength: 3 }));

const PIECES = [
  ...'/ // \\ /\\ . .. /./ /../ : @ ? # %2f %5c %00 %0d%0a ; & = " \' < ~ % ／ ＼ ∕'.split(' '),
  ...'http: https: HTTPS: javascript: data: evil.example app.test 127.0.0.1 [::1]'.split(' '),
  ...['a', 'account', 'auth_key=x', '\ud800', '\udc00'],
  ...' \t\n\r\0\u2028\u2029\u0085\u00a0\u200b\u202e',
];
const path = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }).map((pieces) => pieces.join('')),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }).map((pieces) => `/${pieces.join('')}`),
  fc.webPath(),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

function checkSameOrigin(found: string | undefined): void {
  if (found === undefined) return;
  // As a browser reads a Location, as one that takes backslashes for slashes does, and after a
  // program has written it into a header and another has taken blanks off it.
  for (const read of [
    found,
    found.replaceAll('\\', '/'),
    found.replace(/[\t\r\n]/g, ''),
    found.trim(),
  ]) {
    const url = new URL(read, 'https://app.test/callback');
    assert.equal(url.origin, 'https://app.test');
    assert.ok(!url.pathname.startsWith('//'), 'a second read would leave the site');
  }
  assert.ok(!/\p{Cc}/u.test(found), 'a header could be split');
}

/** Without halves of surrogate pairs, which no cookie can carry. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

fuzz(
  'queries, headers and sessions of a callback let no stranger in, and spend an auth_key once',
  fc.asyncProperty(
    query,
    headers,
    fc.oneof(fc.constant(undefined), rubbish),
    fc.record({ isStarted: fc.boolean(), state: fc.boolean(), confirm: fc.boolean() }),
    async (query, headers, junk, { isStarted, state, confirm }) => {
      const { strategy, exchanged } = strategyOf({ state, confirm });
      const session: Record<string, unknown> = {};
      if (isStarted) await ended(strategy, requestOf({}, { session }));
      if (junk !== undefined) session[STATE_KEY] = junk;
      const res = cookieBrowser().request().res;
      const request = () => requestOf(query, { session, headers, res, path: '/callback' });
      const [outcome] = await ended(strategy, request());
      if (outcome === 'success') {
        assert.ok(isStarted && junk === undefined && !confirm && !state, 'a stranger was let in');
        assert.equal(query.auth_key, exchanged[0]);
      }
      assert.ok(exchanged.length <= 1 && exchanged.every((spent) => typeof spent === 'string'));
      const [again] = await ended(strategy, request());
      assert.notEqual(again, 'success', 'the same callback let somebody in again');
    },
  ),
);

fuzz(
  'a cookie of a login attempt that was changed or made up is not believed',
  fc.asyncProperty(
    fc.oneof(
      edit,
      fc.string({ maxLength: 200 }),
      fc.constantFrom('', 'a.b.c', 'eyJhbGciOiJub25lIn0.W10.', '..', '%00', '"x"', 'a;b'),
    ),
    async (change) => {
      const { strategy, exchanged } = strategyOf({
        loginAttempts: { cookieSecret: [longSecret('new'), longSecret('old')] },
      });
      const browser = cookieBrowser();
      await ended(strategy, browser.request().req);
      const real = browser.cookies[STATE_COOKIE] ?? '';
      const forged = typeof change === 'string' ? change : edited(real, change);
      browser.cookies[STATE_COOKIE] = forged;
      const { req } = browser.request({ auth_key: SECRET.authKey });
      const [outcome] = await ended(strategy, req);
      // What a cookie's value is ends with its first semicolon.
      const [value = ''] = forged.split(';');
      const isSame = plain(value.trim()) === plain(real);
      if (outcome === 'success') assert.ok(isSame, 'a forged cookie was believed');
      else assert.equal(exchanged.length, 0, 'a forged cookie spent an auth_key');
    },
  ),
);

fuzz(
  'a path to go to after a login, from the app, a session or a cookie, stays on the site',
  fc.asyncProperty(path, path, fc.boolean(), async (wanted, saved, isCookie) => {
    const options = isCookie ? { loginAttempts: { cookieSecret: longSecret() } } : {};
    const { strategy } = strategyOf(options);
    const browser = cookieBrowser();
    browser.cookies['marketgate.return_to'] = encodeURIComponent(wellFormed(saved));
    const session = { 'marketgate:returnTo': saved };
    const request = (query: object) =>
      isCookie ? browser.request(query).req : requestOf(query, { session });
    await ended(strategy, request({}), { returnTo: wanted });
    const req = request({ auth_key: SECRET.authKey });
    await ended(strategy, req);
    const found = returnTo(req);
    checkSameOrigin(found);
    assert.ok(found === undefined || [wanted, wellFormed(saved), saved].includes(found));
  }),
);
