import assert from 'node:assert/strict';
import type { AccessToken } from '../model/access-token.js';

/** That a store gave exactly this token. What else it puts on the object is its own business. */
export function assertToken(
  actual: AccessToken | undefined,
  expected: AccessToken,
  when: string,
): void {
  assert.ok(actual, `${when}: get gave no token`);
  const { value, issuedAt, expiresAt } = actual;
  assert.deepEqual({ value, issuedAt, expiresAt }, expected, `${when}: get gave another token`);
}

/** That a store gave no token, and by `undefined` and nothing else. */
export function assertNone(actual: unknown, when: string): void {
  assert.equal(actual, undefined, `${when}: get must give undefined`);
}
