import { parseSetCookie } from 'cookie';
import { describe, expect, it, vi } from 'vitest';
import { returnTo, safeReturnTo, saveReturnTo } from '../../../src/express/return-to.js';
import { fakeResponse } from '../../support/fake-response.js';
import { openLogin, STATE_COOKIE } from '../../support/strategy-harness.js';

// Where requireLogin stopped a visitor: kept in the session or in a cookie until a login is completed.

const COOKIE = 'marketgate.return_to';

/** Stops a visitor; gives the cookie that was set. */
async function stop(req: object): Promise<string | undefined> {
  const res = fakeResponse();
  await saveReturnTo({ method: 'GET', secure: false, ...req } as never, res);
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

it('saving the page rejects when the session cannot be written', async () => {
  const session = { save: (done: (e: Error) => void) => done(new Error('disk full')) };
  await expect(stop({ originalUrl: '/a', session })).rejects.toThrow(/^disk full$/);
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

it('a path that is too long for a short cookie, once it is encoded, is kept in a session only', async () => {
  const path = (length: number) => `/${'='.repeat(40)}${'a'.repeat(length)}`;
  // With its attributes, this is the longest cookie.
  expect(String(await stop({ originalUrl: path(87), secure: true })).length).toBe(284);
  expect(await stop({ originalUrl: path(88), secure: true })).toBeUndefined();
  const session = {};
  await stop({ originalUrl: path(88), session });
  expect(session).toEqual({ 'marketgate:returnTo': path(88) });
});

it.each<[string, object]>([
  ['a form', { method: 'POST', originalUrl: '/a' }],
  ['a HEAD', { method: 'HEAD', originalUrl: '/a' }],
  ['a page elsewhere', { originalUrl: '//evil.example' }],
])('nothing is kept of %s', async (_name, req) => {
  expect(await stop(req)).toBeUndefined();
  const session = {};
  await stop({ ...req, session });
  expect(session).toEqual({});
});

describe('the page that a visitor was stopped on, in the session', () => {
  async function logIn(saved: unknown, wanted?: string) {
    const { session, start, comeBack } = openLogin();
    session['marketgate:returnTo'] = saved;
    await start({ returnTo: wanted });
    const { to } = await comeBack();
    expect(session).toEqual({});
    return to;
  }

  it.each([
    ['is where the login leads', '/account', undefined, '/account'],
    ['gives way to what the app wants', '/account', '/welcome', '/welcome'],
    ['stands in for what the app must not have', '/account', '//evil.example', '/account'],
    ['is dropped where it leads elsewhere', '//evil.example', undefined, undefined],
    ['is dropped where it is a number', 7, undefined, undefined],
  ])('%s, and is taken out of the session', async (_what, saved, wanted, to) => {
    expect(await logIn(saved, wanted)).toBe(to);
  });
});

it('the page that a visitor was stopped on is where the login of another strategy leads, once', () => {
  const session: object = { 'marketgate:returnTo': '/account', other: 1 };
  expect(returnTo({ session })).toBeUndefined();
  const req = { user: { id: '7' }, session };
  expect([returnTo(req), returnTo(req)]).toEqual(['/account', '/account']);
  expect(session).toEqual({ other: 1 });
  expect(returnTo({ user: req.user, session })).toBeUndefined();
  const evil = { 'marketgate:returnTo': '//evil.example' };
  expect(returnTo({ user: req.user, session: evil })).toBeUndefined();
});

it('the page is found by another copy of the package than the strategy is of', () => {
  expect(returnTo({ [Symbol.for('marketgate.returnTo')]: '/account' })).toBe('/account');
});

describe('the page that a visitor was stopped on, in a cookie', () => {
  it.each([
    ['%2Faccount%3Ftab%3D2', '/account?tab=2'],
    ['%2F%2Fevil.example', undefined],
    ['%E0%A4%A', undefined],
  ])('as %j leads the login to %j, and the cookie is cleared', async (saved, expected) => {
    const { browser, start, comeBack } = openLogin({ where: 'cookie' });
    browser.cookies[COOKIE] = saved;
    await start();
    expect((await comeBack()).to).toBe(expected);
    expect(browser.cookies[COOKIE]).toBeUndefined();
  });

  it('is not cleared where there is none', async () => {
    const { browser, start, comeBack } = openLogin({ where: 'cookie' });
    await start();
    await comeBack();
    expect(Object.keys(browser.cookies)).toEqual([STATE_COOKIE]);
  });
});

it.each(['session', 'cookie'] as const)(
  'a login that is tried again leads to the page that is saved in the %s',
  async (where) => {
    const exchange = vi.fn(async (authKey: string) => {
      if (authKey === 'no answer') throw new Error(authKey);
      return { value: 'token', issuedAt: 0, expiresAt: 3_600_000 };
    });
    const { session, browser, start, comeBack } = openLogin({ where, api: { exchange } });
    if (where === 'session') session['marketgate:returnTo'] = '/account';
    else browser.cookies[COOKIE] = '/account';
    await start();
    await comeBack('no answer');
    await start();
    const { outcome, to } = await comeBack('k1');
    expect([outcome?.[0], to]).toEqual(['success', '/account']);
  },
);

describe('a path to return to', () => {
  it.each(['/', '/a?b=c#top', '/a?to=//b', `/${'x'.repeat(2047)}`])('%s is kept', (path) => {
    expect(safeReturnTo(path)).toBe(path);
  });

  it.each([
    ...['//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example', '///x', '//'],
    ...['https:evil.example', 'https://evil.example', 'javascript:alert(1)', '//here.invalid/x'],
    ...['/.//evil.example', '/a/..//evil.example', 'evil', '', ' /x', '/a\nb', '/a\u0000'],
    ...[`/${'x'.repeat(2048)}`, undefined, null, 7, ['/a'], { a: 1 }],
  ])('%j is dropped', (value) => {
    expect(safeReturnTo(value)).toBeUndefined();
  });
});
