import { expect, it, vi } from 'vitest';
import { leaveSession, watchLogIn } from '../../../src/web/session.js';

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

it('a login counts also where the session cannot save who has logged in', async () => {
  const req = { logIn: (_user: object, done: () => void) => done() };
  const [done, onEnd] = [vi.fn(), vi.fn()];
  const keep = () => Promise.reject(new Error('down'));
  watchLogIn(req as never, () => req.logIn({ id: '7' }, done), { onEnd, keep });
  await vi.waitFor(() => expect(done).toHaveBeenCalledExactlyOnceWith());
  expect(onEnd).toHaveBeenCalledExactlyOnceWith(undefined);
});
