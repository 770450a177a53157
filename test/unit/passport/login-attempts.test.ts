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
  STATE_COOKIE,
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

  it.each([
    ['just before ten minutes', 599_999, 'success'],
    ['after ten minutes', 600_000, 'fail'],
    ['in a process whose clock is five minutes behind', -300_000, 'success'],
  ])('%s: %s', async (_name, at, expected) => {
    let now = 0;
    const { start, comeBack } = open({ clock: () => now });
    await start();
    now = at;
    expect((await comeBack()).outcome?.[0]).toBe(expected);
  });

  it('all end with a login, also when the browser still holds a copy', async () => {
    const { start, comeBack, visit, keepCopy, exchanged } = open();
    await start({}, { headers: { 'sec-fetch-site': 'cross-site' } });
    const waiting = { marketgate: confirmationOf((await comeBack('k1')).outcome) };
    for (const _ of [1, 2]) await start();
    const putCopyBack = keepCopy();
    await visit({ ...waiting, answer: 'continue' });
    expect((await comeBack('strangers', { user })).recorded).toEqual([['pass']]);
    putCopyBack();
    expect((await comeBack('strangers')).outcome?.[2]).toBe(403);
    putCopyBack();
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

  it('of which the oldest makes room', async () => {
    let now = 0;
    const { start, comeBack } = open({ clock: () => now });
    for (now of [0, 1, 2, 60_000]) await start();
    now = 600_002;
    expect((await comeBack()).outcome).toEqual(success);
  });

  describe('of two strategies', () => {
    /** Two strategies in one browser, with one token store. */
    function two(names: (string | undefined)[], apps = ['a', 'a']) {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const shared = { tokenStore, browser: cookieBrowser(), session: {}, confirm: false };
      const logins = names.map((name, i) => {
        const token = { value: `token of ${i}`, issuedAt: 0, expiresAt: HOUR };
        const loginUrl = () => `https://market.example/api/oauth?app_id=${apps[i]}`;
        return open({ name, ...shared, api: { loginUrl, exchange: async () => token } });
      });
      const [first, second] = logins as [(typeof logins)[0], (typeof logins)[0]];
      return { first, second, tokenStore };
    }

    it.each<[string, (string | undefined)[], string[]?]>([
      ['names', [undefined, 'images']],
      ['names that a cookie cannot have', ['a b', 'a_b']],
      ['services, registered under names of passport’s', [undefined, undefined], ['a', 'b']],
    ])('with two %s are two, and so are their auth_keys', async (_name, ...given) => {
      const { first, second } = two(...given);
      await first.start();
      expect((await second.comeBack('k1')).outcome?.[2]).toBe(403);
      await second.start();
      expect((await first.comeBack('k2')).outcome).toEqual(success);
      expect((await second.comeBack('k2')).outcome?.[0]).not.toBe('fail');
    });

    it('have two tokens of the same user_id, and the middleware finds each', async () => {
      const { first, second, tokenStore } = two([undefined, 'images']);
      for (const { start, comeBack } of [first, second]) {
        await start();
        await comeBack('k1');
      }
      const getUser = vi.fn(async (_token: unknown) => userInfo);
      /** What the middleware of this strategy say about the user. */
      const errors = (strategy?: string) => {
        const guards = [
          loadUser({ getUser }, { tokenStore, strategy }),
          requireAccessToken({ tokenStore, strategy, clock: () => 0 }),
        ];
        const req = { user, method: 'POST', originalUrl: '/', headers: {} };
        return Promise.all(guards.map(async (guard) => (await runMiddleware(guard, req)).error));
      };
      expect(await errors()).toEqual([undefined, undefined]);
      expect(await errors('images')).toEqual([undefined, undefined]);
      const used = getUser.mock.calls.map(([token]) => token);
      expect(used).toMatchObject([{ value: 'token of 0' }, { value: 'token of 1' }]);
      const none = expect.objectContaining({ code: 'access_token_expired' });
      expect(await errors('videos')).toEqual([none, none]);
    });
  });
});

it('the page of requireLogin in a session is not lost where a browser sends the start twice, and attempts are in a cookie', async () => {
  const session = { 'marketgate:returnTo': '/account' };
  const { start, comeBack, browser } = openLogin({ where: 'cookie' });
  const before = { ...browser.cookies };
  await start({}, { session });
  for (const name of Object.keys(browser.cookies)) browser.cookies[name] = before[name];
  await start({}, { session });
  expect(await comeBack('k1', { session })).toMatchObject({ outcome: success, to: '/account' });
  expect(session).toEqual({});
});

