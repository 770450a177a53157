import { expect, it } from 'vitest';
import { identityOf } from '../../../src/web/user.js';

// "Continue" does not count where somebody else is logged in by then, and an app's users are of any shape.

/** An id as of a database whose ids are objects. */
const objectId = (text: string) => ({ toString: () => text });

it.each<[string, unknown, unknown]>([
  ['id', 'anna', 'bert'],
  ['sub', 'anna', 'bert'],
  ['userId', 'anna', 'bert'],
  ['user_id', '3001', '3002'],
  ['user_id', 1n, 2n],
  ['uid', 'anna', 'bert'],
  ['uuid', 'anna', 'bert'],
  ['username', 'anna', 'bert'],
  ['email', 'anna', 'bert'],
  ['id', 0, 1],
  ['_id', objectId('65f1'), objectId('65f2')],
])('users are told apart by their %s, whatever else changes: %o, %o', (name, one, other) => {
  const userOf = (id: unknown, seenAt: number) => identityOf({ [name]: id, seenAt });
  expect(userOf(one, 1)).toBe(userOf(one, 2));
  expect(userOf(one, 1)).not.toBe(userOf(other, 1));
});

/** As of an ORM: a record and its parts lead to each other. */
function recordOf(name: string) {
  const record = { details: { name, owner: {} } };
  record.details.owner = record;
  return record;
}

it.each<[string, unknown, unknown]>([
  ['are text', 'anna', 'bert'],
  ['have none', { name: 'anna' }, { name: 'bert' }],
  ['have one that is null', { id: null, email: 'anna' }, { id: null, email: 'bert' }],
  ['have an empty one', { id: '', email: 'anna' }, { id: '', email: 'bert' }],
  ['have an object without a text', { id: {}, email: 'anna' }, { id: {}, email: 'bert' }],
  ['are bigints of another name', { customer: 1n }, { customer: 2n }],
  ['are deep in a record that leads back to itself', recordOf('anna'), recordOf('bert')],
])('users whose ids %s are told apart by all else', (_what, one, other) => {
  expect(identityOf(one)).toBe(identityOf(structuredClone(one)));
  expect(identityOf(one)).not.toBe(identityOf(other));
});
