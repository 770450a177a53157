import { problemOf } from 'marketgate';
import { describe, expect, it } from 'vitest';
import {
  failing,
  logIn,
  type OpenLogin,
  openLogin,
  STATE_COOKIE,
  user,
} from '../../support/strategy-harness.js';

// A callback that finds no attempt says why, as far as the request shows it. Visitors are told of cookies only where none
// has come back.

const TEN_MINUTES = 600_000;
const withCookie = { headers: { cookie: 'connect.sid=s%3Aold.signature' } };

type Login = ReturnType<typeof openLogin> & { now: (at: number) => void };
type Visit = Promise<{ outcome?: unknown[] | undefined }>;

it.each<[string, RegExp, OpenLogin, (login: Login) => Visit]>([
  [
    'the session is not in the store: another process, or a restart',
    /not in the session store: .*another process.*restarted/,
    {},
    async ({ comeBack, visit }) => {
      const gone = { ...withCookie, session: {}, sessionID: 'new' };
      // The first time, another process can have replaced it.
      expect((await comeBack('k1', { ...gone })).outcome?.[0]).toBe('page');
      return visit({ marketgate: 'again' }, { ...gone });
    },
  ],
  [
    'two cookies of the session came',
    /two cookies of one name came \(connect.sid\)/,
    {},
    ({ comeBack }) => {
      const cookie = 'connect.sid=s%3Aold.signature; connect.sid=s%3Aabc.signature';
      return comeBack('k1', { headers: { cookie }, session: {}, sessionID: 'new' });
    },
  ],
  [
    'two cookies of the attempts came',
    /two cookies of one name came \(marketgate\.login/,
    { where: 'cookie' },
    ({ comeBack }) =>
      comeBack('k1', { headers: { cookie: `${STATE_COOKIE}=a; ${STATE_COOKIE}=b` } }),
  ],
  [
    'another request has saved the session over it',
    /resave: true/,
    {},
    ({ comeBack }) => comeBack('k1', { ...withCookie, session: {}, sessionID: 'old' }),
  ],
  [
    'it began on http and came back on https',
    /began on http and came back on https/,
    { where: 'cookie' },
    ({ comeBack }) => comeBack('k1', { secure: true }),
  ],
  [
    'it began on https and came back on http',
    /began on https and came back on http:/,
    { where: 'cookie', secure: true },
    ({ comeBack }) => comeBack('k1', { secure: false }),
  ],
  [
    'it is too old',
    /began more than ten minutes ago/,
    {},
    ({ now, comeBack }) => {
      now(TEN_MINUTES);
      return comeBack('k1', withCookie);
    },
  ],
  [
    'another login of this browser has taken its place',
    /another login of this browser has taken its place/,
    {},
    async ({ comeBack }) => {
      await comeBack('k1', withCookie);
      return comeBack('k2', { headers: { cookie: 'connect.sid=new' } });
    },
  ],
  [
    'it waits for "Continue" in another tab',
    /waits for "Continue"/,
    { confirm: true },
    async ({ comeBack }) => {
      await comeBack('k1', withCookie);
      return comeBack('k2', { headers: { cookie: 'connect.sid=other' } });
    },
  ],
  [
    'somebody has logged out since',
    /logged in, or out, since it began/,
    {},
    async ({ start, comeBack, session: held }) => {
      for (const key of Object.keys(held)) delete held[key];
      await start({}, { user });
      return comeBack('k1', withCookie);
    },
  ],
])('no attempt, because %s', async (_why, reason, options, visit) => {
  let time = 0;
  const login = openLogin({ clock: () => time, ...options });
  await login.start();
  const now = (later: number) => {
    time += later;
  };
  const { outcome } = await visit({ ...login, now });
  expect(outcome).toMatchObject(['fail', { message: expect.stringMatching(reason) }, 403]);
  expect(problemOf(outcome?.[1])?.detail).not.toContain('cookies');
});

it.each<[string, object, object, RegExp]>([
  ['None without Secure', { sameSite: 'none' }, {}, /refuse SameSite=None without Secure/],
  ['Partitioned without Secure', { partitioned: true }, {}, /refuse Partitioned without Secure/],
  ['of another domain', { domain: '.b.example' }, {}, /refuse its Domain=\.b\.example from a\.ex/],
  [
    'of its own domain',
    { domain: 'EXAMPLE', secure: true },
    { secure: true },
    /: the browser blocks/,
  ],
  ['Secure over http', { secure: true }, {}, /refuse Secure over http/],
  ['SameSite=Strict', { sameSite: true }, {}, /use SameSite=Lax/],
  ['with a prefix, over http', {}, {}, /begins with __Host- or __Secure-/],
])('no attempt, because browsers refuse the session’s cookie: %s', async (...row) => {
  const [, cookie, more, reason] = row;
  const request = { session: { cookie }, sessionID: 'new', ...more };
  for (const header of ['', 'other=1']) {
    const headers = { host: 'a.example', cookie: header };
    const { outcome } = await openLogin().comeBack('k1', { ...request, headers });
    expect(outcome).toMatchObject(['fail', { message: expect.stringMatching(reason) }, 403]);
  }
});

it('no attempt, because no cookie came back: only then the visitor is told to allow cookies', async () => {
  const { outcome } = await openLogin().comeBack('k1');
  expect(outcome).toMatchObject(['fail', { message: expect.stringContaining('no cookie') }, 403]);
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
    ['without a host', 'app.example', at(), UNKNOWN],
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
