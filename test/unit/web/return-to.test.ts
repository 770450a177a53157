import { describe, expect, it, vi } from 'vitest';
import {
  keepPage,
  readReturnTo,
  removeReturnTo,
  returnTo,
  safeReturnTo,
} from '../../../src/web/return-to.js';
import { fakeResponse } from '../../support/fake-response.js';
import { parseSetCookie } from '../../support/set-cookie.js';
import { type OpenLogin, openLogin } from '../../support/strategy-harness.js';

// Where requireLogin stopped a visitor: kept in the session or in a cookie until a login is completed.

const COOKIE = 'marketgate.return_to';

/** Stops a visitor; gives the cookie that was set. */
async function stop(req: object): Promise<string | undefined> {
  const res = fakeResponse();
  await keepPage({ method: 'GET', secure: false, ...req } as never, res);
  return [res.getHeader('Set-Cookie') ?? []].flat().map(String)[0];
}

it.each<[string, object | undefined]>([
  ['is saved', { save: vi.fn((done: () => void) => done()) }],
  ['has no "save", as of cookie-session', undefined],
])('the page is kept in a session that %s', async (_what, methods) => {
  const session: Record<string, unknown> = { ...methods };
  expect(await stop({ originalUrl: '/a?b=c', session })).toBeUndefined();
  expect(session['marketgate:returnTo']).toBe('/a?b=c');
  if (methods) expect(session.save).toHaveBeenCalledTimes(1);
});

it.each([
  ['without a session', {}],
  ['after the end of a cookie-session', { session: null }],
  ['over https', { secure: true }],
])('the page is kept in a cookie for ten minutes: %s', async (_name, more) => {
  expect(parseSetCookie(String(await stop({ originalUrl: '/a?b=c', ...more })))).toEqual({
    ...{ name: COOKIE, value: '/a?b=c', httpOnly: true, sameSite: 'lax', path: '/', maxAge: 600 },
    ...('secure' in more && more),
  });
});

it.each<[string, object]>([
  ['a form', { method: 'POST', originalUrl: '/a' }],
  ['a page elsewhere', { originalUrl: '//evil.example' }],
])('nothing is kept of %s', async (_name, req) => {
  const session = {};
  await stop({ ...req, session });
  expect([session, await stop(req)]).toEqual([{}, undefined]);
});

it.each(['session', 'cookie'])(
  'a page that is too long to be kept in a %s is dropped with the one before it, which the visitor has left',
  async (where) => {
    const long = `/${'b'.repeat(400)}`;
    const save = vi.fn((done: () => void) => done());
    if (where === 'session') {
      const session: Record<string, unknown> = { save };
      for (const originalUrl of [long, '/a', long]) await stop({ originalUrl, session });
      expect(session).toEqual({ save });
      // Nothing was kept at first, and nothing is to be saved then.
      expect(save).toHaveBeenCalledTimes(2);
    } else {
      expect(await stop({ originalUrl: long, headers: {} })).toBeUndefined();
      const line = await stop({ originalUrl: long, headers: { cookie: `${COOKIE}=%2Fa` } });
      expect(parseSetCookie(String(line))).toMatchObject({ name: COOKIE, value: '', maxAge: 0 });
    }
  },
);

describe.each(['session', 'cookie'] as const)('the page, kept in a %s', (where) => {
  /** A browser that was stopped on this page; gives where its login leads. */
  function stoppedOn(page: unknown, options: OpenLogin = {}) {
    const login = openLogin({ where, ...options });
    const { browser, session } = login;
    if (where === 'session') session['marketgate:returnTo'] = page;
    else browser.cookies[COOKIE] = encodeURIComponent(String(page));
    const isKept = () => (session['marketgate:returnTo'] ?? browser.cookies[COOKIE]) !== undefined;
    return { ...login, isKept };
  }

  it.each([
    ['is where the login leads', '/account?tab=2', undefined, '/account?tab=2'],
    ['gives way to what the app wants', '/account', '/welcome', '/welcome'],
    ['stands in for what the app must not have', '/account', '//evil.example', '/account'],
    ['is dropped where it leads elsewhere', '//evil.example', undefined, undefined],
    ['is dropped where it is a number', 7, undefined, undefined],
    ['is dropped where a cookie cannot have it', '%E0%A4%A', undefined, undefined],
  ])('%s, and is not kept after that', async (_what, page, returnTo, to) => {
    const { start, comeBack, isKept } = stoppedOn(page);
    await start({ returnTo });
    expect((await comeBack()).to).toBe(to);
    expect(isKept()).toBe(false);
  });

  it('is where a login leads that is tried again', async () => {
    const exchange = vi.fn(async () => ({ value: 'token', issuedAt: 0, expiresAt: 3_600_000 }));
    const { start, comeBack } = stoppedOn('/account', { api: { exchange } });
    exchange.mockRejectedValueOnce(new Error('no answer'));
    await start();
    await comeBack('k0');
    await start();
    expect((await comeBack('k1')).to).toBe('/account');
  });
});

it.each(['session', 'cookie'])(
  'a page of 200 letters of any script is kept in a %s, and one of 201 is not',
  async (where) => {
    for (const letter of ['a', '\u0436', '\u4e2d', '\u{1f980}']) {
      for (const [count, isKept] of [
        [199, true],
        [200, false],
      ] as const) {
        const path = `/${encodeURIComponent(letter).repeat(count)}`;
        const session = {};
        const line = await stop({
          originalUrl: path,
          headers: {},
          ...(where === 'session' && { session }),
        });
        const cookie = `${COOKIE}=${encodeURIComponent(parseSetCookie(line ?? '=').value)}`;
        const req = where === 'session' ? { session } : { headers: { cookie } };
        expect(readReturnTo(req as never)).toBe(isKept ? path : undefined);
      }
    }
  },
);

it('a page that was not saved is not deleted', () => {
  const res = fakeResponse();
  removeReturnTo({ headers: {} } as never, res);
  expect(res.getHeader('Set-Cookie')).toBeUndefined();
});

it('the page that a visitor was stopped on is where the login of another strategy leads, once', () => {
  const session: object = { 'marketgate:returnTo': '/account', other: 1 };
  expect(returnTo({ session })).toBeUndefined();
  const req = { user: { id: '7' }, session };
  expect([returnTo(req), returnTo(req)]).toEqual(['/account', '/account']);
  expect(session).toEqual({ other: 1 });
  const evil = { 'marketgate:returnTo': '//evil.example' };
  expect(returnTo({ user: req.user, session: evil })).toBeUndefined();
});

it.each(['/', '/a?b=c#top', '/a?to=//b', `/${'x'.repeat(2399)}`])(
  'to return to %s is safe',
  (path) => {
    expect(safeReturnTo(path)).toBe(path);
  },
);

it.each([
  ...['//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example', '///x', '//'],
  ...['https:evil.example', 'https://evil.example', 'javascript:alert(1)', '//here.invalid/x'],
  ...['/.//evil.example', '/a/..//evil.example', 'evil', '', ' /x', '/a\nb', '/a\u0000'],
  ...[`/${'x'.repeat(2400)}`, undefined, null, 7, ['/a'], { a: 1 }],
])('to return to %j is not, and it is dropped', (value) => {
  expect(safeReturnTo(value)).toBeUndefined();
});
