import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { parseSetCookie } from 'cookie';
import { describe, expect, it, vi } from 'vitest';
import { returnTo, safeReturnTo, saveReturnTo } from '../../../src/express/return-to.js';
import { drive, openLogin, STATE_COOKIE } from '../../support/strategy-harness.js';

// Where requireLogin stopped a visitor: kept in the session or in a cookie until a login is completed.

const COOKIE = 'marketgate.return_to';

describe('saveReturnTo', () => {
  /** Stops a visitor; gives the cookie that was set. */
  async function stop(req: object): Promise<string | undefined> {
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    await saveReturnTo({ method: 'GET', secure: false, ...req } as never, res as never);
    const cookies = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
    expect(cookies.length).toBeLessThan(2);
    return cookies[0];
  }

  it('keeps the page in the session, and waits until that is written', async () => {
    const session: Record<string, unknown> = { save: vi.fn((done: () => void) => done()) };
    expect(await stop({ originalUrl: '/a?b=c', session })).toBeUndefined();
    expect(session['marketgate:returnTo']).toBe('/a?b=c');
    expect(session.save).toHaveBeenCalledTimes(1);
  });

  it('does without "save", which cookie-session has not', async () => {
    const session = {};
    await stop({ originalUrl: '/a', session });
    expect(session).toEqual({ 'marketgate:returnTo': '/a' });
  });

  it('rejects when the session cannot be written', async () => {
    const session = { save: (done: (e: Error) => void) => done(new Error('disk full')) };
    await expect(stop({ originalUrl: '/a', session })).rejects.toThrow(/^disk full$/);
  });

  it.each([
    ['http', { secure: false }, false],
    ['http, after the end of a cookie-session', { session: null }, false],
    ['https', { secure: true }, true],
    ['https without Express', { secure: undefined, socket: { encrypted: true } }, true],
  ])('else in a cookie for ten minutes, over %s', async (_name, more, secure) => {
    expect(parseSetCookie(String(await stop({ originalUrl: '/a?b=c', ...more })))).toEqual({
      name: COOKIE,
      value: '/a?b=c',
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      maxAge: 600,
      ...(secure && { secure }),
    });
  });

  it('adds its cookie to those of the app', async () => {
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    res.setHeader('Set-Cookie', 'theme=dark');
    await saveReturnTo({ method: 'GET', url: '/a' } as never, res as never);
    expect(res.getHeader('Set-Cookie')).toEqual(['theme=dark', expect.stringContaining(COOKIE)]);
  });

  it('keeps a path that is too long for a short cookie, once it is encoded, in a session only', async () => {
    const path = (length: number) => `/${'='.repeat(40)}${'a'.repeat(length)}`;
    // With its attributes, this is the longest cookie.
    const longest = String(await stop({ originalUrl: path(87), secure: true }));
    expect(longest.length).toBe(284);
    expect(await stop({ originalUrl: path(88), secure: true })).toBeUndefined();
    const session = {};
    await stop({ originalUrl: path(88), session });
    expect(session).toEqual({ 'marketgate:returnTo': path(88) });
  });

  it.each<[string, object]>([
    ['a form', { method: 'POST', originalUrl: '/a' }],
    ['a HEAD', { method: 'HEAD', originalUrl: '/a' }],
    ['a page elsewhere', { originalUrl: '//evil.example' }],
  ])('keeps nothing of %s', async (_name, req) => {
    expect(await stop(req)).toBeUndefined();
    const session = {};
    await stop({ ...req, session });
    expect(session).toEqual({});
  });
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
    ['is dropped where it is null', null, undefined, undefined],
  ])('%s, and is taken out of the session', async (_what, saved, wanted, to) => {
    expect(await logIn(saved, wanted)).toBe(to);
  });

  it('is taken out of a session that saves only when told, while the attempts are in a cookie', async () => {
    const { start, comeBack } = openLogin({ where: 'cookie' });
    let stored: object = { 'marketgate:returnTo': '/account' };
    const open = () => {
      const data = { ...stored };
      const save = async () => {
        stored = { ...data };
      };
      return Object.defineProperty(data, 'save', { value: save });
    };
    await start({}, { session: open() });
    expect((await comeBack('k1', { session: open() })).to).toBe('/account');
    expect(stored).toEqual({});
    await start({}, { session: open() });
    expect((await comeBack('k2', { session: open() })).to).toBeUndefined();
  });
});

