import { expect, it, vi } from 'vitest';
import { leaveSession, type Session, saveSession } from '../../../src/web/express-session.js';

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

it('a session whose save gives a promise has saved with its callback, which can follow soon', async () => {
  const save: Session['save'] = async (done) => void setImmediate(done);
  expect(await saveSession({ save })).toBe('callback');
});
