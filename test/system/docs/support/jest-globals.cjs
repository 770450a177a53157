// As much of jest's globals as the documentation uses, on node:test.
const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');

Object.assign(globalThis, {
  describe,
  it,
  beforeAll: before,
  afterAll: after,
  expect: (actual) => ({ toBe: (expected) => assert.equal(actual, expected) }),
});
