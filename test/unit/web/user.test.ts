import { expect, it } from 'vitest';
import { identityOf } from '../../../src/web/user.js';

const inSession = (user: unknown, key = 'passport') => ({ session: { [key]: { user } } });

it.each<[string, object, object, same: boolean]>([
  ['one user, whatever the app reads', inSession('7'), { ...inSession('7'), user: {} }, true],
  ['two users', inSession('7'), inSession('8'), false],
  ['the users 0 and 1', inSession(0), inSession(1), false],
  ['users in objects', inSession({ ID: 7 }), inSession({ ID: 8 }), false],
  ['two users without a session', { user: { id: 7 } }, { user: { id: 8 } }, false],
])('users are told apart by what passport serialized, or else by id: %s', (...row) => {
  const [, one, other, same] = row;
  expect(identityOf(one) === identityOf(other)).toBe(same);
});

it('a user is found where the app has told passport to put it', () => {
  const elsewhere = { _userProperty: 'account', account: { id: 7 } };
  expect(identityOf(elsewhere)).toBe(identityOf({ user: { id: 7 } }));
  const ofAnotherKey = { _sessionManager: { _key: 'login' }, ...inSession('7', 'login') };
  expect(identityOf(ofAnotherKey)).toBe(identityOf(inSession('7')));
});

it.each([{}, { session: {} }, { user: null }, inSession(undefined), inSession('')])(
  'nobody is logged in with %j',
  (req) => {
    expect(identityOf(req)).toBeUndefined();
  },
);