describe('the page that a visitor was stopped on, after the login of another strategy', () => {
  const KEY = 'marketgate:returnTo';
  const user = { id: '7' };

  it('is where that login leads, and leaves the session', () => {
    const req = { user, session: { [KEY]: '/account', other: 1 } };
    expect([returnTo(req), returnTo(req)]).toEqual(['/account', '/account']);
    expect(req.session).toEqual({ other: 1 });
    expect(returnTo({ user, session: req.session })).toBeUndefined();
  });

  it('waits in the session until somebody is logged in', () => {
    const req = { session: { [KEY]: '/account' } };
    expect(returnTo(req)).toBeUndefined();
    expect(req.session).toEqual({ [KEY]: '/account' });
  });

  it('is found by another copy of the package than the strategy is of', () => {
    expect(returnTo({ [Symbol.for('marketgate.returnTo')]: '/account' })).toBe('/account');
  });

  it('is dropped if it leads elsewhere', () => {
    const req = { user, session: { [KEY]: '//evil.example' } };
    expect(returnTo(req)).toBeUndefined();
    expect(req.session).toEqual({});
  });
});

describe('the page that a visitor was stopped on, in a cookie', () => {
  async function logIn(saved: string) {
    const { browser, start, comeBack } = openLogin({ where: 'cookie' });
    browser.cookies[COOKIE] = saved;
    await start();
    const { to } = await comeBack();
    expect(browser.cookies[COOKIE]).toBeUndefined();
    return to;
  }

  it('is where the login leads, and the cookie is cleared', async () => {
    expect(await logIn('%2Faccount%3Ftab%3D2')).toBe('/account?tab=2');
  });

  it.each(['%2F%2Fevil.example', 'https:evil', '', '%E0%A4%A'])(
    '%j is dropped, and cleared as well',
    async (saved) => {
      expect(await logIn(saved)).toBeUndefined();
    },
  );

  it('is not cleared where there is none', async () => {
    const { browser, start, comeBack } = openLogin({ where: 'cookie' });
    await start();
    await comeBack();
    expect(Object.keys(browser.cookies)).toEqual([STATE_COOKIE]);
  });

  it('and a request without a session and a response: the error names express-session', async () => {
    const req = { query: {}, headers: { cookie: `${COOKIE}=%2Faccount` } };
    const [outcome] = await drive(openLogin().strategy, req);
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('express-session');
  });
});

it.each<[string, (login: ReturnType<typeof openLogin>) => Promise<unknown>]>([
  ['is clicked twice', async () => {}],
  ['is tried again after the service did not answer', ({ comeBack }) => comeBack('no answer')],
])(
  'the page that a visitor was stopped on is where a login leads that %s',
  async (_what, meanwhile) => {
    for (const where of ['session', 'cookie'] as const) {
      const exchange = vi.fn(async (authKey: string) => {
        if (authKey === 'no answer') throw new Error(authKey);
        return { value: 'token', issuedAt: 0, expiresAt: 3_600_000 };
      });
      const login = openLogin({ where, api: { exchange } });
      if (where === 'session') login.session['marketgate:returnTo'] = '/account';
      else login.browser.cookies[COOKIE] = '/account';
      await login.start();
      await meanwhile(login);
      await login.start();
      const { outcome, to } = await login.comeBack('k1');
      expect([outcome?.[0], to]).toEqual(['success', '/account']);
    }
  },
);

describe('a path to return to', () => {
  it.each(['/', '/a//', '/a?b=c#top', '/a?to=//b', `/${'x'.repeat(2047)}`])(
    '%s is kept',
    (path) => {
      expect(safeReturnTo(path)).toBe(path);
    },
  );

  it.each([
    ...['//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example', '///x', '//'],
    ...['https:evil.example', 'https://evil.example', 'javascript:alert(1)', '//here.invalid/x'],
    ...['/.//evil.example', '/a/..//evil.example', 'evil', '', ' /x', '/a\nb', '/a\u0000'],
    ...[`/${'x'.repeat(2048)}`, undefined, null, 7, ['/a'], { a: 1 }],
  ])('%j is dropped', (value) => {
    expect(safeReturnTo(value)).toBeUndefined();
  });
});
