import { loadUser, MemoryTokenStore, requireAccessToken } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { saveReturnTo } from '../../../src/express/return-to.js';
import { fakeResponse } from '../../support/fake-response.js';
import {
  longSecret,
  type OpenLogin,
  openLogin,
  STATE_COOKIE,
  STATE_KEY,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const user = { id: '77' };
const success = ['success', user, {}];

describe.each(['session', 'cookie'] as const)('login attempts in a %s', (where) => {
  const open = (options: OpenLogin = {}) => openLogin({ where, ...options });

  it('lead through a login, and leave nothing behind', async () => {
    const { start, comeBack, browser, session } = open();
    await start();
    await start({ returnTo: '/api/me' });
    expect(await comeBack()).toMatchObject({ recorded: [success], to: '/api/me' });
    expect([session, browser.cookies[STATE_COOKIE]]).toEqual([{}, undefined]);
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

  it.each([1, 3])(
    'all end with a login, of %s, also when the browser still holds a copy',
    async (n) => {
      const { start, comeBack, browser, session, exchanged } = open();
      for (let i = 0; i < n; i++) await start();
      const copies = [{ ...session }, { ...browser.cookies }];
      await comeBack('mine');
      expect((await comeBack('strangers', { user })).recorded).toEqual([['pass']]);
      Object.assign(session, copies[0]);
      Object.assign(browser.cookies, copies[1]);
      expect((await comeBack('strangers')).outcome?.[2]).toBe(403);
      expect(exchanged).toEqual(['mine']);
    },
  );

  it('are several, the newest first: a login that fails takes its own alone', async () => {
    let isIn = false;
    const { start, comeBack } = open({ verify: (_input: unknown) => isIn && user });
    for (const returnTo of ['/older', '/newer']) await start({ returnTo });
    expect((await comeBack('k0')).outcome?.[0]).toBe('fail');
    isIn = true;
    expect(await comeBack('k1')).toMatchObject({ outcome: success, to: '/older' });
  });

  it('are five at most', async () => {
    const { start, comeBack } = open({ verify: (_input: unknown) => false });
    for (let i = 0; i < 7; i++) await start();
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await comeBack(`k${i}`)).outcome?.[2]);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 403]);
  });

  describe('of two strategies', () => {
    /** Two strategies in one browser, with one token store. */
    function two(names: (string | undefined)[], urls: string[] = []) {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const [first, second] = names.map((name, i) => {
        const token = { value: `token of ${i}`, issuedAt: 0, expiresAt: 3_600_000 };
        const loginUrl = urls[i];
        const api = { ...(loginUrl && { loginUrl: () => loginUrl }), exchange: async () => token };
        return open({ name, tokenStore, api, confirm: false });
      }) as [ReturnType<typeof open>, ReturnType<typeof open>];
      const share = async (login: typeof first, query: object) => {
        const more = where === 'session' ? { session: first.session } : {};
        const { outcome } = await login.visit(query, more);
        for (const { browser } of [first, second])
          Object.assign(browser.cookies, login.browser.cookies);
        return outcome;
      };
      return {
        tokenStore,
        one: (query: object = {}) => share(first, query),
        other: (query: object = {}) => share(second, query),
      };
    }

    it.each<[string, (string | undefined)[], string[]]>([
      ['names', [undefined, 'images'], []],
      ['names that a cookie cannot have', ['a b', 'a_b'], []],
      [
        'services, registered under names of passport’s',
        [undefined, undefined],
        ['a', 'b'].map((app) => `https://market.example/api/oauth?app_id=${app}`),
      ],
    ])('with two %s are two, and so are their auth_keys', async (_name, ...given) => {
      const { one, other } = two(...given);
      await one();
      expect((await other({ auth_key: 'k1' }))?.[2]).toBe(403);
      await other();
      expect((await one({ auth_key: 'k2' }))?.[0]).toBe('success');
      expect((await other({ auth_key: 'k2' }))?.[0]).toBe('redirect');
    });

    it('have two tokens of the same user_id, and the middleware finds each', async () => {
      const { one, other, tokenStore } = two([undefined, 'images']);
      for (const visit of [one, other]) {
        await visit();
        await visit({ auth_key: 'k1' });
      }
      const used: unknown[] = [];
      const getUser = async (token: unknown) => {
        used.push((token as { value: string }).value);
        return userInfo;
      };
      for (const strategy of [undefined, 'images', 'videos']) {
        for (const guard of [
          loadUser({ getUser }, { tokenStore, strategy }),
          requireAccessToken({ tokenStore, strategy, clock: () => 0 }),
        ]) {
          const req = { user, method: 'POST', originalUrl: '/', headers: {} };
          const error = await new Promise((resolve) =>
            guard(req as never, fakeResponse() as never, resolve),
          );
          if (strategy !== 'videos') expect(error).toBeUndefined();
          else expect(error).toMatchObject({ code: 'access_token_expired' });
        }
      }
      expect(used).toEqual(['token of 0', 'token of 1']);
    });
  });
});

