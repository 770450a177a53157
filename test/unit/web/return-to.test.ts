import { expect, it, vi } from 'vitest';
import {
  keepPage,
  readReturnTo,
  removeReturnTo,
  returnTo,
  safeReturnTo,
} from '../../../src/web/return-to.js';
import { fakeResponse } from '../../support/fake-response.js';
import { openLogin } from '../../support/strategy-harness.js';

// Where requireLogin stopped a visitor: kept in the session or in a cookie until a login is completed.

const COOKIE = 'marketgate.return_to';
const KEY = 'marketgate:returnTo';

/** Stops a visitor; gives the cookie that was set. */
async function stop(req: object) {
  const res = fakeResponse();
  await keepPage({ method: 'GET', secure: false, headers: {}, ...req } as never, res);
  return [res.getHeader('Set-Cookie')].flat()[0];
}

it.each<[string, object]>([
  ['is saved', { save: vi.fn((done: () => void) => done()) }],
  ['has no "save", as of cookie-session', {}],
])('the page is kept in a session that %s', async (_what, methods) => {
  const session: Record<string, unknown> = { ...methods };
  expect(await stop({ originalUrl: '/a?b=c', session })).toBeUndefined();
  expect(session[KEY]).toBe('/a?b=c');
  if (session.save) expect(session.save).toHaveBeenCalledTimes(1);
});

it('the page is kept in a cookie for ten minutes where there is no session, or it has ended', async () => {
  const kept = `${COOKIE}=%2Fa%3Fb%3Dc; Max-Age=600; Path=/; HttpOnly`;
  const req = { originalUrl: '/a?b=c', session: null };
  expect(await stop(req)).toBe(`${kept}; SameSite=Lax`);
  expect(await stop({ ...req, secure: true })).toBe(`${kept}; Secure; SameSite=Lax`);
});

it.each<[string, object]>([
  ['a form', { method: 'POST', originalUrl: '/a' }],
  ['a page elsewhere', { originalUrl: '//evil.example' }],
])('nothing is kept of %s', async (_name, req) => {
  const session = {};
  expect([await stop({ ...req, session }), await stop(req)]).toEqual([undefined, undefined]);
  expect(session).toEqual({});
});

it.each(['a', '\u4e2d', '\u{1f980}'])(
  'a page of 200 letters is kept, of any script: %s; a longer one is dropped, with the one before it',
  async (letter) => {
    const path = `/${encodeURIComponent(letter).repeat(199)}`;
    for (const more of ['x', 'x'.repeat(3000)]) {
      const session = {};
      await stop({ originalUrl: path, session });
      expect(readReturnTo({ session } as never)).toBe(path);
      await stop({ originalUrl: path + more, session });
      expect(session).toEqual({});
    }

    const headers = { cookie: await stop({ originalUrl: path }) };
    expect(readReturnTo({ headers } as never)).toBe(path);
    expect(await stop({ originalUrl: `${path}x` })).toBeUndefined();
    expect(await stop({ originalUrl: `${path}x`, headers })).toContain(`${COOKIE}=; Max-Age=0;`);
  },
);

it.each<['session' | 'cookie', page: unknown, wanted: string | undefined, to: string | undefined]>([
  ['session', '/account?tab=2', undefined, '/account?tab=2'],
  ['cookie', '/account?tab=2', undefined, '/account?tab=2'],
  ['session', '/account', '/welcome', '/welcome'],
  ['session', '/account', '//evil.example', '/account'],
  ['session', 7, undefined, undefined],
  ['session', '//evil.example', undefined, undefined],
  ['cookie', '//evil.example', undefined, undefined],
  ['cookie', '%E0%A4%A', undefined, undefined],
])(
  'the page that the %s keeps, %j, where the app wants %j: the login leads to %j, once',
  async (...row) => {
    const [where, page, wanted, to] = row;
    const exchange = vi.fn(async () => ({ value: 'token', issuedAt: 0, expiresAt: 3_600_000 }));
    const { browser, session, start, comeBack } = openLogin({ where, api: { exchange } });
    if (where === 'session') session[KEY] = page;
    else browser.cookies[COOKIE] = encodeURIComponent(String(page));
    // Also by a login that is tried again.
    exchange.mockRejectedValueOnce(new Error('no answer'));
    await start({ returnTo: wanted });
    await comeBack('k0');
    await start({ returnTo: wanted });
    expect((await comeBack('k1')).to).toBe(to);
    expect([session[KEY], browser.cookies[COOKIE]]).toEqual([undefined, undefined]);
  },
);

it('a page that was not saved is not deleted', () => {
  const res = fakeResponse();
  removeReturnTo({ headers: {} } as never, res);
  expect(res.getHeader('Set-Cookie')).toBeUndefined();
});

it('the page that a visitor was stopped on is where the login of another strategy leads, once', () => {
  const session: object = { [KEY]: '/account', other: 1 };
  expect(returnTo({ session })).toBeUndefined();
  const req = { user: { id: '7' }, session };
  expect([returnTo(req), returnTo(req)]).toEqual(['/account', '/account']);
  expect(session).toEqual({ other: 1 });
  expect(returnTo({ user: req.user, session: { [KEY]: '//evil.example' } })).toBeUndefined();
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