describe('in a cookie', () => {
  it.each([
    ['http', false, STATE_COOKIE],
    ['https, under a name that no other host can set', true, `__Host-${STATE_COOKIE}`],
  ])('they are HttpOnly and SameSite=Lax over %s', async (_name, secure, name) => {
    const { start, comeBack } = openLogin({ where: 'cookie', secure });
    expect((await start()).res.attributes[name]).toEqual({
      name,
      value: expect.any(String),
      ...{ httpOnly: true, sameSite: 'lax', path: '/', maxAge: 600, ...(secure && { secure }) },
    });
    const { outcome, res } = await comeBack();
    expect(outcome).toEqual(success);
    // For the renewals, which come every hour.
    expect(res.attributes[name]).toMatchObject({ maxAge: 86_400 });
  });

  it.each<[string, OpenLogin, OpenLogin, string]>([
    ['the old secret', secrets('old'), secrets('new', 'old'), 'success'],
    ['an unknown secret', secrets('old'), secrets('another'), 'fail'],
    ['another strategy', { name: 'one' }, { name: 'two' }, 'fail'],
  ])('sealed by %s: the options %j and then %j end in %s', async (...row) => {
    const [, before, after, expected] = row;
    const first = openLogin({ where: 'cookie', ...before });
    await first.start();
    const { start, comeBack, browser } = openLogin({ where: 'cookie', ...after });
    await start();
    const [name = ''] = Object.keys(browser.cookies);
    browser.cookies[name] = Object.values(first.browser.cookies)[0];
    expect((await comeBack()).outcome?.[0]).toBe(expected);
  });

  it.each<[string, (value: string) => string]>([
    ['rubbish', () => 'rubbish'],
    ['another end', (value) => value.replace(/..$/, (it) => (it === 'AA' ? 'BA' : 'AA'))],
  ])('with %s are none', async (_name, change) => {
    const { start, comeBack, browser, exchanged } = openLogin({ where: 'cookie' });
    await start();
    browser.cookies[STATE_COOKIE] = change(browser.cookies[STATE_COOKIE] ?? '');
    expect((await comeBack()).outcome?.[2]).toBe(403);
    expect(exchanged).toEqual([]);
  });

  it('nothing of a login that waits can be read', async () => {
    const { upToThePage, browser } = openLogin({ where: 'cookie', confirm: true });
    await upToThePage();
    const sealed = browser.cookies[STATE_COOKIE]?.replace(/^.*\./, '') ?? '';
    const bytes = Buffer.from(sealed, 'base64url').toString('latin1');
    for (const secret of ['token-1', 'mira', '"77"']) expect(bytes).not.toContain(secret);
  });
});

function secrets(...names: string[]): OpenLogin {
  return { loginAttempts: { cookieSecret: names.map(longSecret) } };
}

describe('the cookie is short', () => {
  const NOW = 1e12;
  const HOUR = 3_600_000;
  const open = (tokenLength: number) => {
    const token = { value: 'x'.repeat(tokenLength), issuedAt: NOW, expiresAt: NOW + HOUR };
    const longName = { user_firstname: '\u00fc'.repeat(60), user_name: '\u00fc'.repeat(60) };
    return openLogin({
      ...{ where: 'cookie', secure: true, confirm: true, clock: () => NOW },
      api: { exchange: async () => token, getUser: async () => ({ ...userInfo, ...longName }) },
    });
  };

  it('with that of the page of requireLogin, at most 4,096 bytes, and the newest login fits', async () => {
    const { start, comeBack, browser, visit } = open(600);
    const lengths: number[] = [];
    const { res: stopped, req } = browser.request();
    const originalUrl = `/${encodeURIComponent('\u4e2d').repeat(199)}`;
    await keepPage({ ...req, originalUrl } as never, stopped as never);
    lengths.push(...stopped.lines.map(({ length }) => length));
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 4; i++) lengths.push(...(await start()).res.lines.map((it) => it.length));
      for (let i = 0; i < 2; i++) await comeBack(`k${round}${i}`);
      lengths.push(...(await start()).res.lines.map((it) => it.length));
      const { outcome, res } = await comeBack(`own${round}`);
      lengths.push(...res.lines.map(({ length }) => length));
      const answer = { marketgate: confirmationOf(outcome), answer: 'continue' };
      expect(await visit(answer)).toMatchObject({
        outcome: success,
        to: round === 0 ? originalUrl : undefined,
      });
    }
    expect(Math.max(...lengths)).toBeLessThanOrEqual(2048);
    expect(Math.max(...lengths)).toBeGreaterThan(1500);
  });

  it('a login that waits with a longer token is an error that says what to do', async () => {
    const { start, comeBack } = open(1500);
    await start();
    const { outcome } = await comeBack();
    expect(outcome).toEqual(['error', expect.any(Error)]);
    expect(String(outcome?.[1])).toMatch(/access_token is too long .*loginAttempts: 'session'/);
    expect(String(outcome?.[1])).not.toContain('xxx');
  });
});

describe('state: true, where a deployment echoes it', () => {
  function open(options = {}) {
    const login = openLogin({ state: true, ...options });
    /** Starts a login; gives the state that was sent along. */
    async function start(returnTo?: string): Promise<string> {
      const { outcome } = await login.start({ returnTo });
      return new URL(String(outcome?.[1])).searchParams.get('state') ?? '';
    }
    return { ...login, start };
  }

  it('finds the attempt of its own tab', async () => {
    const { visit, start } = open({ verify: (_input: unknown) => false });
    const [first, second] = [await start(), await start()];
    for (const [i, state] of [first, second, first].entries()) {
      const { outcome } = await visit({ auth_key: `k${i}`, state });
      expect(outcome?.[2]).toBe(i < 2 ? 401 : 403);
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

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['another', 'x'.repeat(22)],
    ['given twice', ['a', 'b']],
  ])('fails where it is %s, and spends nothing; used, it fails too', async (_name, state) => {
    const { visit, start } = open();
    const sent = await start();
    expect((await visit({ auth_key: 'k1', state })).outcome?.[2]).toBe(403);
    expect((await visit({ auth_key: 'k1', state: sent })).outcome).toEqual(success);
    expect((await visit({ auth_key: 'k2', state: sent })).outcome?.[2]).toBe(403);
  });
});
