import { expect, it, vi } from 'vitest';
import { leaveSession, reloadSession, saveSession, watchLogIn } from '../../../src/web/session.js';

it('a session of express-session is kept out of a response, with its id', () => {
  const req = { session: { regenerate: () => {} }, sessionID: 'a' };
  leaveSession(req);
  expect(req).toEqual({ session: undefined, sessionID: undefined });
});

it('another session stays, because its middleware writes at the end of the response what it finds', () => {
  const plain = { session: { user: 7 }, sessionID: 'a' };
  leaveSession(plain);
  expect(plain).toEqual({ session: { user: 7 }, sessionID: 'a' });
  // As cookie-session has it, whose setter ends the session.
  const set = vi.fn();
  const req = Object.defineProperty({}, 'session', { get: () => ({ regenerate: () => {} }), set });
  leaveSession(req);
  expect(set).not.toHaveBeenCalled();
});

it('a session whose callback comes soon after its promise has saved', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const saving = saveSession({ save: async (done) => void setTimeout(done, 200) });
  await vi.advanceTimersByTimeAsync(200);
  expect(await saving).toBe('callback');
});

it.each([
  ['whose file is gone', Object.assign(new Error('no such file'), { code: 'ENOENT' })],
  ['that the store does not have', new Error('failed to load session')],
])('a session %s is gone, and not unreadable, as express-session has it', async (_which, error) => {
  expect(await reloadSession({ reload: (done) => done(error) })).toBe('gone');
  expect(await reloadSession({ reload: (done) => done(new Error('down')) })).toBe('unreadable');
});

/** A request whose logins are watched, and what passport's own method was given. */
function watched(succeed: (req: { logIn: Method; login: Method }) => void, keep = async () => {}) {
  const logIn = vi.fn((...given: unknown[]) => {
    const done = given.at(-1);
    if (typeof done === 'function') done();
  });
  const req = { logIn, login: logIn };
  const onEnd = vi.fn();
  watchLogIn(req as never, () => succeed(req), { onEnd, keep });
  return { req, logIn, onEnd };
}
type Method = (...given: unknown[]) => unknown;

it('a login counts also where the session cannot save who has logged in', async () => {
  const done = vi.fn();
  const keep = () => Promise.reject(new Error('down'));
  const { onEnd } = watched((req) => req.logIn({ id: '7' }, done), keep);
  await vi.waitFor(() => expect(done).toHaveBeenCalledExactlyOnceWith(), { timeout: 40_000 });
  expect(onEnd).toHaveBeenCalledExactlyOnceWith(undefined);
});

it('a login ends once: when passport has kept it, or at once where the app logs in later', async () => {
  const [done, user] = [vi.fn(), { id: '7' }];
  const { onEnd } = watched((req) => req.login(user, done));
  expect(onEnd).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(done).toHaveBeenCalledTimes(1), { timeout: 40_000 });
  expect(onEnd).toHaveBeenCalledTimes(1);
  const later = watched(() => {});
  expect(later.onEnd).toHaveBeenCalledTimes(1);
  later.req.logIn(user, done);
  await vi.waitFor(() => expect(done).toHaveBeenCalledTimes(2), { timeout: 40_000 });
  expect(later.onEnd).toHaveBeenCalledTimes(1);
});

it('a login without a callback, which passport keeps in no session, is left to passport', () => {
  const given = [{ id: '7' }, { session: false }];
  const { logIn } = watched((req) => req.logIn(...given));
  expect(logIn).toHaveBeenCalledExactlyOnceWith(...given);
});
