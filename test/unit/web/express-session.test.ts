import { expect, it, vi } from 'vitest';
import { leaveSession, saveSession } from '../../../src/web/express-session.js';

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
