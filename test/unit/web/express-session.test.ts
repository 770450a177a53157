import { expect, it, vi } from 'vitest';
import { leaveSession, type Session, saveSession } from '../../../src/web/express-session.js';
import { fakeTimers, later } from '../../support/later.js';

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

it.each<[string, Session]>([
  ['callback', { save: async (done) => void setTimeout(done, 200) }],
  ['promise', { save: async () => {} }],
])('a session has saved by its %s, which the callback can follow soon', async (by, session) => {
  fakeTimers();
  expect(await later(saveSession(session))).toBe(by);
});
