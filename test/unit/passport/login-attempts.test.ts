import { loadUser, MemoryTokenStore, requireAccessToken } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import {
  STATE_COOKIE,
  STATE_KEY,
  longSecret,
  type OpenLogin,
  openLogin,
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

  it('say no more than they must, and old ones make room', async () => {
    let now = 0;
    const { start, browser, session } = open({ clock: () => now });
    for (now of [0, 600_000]) await start();
    const [payload = ''] = (browser.cookies[STATE_COOKIE] ?? '').split('.');
    const held = where === 'session' ? session[STATE_KEY] : JSON.parse(atob(payload));
    expect(held).toStrictEqual([{ id: expect.stringMatching(/^[\w-]{22}$/), startedAt: 600_000 }]);
  });

  it('are used once, also when the browser still holds a copy', async () => {
    const { start, comeBack, browser, session, exchanged } = open();
    await start();
    const copy = { ...session };
    const cookies = { ...browser.cookies };
    await comeBack('k1');
    Object.assign(session, copy);
    Object.assign(browser.cookies, cookies);
    expect((await comeBack('k2')).outcome?.[2]).toBe(403);
    expect(exchanged).toEqual(['k1']);
    // The refused callback has not spent its auth_key.
    await start();
    expect((await comeBack('k2')).outcome).toEqual(success);
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

  it('end with a login: a stranger’s callback finds none', async () => {
    const { start, comeBack, exchanged } = open();
    for (let i = 0; i < 3; i++) await start();
    await comeBack('mine');
    expect((await comeBack('strangers', { user })).recorded).toEqual([['pass']]);
    expect(exchanged).toEqual(['mine']);
  });

  it('end with a login, also when the browser still holds a copy of them', async () => {
    const { start, comeBack, browser, session, exchanged } = open();
    for (let i = 0; i < 3; i++) await start();
    const copies = [structuredClone(session), { ...browser.cookies }];
    await comeBack('mine');
    Object.assign(session, copies[0]);
    Object.assign(browser.cookies, copies[1]);
    expect((await comeBack('strangers')).outcome?.[2]).toBe(403);
    expect(exchanged).toEqual(['mine']);
  });

  it('are five at most, the newest first: a login that fails takes its own alone', async () => {
    let isIn = false;
    const { start, comeBack } = open({ verify: (_input: unknown) => isIn && user });
    for (let i = 0; i < 7; i++) await start();
    for (let i = 0; i < 5; i++) expect((await comeBack(`k${i}`)).outcome?.[2]).toBe(401);
    expect((await comeBack('k5')).outcome?.[2]).toBe(403);
    for (const returnTo of ['/older', '/newer']) await start({ returnTo });
    isIn = true;
    expect((await comeBack('k6')).to).toBe('/newer');
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
      expect((await one({ auth_key: 'k1' }))?.[0]).toBe('success');
      expect((await other({ auth_key: 'k1' }))?.[0]).toBe('success');
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
    ['text', 'x'],
    ['a number for an id', { id: 7, startedAt: 0 }],
    ['no id', { startedAt: 0 }],
    ['text for the start', { id: 'a', startedAt: '0' }],
    ['no start', { id: 'a' }],
    ['one that waits for a "Continue"', { id: 'a', startedAt: 0, isConfirmation: true }],
  ])('%s is no attempt for a callback, and nothing is saved', async (_name, held) => {
    const { comeBack, session, exchanged } = openLogin();
    const save = vi.fn((done: () => void) => done());
    Object.assign(session, { [STATE_KEY]: [held], save });
    expect((await comeBack()).outcome?.[2]).toBe(403);
    expect([exchanged, save.mock.calls.length]).toEqual([[], 0]);
  });

  it('one that is in order among rubbish is used', async () => {
    const { comeBack, session } = openLogin();
    session[STATE_KEY] = [null, { id: 'a', startedAt: 0 }, 7];
    expect((await comeBack()).outcome).toEqual(success);
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
      expires: expect.any(Date),
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
    ['three parts', () => 'a.b.c'],
    ['percent signs', () => '%E0%A4%A'],
    ['no signature', (value) => value.replace(/\..*/, '.')],
    [
      'another id',
      (value) => value.replace(/^[^.]+/, (p) => btoa(atob(p).replace(/"id":"./, '"id":"_'))),
    ],
    ['another signature', (value) => value.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['something after the signature', (value) => `${value}.`],
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

  it('a callback that finds none sets no cookie', async () => {
    const { res } = await openLogin({ where: 'cookie' }).comeBack();
    expect(res.attributes).toEqual({});
  });

  it('a request without a response is an error that says so', async () => {
    const { outcome } = await openLogin({ where: 'cookie' }).start({}, { res: undefined });
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('no response');
  });

  it.each([
    ['five long paths', ['0', '1', '2', '3', '4'].map((c) => `/${c.repeat(1500)}`), 4],
    ['two that are too long for both', ['a', 'b'].map((c) => `/${c.repeat(2000)}`), 1],
    ['one that is too long for a cookie', [`/${'\u00fc'.repeat(1800)}`], undefined],
  ])('%s fit, and the newest keeps what it can', async (_name, paths, kept) => {
    const { start, comeBack, browser } = openLogin({ where: 'cookie' });
    for (const returnTo of paths) await start({ returnTo });
    expect(browser.cookies[STATE_COOKIE]?.length).toBeLessThan(4000);
    const { outcome, to } = await comeBack();
    expect([outcome?.[0], to]).toEqual(['success', kept === undefined ? undefined : paths[kept]]);
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
