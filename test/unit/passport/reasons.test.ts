import { problemOf } from 'marketgate';
import { describe, expect, it } from 'vitest';
import {
  failing,
  logIn,
  longSecret,
  type OpenLogin,
  openLogin,
  user,
} from '../../support/strategy-harness.js';

// A callback that finds no attempt says why, as far as the request shows it. Visitors are told of cookies only where none
// has come back.

const withCookie = (cookie: string) => ({ headers: { cookie } });
const OLD = withCookie('connect.sid=s%3Aold.signature');
const SAVED_OVER = { ...OLD, session: {}, sessionID: 'old' };
const TWO = {
  ...withCookie('connect.sid=s%3Aold.signature; connect.sid=s%3Aabc.signature'),
  ...{ session: {}, sessionID: 'new' },
};

/** A clock that goes on by ten minutes whenever it is read. */
const hurrying = (time = 0) => {
  return () => {
    time += 600_000;
    return time;
  };
};

it.each<[string, RegExp, OpenLogin, start: object, ...callbacks: object[]]>([
  ['two cookies of its session came', /two cookies of one name came \(connect.sid\)/, {}, {}, TWO],
  ['another request saved the session over it', /resave: true/, {}, {}, SAVED_OVER],
  ['it began on http', /on http and came back on https/, { where: 'cookie' }, {}, { secure: true }],
  [
    'it began on https',
    /on https and came back on http:/,
    { where: 'cookie', secure: true },
    {},
    { secure: false },
  ],
  ['it is too old', /more than ten minutes ago/, { clock: hurrying() }, {}, OLD],
  ['it is too old', /: it began more/, { clock: hurrying(), where: 'cookie' }, {}, {}],
  ['somebody has logged out', /logged in, or out, since it began/, {}, { user }, OLD],
  ['another login has taken its place', /another login of/, {}, {}, OLD, withCookie('a=1')],
  ['it waits in a tab', /waits for "Continue"/, { confirm: true }, {}, OLD, withCookie('a=1')],
])(
  'a callback finds no attempt, because %s',
  async (_why, reason, options, begun, ...callbacks) => {
    const { start, comeBack } = openLogin(options);
    await start({}, begun);
    let outcome: unknown[] | undefined;
    for (const [i, more] of callbacks.entries()) ({ outcome } = await comeBack(`k${i}`, more));
    expect(outcome).toMatchObject(['fail', { message: expect.stringMatching(reason) }, 403]);
    expect(problemOf(outcome?.[1])?.detail).not.toContain('cookies');
  },
);

it('a callback finds no attempt, because its cookie came twice', async () => {
  const { start, comeBack, browser } = openLogin({ where: 'cookie' });
  await start();
  const [name] = Object.keys(browser.cookies);
  const { outcome } = await comeBack('k1', withCookie(`${name}=a; ${name}=b`));
  const message = expect.stringContaining(`two cookies of one name came (${name})`);
  expect(outcome).toMatchObject(['fail', { message }, 403]);
});

it('a callback finds no attempt, because its cookie was sealed with another secret', async () => {
  const { browser, start } = openLogin({ where: 'cookie' });
  await start();
  const loginAttempts = { cookieSecret: longSecret('another') };
  const { outcome } = await openLogin({ where: 'cookie', browser, loginAttempts }).comeBack();
  const message = expect.stringContaining('sealed with another cookieSecret');
  expect(outcome).toMatchObject(['fail', { message }, 403]);
});

