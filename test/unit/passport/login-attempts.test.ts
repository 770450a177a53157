import { loadUser, MemoryTokenStore, requireAccessToken } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { keepPage } from '../../../src/web/return-to.js';
import { runMiddleware } from '../../support/fake-response.js';
import {
  confirmationOf,
  cookieBrowser,
  longSecret,
  type OpenLogin,
  openLogin,
  success,
  user,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const HOUR = 3_600_000;

describe.each(['session', 'cookie'] as const)('login attempts in a %s', (where) => {
  const open = (options: OpenLogin = {}) => openLogin({ where, ...options });

  it('lead through a login, and leave only whose account it was', async () => {
    const { start, comeBack, browser, session } = open();
    await start();
    await start({ returnTo: '/api/me' });
    expect(await comeBack()).toMatchObject({ recorded: [success], to: '/api/me' });
    const [left] = Object.values<unknown>(where === 'session' ? session : browser.cookies);
    const hash = expect.stringMatching(/^[\w-]{8}$/);
    const last = { at: 0, to: '/api/me', n: 0 };
    if (where === 'session') expect(left).toEqual({ who: hash, account: hash, logins: [], last });
    else expect(String(left).length).toBeLessThan(250);
  });

  it('all end with a login, also when the browser still holds a copy', async () => {
    const { start, comeBack, visit, session, browser, exchanged } = open();
    await start({}, { headers: { 'sec-fetch-site': 'cross-site' } });
    const waiting = { marketgate: confirmationOf((await comeBack('k1')).outcome) };
    for (const _ of [1, 2]) await start();
    const [oldSession, oldCookies] = [{ ...session }, { ...browser.cookies }];
    const putCopyBack = () => {
      Object.assign(session, oldSession);
      Object.assign(browser.cookies, oldCookies);
    };
    await visit({ ...waiting, answer: 'continue' });
    expect((await comeBack('strangers', { user })).recorded).toEqual([['pass']]);
    putCopyBack();
    expect((await comeBack('strangers')).outcome?.[2]).toBe(403);
    const again = { headers: { cookie: 'seen=1' } };
    expect((await visit({ ...waiting, answer: 'continue' }, again)).outcome?.[2]).toBe(403);
    expect(exchanged).toEqual(['k1']);
  });

  it('are three at most, of which a login that fails takes the newest alone', async () => {
    const { start, comeBack } = open({ verify: (_input: unknown) => false });
    for (let i = 0; i < 5; i++) await start();
    for (let i = 0; i < 3; i++) expect((await comeBack(`k${i}`)).outcome?.[2]).toBe(401);
    expect((await comeBack('k3')).outcome?.[2]).toBe(403);
  });
});

it.each([
  ['just before ten minutes', 599_999, 'success'],
  ['after ten minutes', 600_000, 'fail'],
  ['in a process whose clock is five minutes behind', -300_000, 'success'],
])('a login that comes back %s: %s', async (_name, at, expected) => {
  let now = 0;
  const { start, comeBack } = openLogin({ clock: () => now });
  await start();
  now = at;
  expect((await comeBack()).outcome?.[0]).toBe(expected);
});

it('of login attempts the oldest makes room', async () => {
  let now = 0;
  const { start, comeBack } = openLogin({ clock: () => now });
  for (now of [0, 1, 2, 60_000]) await start();
  now = 600_002;
  expect((await comeBack()).outcome).toEqual(success);
});

describe('two strategies in one browser, with one token store,', () => {
  function two(where: 'session' | 'cookie', names: (string | undefined)[], apps = ['a', 'a']) {
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    const shared = { where, tokenStore, browser: cookieBrowser(), session: {}, confirm: false };
    const logins = names.map((name, i) => {
      const token = { value: `token of ${i}`, issuedAt: 0, expiresAt: HOUR };
      const loginUrl = () => `https://market.example/api/oauth?app_id=${apps[i]}`;
      return openLogin({ name, ...shared, api: { loginUrl, exchange: async () => token } });
    });
    const [first, second] = logins as [(typeof logins)[0], (typeof logins)[0]];
    return { first, second, tokenStore };
  }

  it.each<['session' | 'cookie', string, (string | undefined)[], string[]?]>([
    ['session', 'names', [undefined, 'images']],
    ['cookie', 'names that a cookie cannot have', ['a b', 'a_b']],
    ['session', 'services and one name', [undefined, undefined], ['a', 'b']],
  ])('have their own attempts in a %s and their own auth_keys: two %s', async (...row) => {
    const [where, _what, ...given] = row;
    const { first, second } = two(where, ...given);
    await first.start();
    expect((await second.comeBack('k1')).outcome?.[2]).toBe(403);
    await second.start();
    expect((await first.comeBack('k2')).outcome).toEqual(success);
    expect((await second.comeBack('k2')).outcome?.[0]).not.toBe('fail');
  });

  it('have two tokens of the same user_id, and the middleware finds each', async () => {
    const { first, second, tokenStore } = two('session', [undefined, 'images']);
    for (const { start, comeBack } of [first, second]) {
      await start();
      await comeBack('k1');
    }
    const getUser = vi.fn(async (_token: unknown) => userInfo);
    const req = { user, method: 'POST', originalUrl: '/', headers: {} };
    const none = { code: 'access_token_expired' };
    for (const [strategy, error] of [[undefined], ['images'], ['videos', none]] as const) {
      const load = loadUser({ getUser }, { tokenStore, strategy });
      const guard = requireAccessToken({ tokenStore, strategy, clock: () => 0 });
      for (const middleware of [load, guard]) {
        expect(await runMiddleware(middleware, req)).toMatchObject({ error });
      }
    }
    const used = getUser.mock.calls.map(([token]) => token);
    expect(used).toMatchObject([{ value: 'token of 0' }, { value: 'token of 1' }]);
  });
});

describe('a login in a cookie', () => {
  it.each([
    ['http', false, 'marketgate.login.'],
    ['https, under a name that no other host can set', true, '__Host-marketgate.login.'],
  ])('is HttpOnly and SameSite=Lax over %s', async (_name, secure, prefix) => {
    const { start, comeBack } = openLogin({ where: 'cookie', secure });
    const end = `; Path=/; HttpOnly;${secure ? ' Secure;' : ''} SameSite=Lax`;
    const line = (maxAge: number) =>
      expect.stringMatching(new RegExp(`^${prefix}\\w+=\\S+; Max-Age=${maxAge}${end}$`));
    expect((await start()).res.setCookies).toEqual([line(600)]);
    const { outcome, res } = await comeBack();
    expect(outcome).toEqual(success);
    // For the renewals, which come every hour.
    expect(res.setCookies).toEqual([line(86_400)]);
  });

  const secrets = (...names: string[]): OpenLogin => ({
    loginAttempts: { cookieSecret: names.map(longSecret) },
  });
  it.each<[string, OpenLogin, OpenLogin, string]>([
    ['the old secret', secrets('old'), secrets('new', 'old'), 'success'],
    ['an unknown secret', secrets('old'), secrets('another'), 'fail'],
    ['another strategy', { name: 'one' }, { name: 'two' }, 'fail'],
  ])('that is sealed by %s: the options %j and then %j end in %s', async (...row) => {
    const [, before, after, expected] = row;
    const first = openLogin({ where: 'cookie', ...before });
    await first.start();
    const { start, comeBack, browser } = openLogin({ where: 'cookie', ...after });
    await start();
    const [name = ''] = Object.keys(browser.cookies);
    browser.cookies[name] = Object.values(first.browser.cookies)[0] ?? '';
    expect((await comeBack()).outcome?.[0]).toBe(expected);
  });

  it('that was changed is none', async () => {
    const { start, comeBack, browser } = openLogin({ where: 'cookie' });
    await start();
    const [[name, value] = ['', '']] = Object.entries(browser.cookies);
    for (const changed of ['rubbish', `${value.slice(0, -6)}AAAAAA`]) {
      browser.cookies[name] = changed;
      expect((await comeBack()).outcome?.[2]).toBe(403);
    }
  });

  it('that waits for "Continue" hides whose it is, and the auth_key', async () => {
    const { upToThePage, browser } = openLogin({ where: 'cookie', confirm: true });
    await upToThePage({}, 'auth_key of mira');
    const [kept = ''] = Object.values(browser.cookies);
    expect(kept + Buffer.from(kept.slice(2), 'base64url')).not.toMatch(/mira|token-1/i);
  });

  const open = (tokenLength: number) => {
    const token = { value: 'x'.repeat(tokenLength), issuedAt: 0, expiresAt: HOUR };
    const longName = { user_firstname: '\u00fc'.repeat(60), user_name: '\u00fc'.repeat(60) };
    return openLogin({
      ...{ where: 'cookie', secure: true, confirm: true },
      api: { exchange: async () => token, getUser: async () => ({ ...userInfo, ...longName }) },
    });
  };

  it('has at most 4,096 bytes, with that of the page of requireLogin, and the newest login fits', async () => {
    const { start, comeBack, browser, visit } = open(600);
    const lines: string[] = [];
    const { res: stopped, req } = browser.request();
    const originalUrl = `/${encodeURIComponent('\u4e2d').repeat(199)}`;
    await keepPage({ ...req, originalUrl } as never, stopped as never);
    lines.push(...stopped.setCookies);
    for (let i = 0; i < 4; i++) lines.push(...(await start()).res.setCookies);
    for (let i = 0; i < 2; i++) lines.push(...(await comeBack(`k${i}`)).res.setCookies);
    lines.push(...(await start()).res.setCookies);
    const { outcome, res } = await comeBack('own');
    lines.push(...res.setCookies);
    const answer = { marketgate: confirmationOf(outcome), answer: 'continue' };
    expect(await visit(answer)).toMatchObject({ outcome: success, to: originalUrl });
    const longest = Math.max(...lines.map(({ length }) => length));
    expect(longest).toBeLessThanOrEqual(2048);
    expect(longest).toBeGreaterThan(1500);
  });

  it('that waits with a longer token is an error that says what to do', async () => {
    const { start, comeBack } = open(1500);
    await start();
    const { outcome } = await comeBack();
    expect(outcome).toEqual(['error', expect.any(Error)]);
    expect(String(outcome?.[1])).toMatch(/access_token is too long .*loginAttempts: 'session'/);
    expect(String(outcome?.[1])).not.toContain('xxx');
  });
});

describe('state: true, where a deployment echoes it,', () => {
  function open(options = {}) {
    const login = openLogin({ state: true, ...options });
    /** Starts a login; gives the state that was sent along. */
    async function start(): Promise<string> {
      const { outcome } = await login.start();
      return new URL(String(outcome?.[1])).searchParams.get('state') ?? '';
    }
    return { ...login, start };
  }

  it('finds the attempt of its own tab, once, and no other value does', async () => {
    const { visit, start } = open({ verify: (_input: unknown) => false });
    const [first, second] = [await start(), await start()];
    const unknown = [undefined, 'x'.repeat(22), [first, second]];
    for (const [i, state] of [...unknown, first, second, first].entries()) {
      const { outcome } = await visit({ auth_key: `k${i}`, state });
      expect(outcome?.[2]).toBe(state === second || i === 3 ? 401 : 403);
    }
  });

  it('is not the value of "Continue", which only the page and the browser know', async () => {
    const { visit, start } = open({ confirm: true });
    const state = await start();
    const ofAttempt = await visit({ marketgate: state, answer: 'continue' });
    expect(ofAttempt.outcome?.[2]).toBe(403);
    const { outcome } = await visit({ auth_key: 'k1', state });
    expect(outcome?.[1]).toMatch(/^\?marketgate=/);
    expect(outcome?.[1]).not.toContain(state);
  });
});