describe('in a session', () => {
  it.each<[string, unknown]>([
    ['a number', 7],
    ['text', 'x'],
    ['JSON of something else', '{"a":1}'],
    ['a list of something else', '{"attempts":[null]}'],
  ])('%s in place of the attempts counts as none', async (_name, held) => {
    const { start, comeBack, session } = openLogin();
    session[STATE_KEY] = held;
    expect((await comeBack()).outcome?.[2]).toBe(403);
    session[STATE_KEY] = held;
    await start();
    expect((await comeBack('k2')).outcome).toEqual(success);
  });

  it('they are saved once for the start and once for the callback', async () => {
    const { start, comeBack, session } = openLogin();
    const save = vi.fn((done: () => void) => done());
    session.save = save;
    await start();
    expect(save).toHaveBeenCalledTimes(1);
    await comeBack();
    expect(save).toHaveBeenCalledTimes(2);
  });
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
    expect((await comeBack()).outcome).toEqual(success);
  });

  it('that is set over http does not count over https', async () => {
    const { start, browser } = openLogin({ where: 'cookie' });
    await start();
    const { comeBack, browser: secure } = openLogin({ where: 'cookie', secure: true });
    Object.assign(secure.cookies, browser.cookies);
    expect((await comeBack()).outcome?.[2]).toBe(403);
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
    ['nothing', () => ''],
    ['rubbish', () => 'rubbish'],
    ['percent signs', () => '%E0%A4%A'],
    ['another beginning', (value) => value.replace(/^./, (it) => (it === 'A' ? 'B' : 'A'))],
    ['another end', (value) => value.replace(/..$/, (it) => (it === 'AA' ? 'BA' : 'AA'))],
    ['its end cut off', (value) => value.slice(0, 30)],
  ])('with %s are none', async (_name, change) => {
    const { start, comeBack, browser, exchanged } = openLogin({ where: 'cookie' });
    await start();
    browser.cookies[STATE_COOKIE] = change(browser.cookies[STATE_COOKIE] ?? '');
    expect((await comeBack()).outcome?.[2]).toBe(403);
    expect(exchanged).toEqual([]);
  });

  it('they need a response, and the error says so', async () => {
    const { outcome } = await openLogin({ where: 'cookie' }).start({}, { res: undefined });
    expect(String(outcome?.[1])).toContain('no response');
  });

  it('they are set once, next to the cookies of the app', async () => {
    const { start, visit, browser } = openLogin({ where: 'cookie' });
    await start();
    const cookie = `${STATE_COOKIE}=${browser.cookies[STATE_COOKIE]}`;
    const res = fakeResponse();
    res.setHeader('Set-Cookie', 'mine=1');
    await visit({ auth_key: 'k1' }, { res, headers: { cookie } });
    const lines = [res.getHeader('Set-Cookie')].flat().map(String);
    expect(lines).toEqual(['mine=1', expect.stringContaining(`${STATE_COOKIE}=; Max-Age=0`)]);
  });

  it('nothing of a login that waits can be read', async () => {
    const { upToThePage, browser } = openLogin({ where: 'cookie', confirm: true });
    await upToThePage();
    const sealed = browser.cookies[STATE_COOKIE]?.replace(/^.*\./, '') ?? '';
    const bytes = Buffer.from(sealed, 'base64url').toString('latin1');
    for (const secret of ['token-1', 'mira', '77']) expect(bytes).not.toContain(secret);
  });
});

