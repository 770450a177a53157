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
    await start({ returnTo: '/api/me' });
    expect(await comeBack()).toMatchObject({ recorded: [success], to: '/api/me' });
    expect([session, browser.cookies[STATE_COOKIE]]).toEqual([{}, undefined]);
  });

  it.each([
    ['just before ten minutes', 599_999, 'success'],
    ['after ten minutes', 600_000, 'fail'],
    ['in a process whose clock is five minutes behind', -300_000, 'success'],
    ['when the clock was set back by more', -300_001, 'fail'],
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

  it('are five at most, the newest first: a login that fails takes its own alone', async () => {
    let isIn = false;
    const { start, comeBack, exchanged } = open({ verify: (_input: unknown) => isIn && user });
    for (let i = 0; i < 5; i++) await start();
    for (const returnTo of ['/older', '/newer']) await start({ returnTo });
    for (let i = 0; i < 2; i++) {
      isIn = i === 1;
      const { outcome, to } = await comeBack(`k${i}`);
      expect([outcome?.[0], to]).toEqual(isIn ? ['success', '/older'] : ['fail', undefined]);
    }
    const login = open({ verify: (_input: unknown) => false });
    for (let i = 0; i < 7; i++) await login.start();
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await login.comeBack(`k${i}`)).outcome?.[2]);
    expect([statuses, exchanged.length]).toEqual([[401, 401, 401, 401, 401, 403], 2]);
  });

  describe('of two strategies', () => {
    const LOGIN_URLS = ['a', 'b'].map((app) => `https://market.example/api/oauth?app_id=${app}`);
    /** Two strategies in one browser, with one token store. @param isRenamed the names are set on the strategies. */
    function two(names: (string | undefined)[], urls: string[] = [], isRenamed = false) {
      const claimed = new Set<string>();
      const tokenStore = Object.assign(new MemoryTokenStore({ clock: () => 0 }), {
        claim: async (name: string) => !claimed.has(name) && Boolean(claimed.add(name)),
      });
      const [first, second] = names.map((name, i) => {
        const token = { value: `token of ${i}`, issuedAt: 0, expiresAt: 3_600_000 };
        const loginUrl = urls[i];
        const api = { ...(loginUrl && { loginUrl: () => loginUrl }), exchange: async () => token };
        const options = { tokenStore, api, confirm: false };
        if (!isRenamed) return open({ name, ...options });
        const login = open(options);
        login.strategy.name = name ?? 'marketplace';
        return login;
      }) as [ReturnType<typeof open>, ReturnType<typeof open>];
      const share = async (login: typeof first, query: object) => {
        const { outcome } = await login.visit(
          query,
          where === 'session' ? { session: first.session } : {},
        );
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

    it.each<[string, (string | undefined)[], string[], isRenamed?: boolean]>([
      ['names', [undefined, 'images'], []],
      ['names that the app has set later', [undefined, 'images'], [], true],
      ['names that a cookie cannot have', ['a b', 'a_b'], []],
      ['names of other letters', ['füße', 'f__e'], []],
      ['services, registered under names of passport’s', [undefined, undefined], LOGIN_URLS],
    ])('with two %s are two, and so are their auth_keys', async (_name, ...given) => {
      const { one, other } = two(...given);
      await one();
      expect((await other({ auth_key: 'k1' }))?.[2]).toBe(403);
      await other();
      expect((await one({ auth_key: 'k2' }))?.[0]).toBe('success');
      expect((await other({ auth_key: 'k2' }))?.[0]).toBe('redirect');
    });

    it.each([
      ['two', false],
      ['two, when the app has set the name later,', true],
    ])('have %s tokens of the same user_id, and the middleware finds each', async (...row) => {
      const { one, other, tokenStore } = two([undefined, 'images'], [], row[1]);
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
        const guards = [
          loadUser({ getUser }, { tokenStore, strategy }),
          requireAccessToken({ tokenStore, strategy, clock: () => 0 }),
        ];
        for (const guard of guards) {
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
    ['null', null],
    ['a number', 7],
    ['text', 'x'],
    ['JSON of something else', '{"a":1}'],
    ['a list of something else', '[7]'],
  ])('%s counts as nothing', async (_name, held) => {
    const { start, comeBack, session, exchanged } = openLogin();
    session[STATE_KEY] = held;
    expect((await comeBack()).outcome?.[2]).toBe(403);
    session[STATE_KEY] = held;
    await start();
    expect((await comeBack('k2')).outcome).toEqual(success);
    expect(exchanged).toEqual(['k2']);
  });

  it('is saved once for the start and once for the callback', async () => {
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
  ])('are HttpOnly and SameSite=Lax over %s', async (_name, secure, name) => {
    const { start, comeBack } = openLogin({ where: 'cookie', secure });
    expect((await start()).res.attributes[name]).toEqual({
      name,
      value: expect.any(String),
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      maxAge: 600,
      ...(secure && { secure }),
    });
    expect((await comeBack()).outcome).toEqual(success);
  });

  it('that was set over http do not count over https', async () => {
    const plain = openLogin({ where: 'cookie' });
    await plain.start();
    const secure = openLogin({ where: 'cookie', secure: true });
    Object.assign(secure.browser.cookies, plain.browser.cookies);
    expect((await secure.comeBack()).outcome?.[2]).toBe(403);
  });

  it.each([
    ['the old secret', ['new', 'old'], 'success'],
    ['an unknown one', ['another'], 'fail'],
  ])('signed with %s: %s', async (_name, names, expected) => {
    const secrets = (which: string[]) => ({
      loginAttempts: { cookieSecret: which.map(longSecret) },
    });
    const before = openLogin({ where: 'cookie', ...secrets(['old']) });
    await before.start();
    const after = openLogin({ where: 'cookie', ...secrets(names) });
    Object.assign(after.browser.cookies, before.browser.cookies);
    expect((await after.comeBack()).outcome?.[0]).toBe(expected);
  });

  it.each<[string, (value: string) => string]>([
    ['nothing', () => ''],
    ['rubbish', () => 'rubbish'],
    ['percent signs', () => '%E0%A4%A'],
    ['another beginning', (value) => value.replace(/^./, (it) => (it === 'A' ? 'B' : 'A'))],
    ['another end', (value) => value.replace(/..$/, (it) => (it === 'AA' ? 'BA' : 'AA'))],
    ['something more', (value) => `${value}.`],
    ['padding', (value) => `${value}=`],
    ['its end cut off', (value) => value.slice(0, 30)],
  ])('with %s are none', async (_name, change) => {
    const { start, comeBack, browser, exchanged } = openLogin({ where: 'cookie' });
    await start();
    browser.cookies[STATE_COOKIE] = change(browser.cookies[STATE_COOKIE] ?? '');
    expect((await comeBack()).outcome?.[2]).toBe(403);
    expect(exchanged).toEqual([]);
  });

  it('of one strategy under the name of another’s cookie are none', async () => {
    const [one, two] = ['one', 'two'].map((name) => openLogin({ where: 'cookie', name }));
    await one?.start();
    await two?.start();
    const [signed] = Object.values(one?.browser.cookies ?? {});
    const cookies = two?.browser.cookies ?? {};
    for (const name of Object.keys(cookies)) cookies[name] = signed;
    expect((await two?.comeBack())?.outcome?.[2]).toBe(403);
  });

  it('a request without a response is an error that says so', async () => {
    const { outcome } = await openLogin({ where: 'cookie' }).start({}, { res: undefined });
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('no response');
  });

  describe('are short', () => {
    /** With as many digits as the time has. */
    const NOW = 1e12;
    const long = (n: number) => `/${'\u00fc'.repeat(n)}`;
    const token = (length: number) => ({
      value: 'x'.repeat(length),
      issuedAt: NOW,
      expiresAt: NOW + 3_600_000,
    });
    const open = (exchange = async () => token(100)) =>
      openLogin({
        where: 'cookie',
        secure: true,
        confirm: true,
        clock: () => NOW,
        api: {
          exchange,
          getUser: async () => ({ ...userInfo, user_firstname: long(60), user_name: long(60) }),
        },
      });

    it('all together, with the page of requireLogin, at most 1,024 bytes with their attributes', async () => {
      const { start, comeBack, browser, visit } = open();
      const req = { method: 'GET', headers: {}, secure: true };
      let most = 0;
      for (let i = 0; i < 300; i++) {
        const { res } = browser.request();
        const lines: string[] = [];
        const setHeader = (_name: string, value: string[]) => void lines.push(...value);
        const stopped = { ...req, originalUrl: `/${'a'.repeat(i)}` };
        await saveReturnTo(stopped as never, { ...res, setHeader } as never);
        most = Math.max(most, ...lines.map(({ length }) => length));
      }
      const lengths: number[] = [];
      const lengthOf = (res: { lines: string[] }) =>
        lengths.push(...res.lines.map((it) => it.length));
      for (let i = 0; i < 5; i++) lengthOf((await comeBack(`early${i}`)).res);
      for (const n of [5, 60, 99, 100, 30, 900, 0]) {
        lengthOf((await start({ returnTo: long(n) })).res);
      }
      const { res, outcome } = await comeBack('own');
      lengthOf(res);
      expect(lengths).toHaveLength(5 - 1 + 7 + 2);
      expect(most).toBeGreaterThan(250);
      expect(most + Math.max(...lengths)).toBeLessThanOrEqual(1024);
      const confirm = String(outcome?.[1]).split('=')[1];
      expect((await visit({ confirm, answer: 'continue' })).outcome).toEqual(success);
    });

    it.each([
      ['one that fits', [80], long(80)],
      ['the newest of many', [40, 40, 40, 40, 40], long(40)],
      ['none that is too long, while its attempt stays', [101], undefined],
    ])('keep of the paths %s', async (_name, lengths, kept) => {
      const { start, comeBack } = openLogin({ where: 'cookie' });
      for (const n of lengths) await start({ returnTo: long(n) });
      const { outcome, to } = await comeBack();
      expect([outcome, to]).toEqual([success, kept]);
    });

    it('and a login that waits with a longer token is an error that says what to do', async () => {
      const { start, comeBack } = open(async () => token(600));
      await start();
      const { outcome } = await comeBack();
      expect(outcome?.[0]).toBe('error');
      expect(String(outcome?.[1])).toMatch(/access_token is too long .*loginAttempts: 'session'/);
      expect(String(outcome?.[1])).not.toContain('xxx');
    });
  });

  it('shows nothing of a login that waits', async () => {
    const { upToThePage, browser } = openLogin({ where: 'cookie', confirm: true });
    await upToThePage();
    const bytes = Buffer.from(browser.cookies[STATE_COOKIE] ?? '', 'base64url').toString('latin1');
    for (const secret of ['token-1', 'mira', '77']) expect(bytes).not.toContain(secret);
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
    ['empty', ''],
    ['given twice', ['a', 'b']],
  ])('%s: 403, and nothing is spent', async (_name, state) => {
    const { visit, start } = open();
    const sent = await start();
    expect((await visit({ auth_key: 'k1', state })).outcome?.[2]).toBe(403);
    expect((await visit({ auth_key: 'k1', state: sent })).outcome).toEqual(success);
  });

  it('of a used attempt is not accepted again', async () => {
    const { visit, start } = open();
    const state = await start();
    await visit({ auth_key: 'k1', state });
    expect((await visit({ auth_key: 'k2', state })).outcome?.[2]).toBe(403);
  });
});

it.each(['', 7])('the middleware refuse %j for a strategy', (strategy) => {
  const options = { tokenStore: new MemoryTokenStore(), strategy } as never;
  expect(() => requireAccessToken(options)).toThrow(/"strategy"/);
  expect(() => loadUser({ getUser: async () => userInfo }, options)).toThrow(/"strategy"/);
});

it('a response sets the cookie of the attempts once, and keeps the cookies of the app', async () => {
  const { start, visit, browser } = openLogin({ where: 'cookie' });
  await start();
  const cookie = `${STATE_COOKIE}=${browser.cookies[STATE_COOKIE]}`;
  const res = fakeResponse();
  res.setHeader('Set-Cookie', 'mine=1');
  await visit({ auth_key: 'k1' }, { res, headers: { cookie } });
  const lines = [res.getHeader('Set-Cookie')].flat().map(String);
  expect(lines).toEqual(['mine=1', expect.stringContaining(`${STATE_COOKIE}=; Max-Age=0`)]);
});
