import { describe, expect } from 'vitest';
import { exchange, it, newAuthKey, newToken, start, userInfo } from './support.js';

/** A clock that stands still, for tests of the last millisecond. */
const NOW = Date.UTC(2027, 0, 1);

const OTHER_APP = { app_id: '55409216', app_secret: '0f6a92c7d85b41e3a7c9306d1be852f4' };

describe('auth_key', () => {
  it('is not spent by wrong fields nor by another app', async ({ running }) => {
    const authKey = newAuthKey(running);
    for (const [fields, fault] of [
      [{ app_id: 'nope' }, 'invalid app_id'],
      [{ app_id: '' }, 'invalid app_id'],
      [{ app_secret: 'nope' }, 'invalid app_secret'],
      [{ auth_key: 'nope' }, 'invalid auth_key'],
      [{ auth_key: '' }, 'invalid auth_key'],
      [OTHER_APP, 'invalid auth_key'],
    ] as [Record<string, string>, string][]) {
      const { status, body } = await exchange(running, authKey, fields);
      expect([status, body]).toEqual([200, { error: true, message: `Bad Request, ${fault}` }]);
    }
    expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
  });

  it('is one per app and user: a second login makes the first key invalid', async ({ running }) => {
    const first = newAuthKey(running, '3001');
    const second = newAuthKey(running, '3001');
    const otherUser = newAuthKey(running, '3002');
    expect((await exchange(running, first)).body).not.toHaveProperty('access_token');
    expect((await exchange(running, second)).body).toHaveProperty('access_token');
    expect((await exchange(running, otherUser)).body).toHaveProperty('access_token');
  });

  it('is valid for ten minutes', async () => {
    const running = await start({ clock: () => NOW });
    const inTime = newAuthKey(running, '3001');
    const late = newAuthKey(running, '3002');
    running.sandbox.clock.advance(10 * 60_000 - 1);
    expect((await exchange(running, inTime)).body).toHaveProperty('access_token');
    running.sandbox.clock.advance(1);
    expect((await exchange(running, late)).body.message).toBe('Bad Request, invalid auth_key');
  });
});

it('an access_token can be missing, revoked, its user gone; others stay valid', async ({
  running,
}) => {
  const revoked = await newToken(running, '3001');
  const [newer, orphan] = [await newToken(running, '3001'), await newToken(running, '3002')];
  expect(newer).not.toBe(revoked);
  running.sandbox.data.revokeToken(revoked);
  running.sandbox.data.removeUser('3002');
  for (const query of ['', '?access_token=', '?access_token=nope', `?access_token=${revoked}`]) {
    const { status, body } = await running.get(`/api/get_user_info${query}`);
    expect(status).toBe(200);
    expect(body).toEqual({ error: true, message: 'Bad Request, invalid access_token' });
  }
  expect((await userInfo(running, orphan)).text).toBe('[]');
  expect((await userInfo(running, newer)).body).toHaveProperty('user_info');
});