function secrets(...names: string[]): OpenLogin {
  return { loginAttempts: { cookieSecret: names.map(longSecret) } };
}

describe('the cookie is short', () => {
  /** With as many digits as the time has. */
  const NOW = 1e12;
  const long = (n: number) => `/${'\u00fc'.repeat(n)}`;
  const open = (tokenLength: number) => {
    const times = { issuedAt: NOW, expiresAt: NOW + 3_600_000 };
    return openLogin({
      where: 'cookie',
      secure: true,
      confirm: true,
      clock: () => NOW,
      api: {
        exchange: async () => ({ value: 'x'.repeat(tokenLength), ...times }),
        getUser: async () => ({ ...userInfo, user_firstname: long(60), user_name: long(60) }),
      },
    });
  };

  it('all together, with the page of requireLogin, at most 1,024 bytes with their attributes', async () => {
    const { start, comeBack, browser, visit } = open(100);
    const { res } = browser.request();
    for (let i = 0; i < 300; i++) {
      const stopped = {
        method: 'GET',
        headers: {},
        secure: true,
        originalUrl: `/${'a'.repeat(i)}`,
      };
      await saveReturnTo(stopped as never, res as never);
    }
    const most = Math.max(...res.lines.map(({ length }) => length));
    expect(most).toBeGreaterThan(250);
    const lines: string[] = [];
    for (let i = 0; i < 5; i++) lines.push(...(await comeBack(`early${i}`)).res.lines);
    for (const n of [5, 60, 99, 100, 30, 900, 0]) {
      lines.push(...(await start({ returnTo: long(n) })).res.lines);
    }
    const { res: last, outcome } = await comeBack('own');
    lines.push(...last.lines);
    expect(lines.length).toBeGreaterThan(12);
    expect(most + Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(1024);
    const confirm = String(outcome?.[1]).split('=')[1];
    expect((await visit({ confirm, answer: 'continue' })).outcome).toEqual(success);
  });

  it.each([
    ['one that fits', [80], long(80)],
    ['the newest of many', [40, 40, 40, 40, 40], long(40)],
    ['none that is too long, while its attempt stays', [400], undefined],
  ])('it keeps of the paths %s', async (_name, lengths, kept) => {
    const { start, comeBack } = openLogin({ where: 'cookie' });
    for (const n of lengths) await start({ returnTo: long(n) });
    const { outcome, to } = await comeBack();
    expect([outcome, to]).toEqual([success, kept]);
  });

  it('a login that waits with a longer token is an error that says what to do', async () => {
    const { start, comeBack } = open(600);
    await start();
    const { outcome } = await comeBack();
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toMatch(/access_token is too long .*loginAttempts: 'session'/);
    expect(String(outcome?.[1])).not.toContain('xxx');
  });
});

describe('state: true, where a deployment echoes it', () => {
  function open() {
    const login = openLogin({ state: true });
    /** Starts a login; gives the state that was sent along. */
    async function start(to?: string): Promise<string> {
      const { outcome } = await login.start({ returnTo: to });
      return new URL(String(outcome?.[1])).searchParams.get('state') ?? '';
    }
    return { ...login, start };
  }

  it('sends a random one, another each time', async () => {
    const { start } = open();
    const first = await start();
    expect(first).toMatch(/^[\w-]{20,}$/);
    expect(await start()).not.toBe(first);
  });

  it.each(['/first', '/second'])('tells tabs apart: %s is where its own tab goes', async (path) => {
    const { visit, start } = open();
    const states: Record<string, string> = {};
    for (const to of ['/first', '/second']) states[to] = await start(to);
    const { outcome, to } = await visit({ auth_key: 'k1', state: states[path] });
    expect([outcome, to]).toEqual([success, path]);
  });

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['another', 'x'.repeat(22)],
    ['given twice', ['a', 'b']],
  ])(
    'fails with 403 where it is %s, and spends nothing; used, it fails too',
    async (_name, state) => {
      const { visit, start } = open();
      const sent = await start();
      expect((await visit({ auth_key: 'k1', state })).outcome?.[2]).toBe(403);
      expect((await visit({ auth_key: 'k1', state: sent })).outcome).toEqual(success);
      expect((await visit({ auth_key: 'k2', state: sent })).outcome?.[2]).toBe(403);
    },
  );
});