it.each<[string, object, object, RegExp]>([
  ['None without Secure', { sameSite: 'none' }, {}, /refuse SameSite=None without Secure/],
  ['Partitioned without Secure', { partitioned: true }, {}, /refuse Partitioned without Secure/],
  ['of another domain', { domain: '.b.example' }, {}, /refuse its Domain=\.b\.example from a\.ex/],
  ['of its own domain', { domain: 'EXAMPLE', secure: true }, { secure: true }, /: the browser bl/],
  [
    'none that it shows',
    {},
    { secure: true },
    /cookies; or .* another host, .* a proxy .* rewrites/,
  ],
  [
    'Secure over http',
    { secure: true },
    {},
    /refuse Secure over http; behind a proxy .*trust proxy/,
  ],
  ['of a minute and a half', { originalMaxAge: 86_400 }, {}, /lasts 86 s.* is in milliseconds/],
  ['SameSite=Strict', { sameSite: true }, {}, /use SameSite=Lax/],
])('a callback finds no attempt, because of the session’s cookie: %s', async (...row) => {
  const [, cookie, more, reason] = row;
  const request = { session: { cookie }, sessionID: 'new', ...more };
  const headers = { host: 'a.example', cookie: '' };
  const { outcome } = await openLogin().comeBack('k1', { ...request, headers });
  expect(outcome).toMatchObject(['fail', { message: expect.stringMatching(reason) }, 403]);
  expect(problemOf(outcome?.[1])?.detail).toContain('allow cookies');
});

describe('a failed login says why', () => {
  const at = (host?: string) => ({ headers: { host, cookie: 'other=1' } });
  const UNKNOWN = 'if this happens again';

  it.each<[string, string, object, string]>([
    ['on another host', 'localhost:3000', at('127.0.0.1:3000'), 'came back to 127.0.0.1 but'],
    ['on another port', 'localhost:3000', at('localhost:4000'), UNKNOWN],
    ['on what is no host', 'app.example', at('<b>x</b>'), UNKNOWN],
    ['on a host in capitals', 'app.example', at('A.Example:80'), 'came back to a.example but'],
  ])('back %s, begun on %s', async (_what, from, back, expected) => {
    const { start, comeBack } = openLogin();
    await start({}, at(from));
    const { outcome } = await comeBack('k1', { ...back, session: {} });
    expect(outcome).toMatchObject(['fail', { message: expect.stringContaining(expected) }, 403]);
    expect(JSON.stringify(outcome)).not.toContain('<b>');
  });

  const noReason = expect.stringContaining('verify gave no user');
  const detailOf = expect.stringMatching(/^This site does not accept .* log out there first/);
  it.each([
    ['banned', 'banned', 'banned'],
    [{ message: 'banned' }, { message: 'banned' }, 'banned'],
    [{ type: 'warn' }, expect.objectContaining({ type: 'warn', message: noReason }), detailOf],
    [null, expect.objectContaining({ code: 'login_failed', message: noReason }), detailOf],
  ])('when verify refuses with the info %j, also with failWithError', async (info, ...expected) => {
    const [challenge, detail] = expected;
    type Done = (...args: unknown[]) => void;
    const verify = (_a: 1, _r: 1, _p: 1, done: Done) => done(null, false, info);
    const end = async (authOptions: object) =>
      (await logIn({ verify }, 'k1', {}, authOptions)).recorded;
    const failed = [['fail', challenge, 401]];
    expect(await end({})).toEqual(failed);
    const [[name, error] = []] = await end({ failWithError: true });
    expect([name, problemOf(error)]).toMatchObject(['error', { status: 401, detail }]);
    // Passport's failureRedirect comes before its failWithError.
    expect(await end({ failWithError: true, failureRedirect: '/' })).toEqual(failed);
  });

  /** Words that visitors of a shop do not know. */
  const FOR_DEVELOPERS = /auth_key|SameSite|proxy|developer|verify|host|URL|regist|session|npx|_/i;
  it.each<[string, object, object, string]>([
    ['another browser', { auth_key: 'k1' }, { session: {} }, 'not started in this browser'],
    ['a broken auth_key', { auth_key: ['a', 'b'] }, {}, 'not complete'],
    ['a broken redirect URL', { x: '1?auth_key=k1' }, {}, 'tell the site'],
    ['an auth_key of long ago', { auth_key: 'k1' }, {}, 'too old'],
  ])('to the visitor in plain words, after %s', async (_why, query, more, expected) => {
    const { start, visit } = openLogin(failing('auth_key_rejected'));
    await start();
    const { outcome } = await visit(query, more, { failWithError: true });
    const detail = problemOf(outcome?.[1])?.detail;
    expect(detail).toContain(expected);
    expect(detail).not.toMatch(FOR_DEVELOPERS);
  });
});
