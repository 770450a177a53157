import type { Request } from 'express';
import { Passport } from 'passport';
import { describe, expect, it, vi } from 'vitest';
import { canRegenerate, type Session, sessionOf, withLogIn } from '../../../src/express/session.js';

const user = { id: '77' };

/** With methods that are not enumerable, as those of iron-session are. */
const sessionWith = (methods: object, data: object = {}): Session =>
  Object.defineProperties(
    { ...data },
    Object.fromEntries(Object.entries(methods).map(([name, value]) => [name, { value }])),
  );

/** A request on which passport has put its methods. @param isKoa its session is a getter and setter. */
function requestWith(session: unknown, isKoa = false): Request {
  const passport = new Passport();
  passport.serializeUser((it, done) => done(null, it));
  const req = {};
  const koa = { get: () => session, set: () => {} };
  Object.defineProperty(req, 'session', isKoa ? koa : { value: session, writable: true });
  passport.initialize()(req as never, {} as never, () => {});
  return req as Request;
}

const save = async (): Promise<void> => {};
const nothing = (): void => {};
const regenerate = (done: () => void): void => done();

it.each<[string, object, boolean, boolean]>([
  ['with no methods', {}, false, false],
  ['that regenerates', { regenerate }, false, true],
  ['that regenerates, of Koa', { regenerate }, true, true],
  ['like iron-session', { save, destroy: save }, false, true],
  ['like iron-session, of Koa', { save, destroy: save }, true, false],
  ['that can only be saved', { save }, false, false],
  ['with an id and no regenerate', { save, id: 'a' }, false, false],
])('a session %s', (_name, methods, isKoa, expected) => {
  const session = sessionWith(methods);
  expect(canRegenerate(requestWith(session, isKoa), session)).toBe(expected);
});

describe('req.logIn', () => {
  const logIn = (req: Request, ...options: object[]): Promise<unknown> =>
    new Promise((resolve) => Reflect.apply(req.logIn, req, [user, ...options, resolve]));

  it('empties a session like iron-session, and gives it back', async () => {
    const session = sessionWith({ save }, { old: 1 });
    const req = requestWith(session);
    withLogIn(req, nothing, nothing);
    expect(await logIn(req, {})).toBeUndefined();
    expect(sessionOf(req)).toBe(session);
    expect({ ...session }).toEqual({ passport: { user } });
  });

  it('without a session fails as passport does, and without a callback keeps no login', async () => {
    const req = requestWith(undefined);
    withLogIn(req, nothing, nothing);
    expect(String(await logIn(req))).toContain('Login sessions require session support');
    const session = sessionWith({ save });
    const other = requestWith(session);
    withLogIn(other, nothing, nothing);
    Reflect.apply(other.logIn, other, [user, { session: false }]);
    await new Promise(setImmediate);
    expect([other.user, { ...session }]).toEqual([user, {}]);
  });

  it('is none when regenerate rejects with nothing', async () => {
    const req = requestWith(sessionWith({ save, regenerate: () => Promise.reject(undefined) }));
    withLogIn(req, nothing, nothing);
    expect(await logIn(req)).toBeInstanceOf(Error);
    expect(req.session).not.toHaveProperty('passport');
  });

  it('calls each callback once, also one that throws', async () => {
    const next = vi.fn();
    const thrown = new Error('of the app');
    const passportsCallback = vi.fn(() => {
      throw thrown;
    });
    const req = Object.assign(requestWith(sessionWith({ save })), { next });
    withLogIn(req, nothing, nothing);
    Reflect.apply(req.logIn, req, [user, passportsCallback]);
    await vi.waitFor(() => expect(next).toHaveBeenCalledExactlyOnceWith(thrown));
    expect(passportsCallback).toHaveBeenCalledOnce();
  });

  it('of Koa gets the session as it is', async () => {
    const session = sessionWith({ regenerate, save: regenerate });
    const req = requestWith(session, true);
    withLogIn(req, nothing, nothing);
    expect(await logIn(req)).toBeUndefined();
    expect({ ...session }).toEqual({ passport: { user } });
  });
});
