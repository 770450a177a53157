import { loadUser, MemoryTokenStore, requireAccessToken } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { saveReturnTo } from '../../../src/web/return-to.js';
import { deferred } from '../../support/deferred.js';
import { fakeResponse, runMiddleware } from '../../support/fake-response.js';
import { fakeTimers, later } from '../../support/later.js';
import {
  confirmationOf,
  cookieBrowser,
  isAsked,
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
    const last = { id: expect.any(String), at: 0, ok: true, to: '/api/me', n: 1 };
    const known = expect.stringMatching(/^[\w-]{8}$/);
    if (where === 'session') expect(left).toEqual({ attempts: [], last, known });
    else expect(String(left).length).toBeLessThan(200);
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
    for (const _ of [1, 2, 3]) await start();
    const putCopyBack = keepCopy();
    await comeBack('mine');
    expect((await comeBack('strangers', { user })).recorded).toEqual([['pass']]);
    putCopyBack();
    fakeTimers();
    // Within seconds, a cookie sends the browser to look whether it is logged in.
    const { outcome } = await later(comeBack('strangers'));
    if (outcome?.[0] === 'redirect') {
      const { recorded } = await visit({ marketgate: confirmationOf(outcome) });
      expect(recorded[0]?.[2]).toBe(403);
    } else expect(outcome?.[2]).toBe(403);
    expect(exchanged).toEqual(['mine']);
  });

  it('all end with a login, one that waits for "Continue" too, also when the browser still holds a copy', async () => {
    const { start, comeBack, visit, keepCopy } = open();
    await start({}, { headers: { 'sec-fetch-site': 'cross-site' } });
    const waiting = { marketgate: confirmationOf((await comeBack('k1')).outcome) };
    await start();
    const putCopyBack = keepCopy();
    expect((await comeBack('k2')).outcome).toEqual(success);
    putCopyBack();
    fakeTimers();
    let { outcome } = await later(visit({ ...waiting, answer: 'continue' }));
    if (outcome?.[0] === 'redirect') {
      ({ outcome } = await visit({ marketgate: confirmationOf(outcome) }));
    }
    expect(outcome).toMatchObject(['fail', { code: 'login_failed' }, 403]);
  });

  it('are several, the newest first: a login that fails takes its own alone', async () => {
    let isIn = false;
    const { start, comeBack } = open({ verify: (_input: unknown) => isIn && user });
    for (const returnTo of ['/older', '/newer']) await start({ returnTo });
    expect((await comeBack('k0')).outcome?.[0]).toBe('fail');
    isIn = true;
    expect(await comeBack('k1')).toMatchObject({ outcome: success, to: '/older' });
  });

  it('that begin at one page lead there each: the second where the first has failed', async () => {
    let isIn = false;
    const { start, comeBack } = open({ verify: (_input: unknown) => isIn && user });
    for (let i = 0; i < 2; i++) await start({ returnTo: '/account' });
    expect((await comeBack('k0')).outcome?.[0]).toBe('fail');
    isIn = true;
    expect(await comeBack('k1')).toMatchObject({ outcome: success, to: '/account' });
  });

  it('are five at most', async () => {
    const { start, comeBack } = open({ verify: (_input: unknown) => false });
    for (let i = 0; i < 7; i++) await start();
    for (let i = 0; i < 5; i++) expect((await comeBack(`k${i}`)).outcome?.[2]).toBe(401);
    expect((await comeBack('k5')).outcome?.[2]).toBe(403);
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
      expect((await second.comeBack('k2')).outcome?.[0]).toBe('redirect');
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

it('are five at most in a session, with those that begin while a login runs', async () => {
  const verifying = deferred();
  const verify = async (_input: unknown) => {
    await verifying.promise;
    return false;
  };
  const { start, comeBack, exchanged } = openLogin({ verify });
  const browser = { headers: { cookie: 'sid=1' } };
  await start({}, browser);
  const login = comeBack('k', browser);
  await vi.waitFor(() => expect(exchanged).toEqual(['k']), { timeout: 40_000 });
  for (let i = 0; i < 7; i++) await start({}, browser);
  verifying.resolve();
  await login;
  for (let i = 0; i < 5; i++) expect((await comeBack(`k${i}`)).outcome?.[2]).toBe(401);
  expect((await comeBack('k5')).outcome?.[2]).toBe(403);
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
    expect((await comeBack()).outcome).toEqual(success);
  });

  it('that is set over http does not count over https', async () => {
    const { start, comeBack } = openLogin({ where: 'cookie' });
    await start();
    expect((await comeBack('k1', { secure: true })).outcome?.[2]).toBe(403);
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

  it('they are set once, next to the cookies of the app', async () => {
    const { start, visit, browser } = openLogin({ where: 'cookie' });
    await start();
    const cookie = `${STATE_COOKIE}=${browser.cookies[STATE_COOKIE]}`;
    const res = fakeResponse();
    res.setHeader('Set-Cookie', 'mine=1');
    await visit({ auth_key: 'k1' }, { res, headers: { cookie } });
    const lines = [res.getHeader('Set-Cookie')].flat().map(String);
    expect(lines).toEqual(['mine=1', expect.stringMatching(`^${STATE_COOKIE}=1.*Max-Age=86400`)]);
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
  /** With as many digits as the time has. */
  const NOW = 1e12;
  const long = (n: number) => `/${'\u00fc'.repeat(n)}`;
  const open = (tokenLength: number) => {
    const token = { value: 'x'.repeat(tokenLength), issuedAt: NOW, expiresAt: NOW + HOUR };
    const longName = { user_firstname: long(60), user_name: long(60) };
    return openLogin({
      ...{ where: 'cookie', secure: true, confirm: true, clock: () => NOW },
      api: { exchange: async () => token, getUser: async () => ({ ...userInfo, ...longName }) },
    });
  };

  it('all together, with the page of requireLogin, at most 1,024 bytes with their attributes', async () => {
    const { start, comeBack, browser, visit } = open(100);
    const longest = (lines: string[]) => Math.max(...lines.map(({ length }) => length));
    const stopped = browser.request().res;
    for (let i = 0; i < 300; i++) {
      const req = { method: 'GET', headers: {}, secure: true, originalUrl: `/${'a'.repeat(i)}` };
      await saveReturnTo(req as never, stopped as never);
    }
    const lines: string[] = [];
    for (let i = 0; i < 5; i++) lines.push(...(await comeBack(`early${i}`)).res.lines);
    for (const n of [5, 60, 99, 100, 30, 900, 0]) {
      lines.push(...(await start({ returnTo: long(n) })).res.lines);
    }
    const { res, outcome } = await comeBack('own');
    lines.push(...res.lines);
    const [ofPage, ofLogin] = [longest(stopped.lines), longest(lines)];
    expect(ofPage).toBeGreaterThan(250);
    expect(ofLogin).toBeGreaterThan(600);
    expect(ofPage + ofLogin).toBeLessThanOrEqual(1024);
    const answer = { marketgate: confirmationOf(outcome), answer: 'continue' };
    expect((await visit(answer)).outcome).toEqual(success);
  });

  it.each([
    ['one that fits', [80], long(80)],
    ['the newest of many', [40, 40, 40, 40, 40], long(40)],
    ['none that is too long, while its attempt stays', [400], undefined],
  ])('it keeps of the paths %s', async (_name, lengths, kept) => {
    const { start, comeBack } = openLogin({ where: 'cookie' });
    for (const n of lengths) await start({ returnTo: long(n) });
    expect(await comeBack()).toMatchObject({ outcome: success, to: kept });
  });

  it('a login that waits with a longer token is an error that says what to do', async () => {
    const { start, comeBack } = open(600);
    await start();
    const { outcome } = await comeBack();
    expect(outcome).toEqual(['error', expect.any(Error)]);
    expect(String(outcome?.[1])).toMatch(/access_token is too long .*loginAttempts: 'session'/);
    expect(String(outcome?.[1])).not.toContain('xxx');
  });
});

describe('what a session keeps is short', () => {
  const NOW = 1e12;
  const sizeOf = (session: object): number => {
    const own = Object.entries(session).filter(([key]) => key.startsWith('marketgate:'));
    return Buffer.byteLength(JSON.stringify(Object.fromEntries(own)));
  };
  /** As requireLogin does, on a page with an address of so many letters. */
  const stop = async (session: object, length: number, path = `/${'a'.repeat(length)}`) => {
    const req = { method: 'GET', headers: {}, originalUrl: path, session };
    await saveReturnTo(req as never, fakeResponse());
    return path;
  };

  it('all our keys together are at most 1 kB as JSON, beside an access token that waits', async () => {
    const token = { value: 'x'.repeat(2000), issuedAt: NOW, expiresAt: NOW + HOUR };
    const long = { user_firstname: 'ü'.repeat(99), user_name: 'ü'.repeat(99) };
    const { start, comeBack, session } = openLogin({
      ...{ confirm: true, clock: () => NOW },
      api: { exchange: async () => token, getUser: async () => ({ ...userInfo, ...long }) },
    });
    const sizes: number[] = [];
    for (let i = 0; i < 40; i++) await comeBack(`early${i}`);
    const elsewhere = { headers: { 'sec-fetch-site': 'cross-site' } };
    for (const n of [10, 340, 347, 348, 349, 2000, 200, 347]) {
      await stop(session, n);
      sizes.push(sizeOf(session));
      await start({ returnTo: n === 200 ? `/${'\u{1f980}'.repeat(120)}` : undefined }, elsewhere);
      sizes.push(sizeOf(session));
    }
    // JSON has two bytes for each of these.
    await stop(session, 0, `/${'"'.repeat(340)}`);
    sizes.push(sizeOf(session));
    await stop(session, 347);
    await comeBack('own');
    sizes.push(sizeOf(session) - token.value.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024);
    expect(Math.max(...sizes)).toBeGreaterThan(500);
  });

  it('a long page that requires a login is kept once, and a login that fails and begins again leads there', async () => {
    let isIn = false;
    const { start, comeBack, session } = openLogin({ verify: (_input: unknown) => isIn && user });
    const page = await stop(session, 300);
    const times = () => JSON.stringify(session).split(page).length - 1;
    for (let i = 0; i < 3; i++) {
      expect(times()).toBe(1);
      await start();
    }
    await comeBack('k1');
    expect(times()).toBe(1);
    isIn = true;
    await start();
    expect(await comeBack('k2')).toMatchObject({ outcome: success, to: page });
  });

  it.each(['continue', 'cancel'])(
    'so does one that ends on the page that asks, by %s, and a second answer is told the same',
    async (answer) => {
      let isIn = false;
      const { start, upToThePage, comeBack, visit, session } = openLogin({
        verify: (_input: unknown) => isIn && user,
        confirm: true,
      });
      const page = await stop(session, 300);
      const id = await upToThePage();
      for (let i = 0; i < 2; i++) {
        const { outcome } = await visit({ marketgate: id, answer });
        expect(outcome?.[0]).toBe('fail');
        expect(String(Object(outcome?.[1]).message)).not.toContain('waits for');
      }
      expect(session).not.toHaveProperty(['marketgate:login:marketplace', 'pending']);
      isIn = true;
      await start();
      const again = confirmationOf((await comeBack('k2')).outcome);
      expect(await visit({ marketgate: again, answer: 'continue' })).toMatchObject({
        outcome: success,
        to: page,
      });
    },
  );

  it('a page for which a login that begins has no room, beside one that waits, is where it leads all the same', async () => {
    const long = { user_firstname: 'ü'.repeat(99), user_name: 'ü'.repeat(99) };
    const { start, comeBack, upToThePage, visit, session } = openLogin({
      confirm: true,
      api: { getUser: async () => ({ ...userInfo, ...long }) },
    });
    await upToThePage();
    const page = await stop(session, 347);
    await start();
    expect(JSON.stringify(session).split(page)).toHaveLength(2);
    const marketgate = confirmationOf((await comeBack('k2')).outcome);
    expect(await visit({ marketgate, answer: 'continue' })).toMatchObject({
      outcome: success,
      to: page,
    });
  });

  it('a page that a started login has room for is where it leads', async () => {
    for (const where of ['session', 'cookie'] as const) {
      const { start, comeBack } = openLogin({ where });
      for (const length of [200, 360, 510, 900]) {
        const returnTo = `/${'a'.repeat(length)}`;
        await start({ returnTo });
        expect(await comeBack(`k${length}`, {}, { returnTo })).toMatchObject({ to: returnTo });
      }
    }
  });

  it.each([[['/first', '/second']], [['/first', '/first']]])(
    'two tabs lead each to their own page: %j',
    async (paths) => {
      const { start, comeBack, session } = openLogin({ state: true });
      const states: string[] = [];
      for (const path of paths) {
        await stop(session, 0, path);
        const { outcome } = await start();
        states.push(new URL(String(outcome?.[1])).searchParams.get('state') ?? '');
      }
      expect(await comeBack('k1', { query: { auth_key: 'k1', state: states[0] } })).toMatchObject({
        outcome: success,
        to: '/first',
      });
    },
  );
});

describe.each([
  ['in a session', { where: 'session' }, 330],
  ['in a cookie', { where: 'cookie', secure: true }, 200],
] as const)('what is kept %s, and short,', (_where, where, longest) => {
  const NOW = 1e12;
  const token = { value: 'x'.repeat(90), issuedAt: NOW, expiresAt: NOW + HOUR };
  const long = { user_firstname: '\u00fc'.repeat(60), user_name: '\u00fc'.repeat(60) };

  it('always has room for the login that begins last, also beside one that waits for "Continue"', async () => {
    for (let length = 1; length <= longest; length += 3) {
      const { start, comeBack, visit } = openLogin({
        ...{ ...where, confirm: true, clock: () => NOW },
        api: { exchange: async () => token, getUser: async () => ({ ...userInfo, ...long }) },
      });
      const returnTo = `/${'a'.repeat(length)}`;
      // The second comes after one that has ended, of which something is kept too.
      for (const round of ['a', 'b']) {
        await start({ returnTo });
        expect((await comeBack(`${round}1`)).outcome, returnTo).toSatisfy(isAsked);
        await start({ returnTo: '/b' });
        const { outcome } = await comeBack(`${round}2`);
        expect(outcome, returnTo).toSatisfy(isAsked);
        const answer = { marketgate: confirmationOf(outcome), answer: 'continue' };
        expect((await visit(answer)).outcome).toEqual(success);
      }
    }
  });

  it('has room for two tabs that both ask, also after a login that has ended', async () => {
    const { start, comeBack, visit } = openLogin({
      ...{ ...where, confirm: true, clock: () => NOW },
      api: { exchange: async () => ({ ...token, value: 'x'.repeat(64) }) },
    });
    await start({ returnTo: '/a' });
    const marketgate = confirmationOf((await comeBack('k0')).outcome);
    expect((await visit({ marketgate, answer: 'continue' })).outcome).toEqual(success);
    for (let i = 0; i < 2; i++) await start({ returnTo: `/${'a'.repeat(40)}` });
    for (const key of ['k1', 'k2']) expect((await comeBack(key)).outcome).toSatisfy(isAsked);
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

  it.each(['/first', '/second'])('tells tabs apart: %s is where its own tab goes', async (path) => {
    const { visit, start } = open();
    const states: Record<string, string> = {};
    for (const to of ['/first', '/second']) states[to] = await start(to);
    expect(states[path]).toMatch(/^[\w-]{20,}$/);
    const visited = await visit({ auth_key: 'k1', state: states[path] });
    expect(visited).toMatchObject({ outcome: success, to: path });
  });

  it('is not the value of "Continue", which only the page and the browser know', async () => {
    const { visit, start } = open({ confirm: true });
    const state = await start();
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
