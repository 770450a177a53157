// An app can hold both builds at once; isMarketgateError of either knows the errors of both.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as esm from 'marketgate';

const cjs = createRequire(import.meta.url)('marketgate');
assert.notEqual(esm.MarketgateError, cjs.MarketgateError, 'these must be two builds');

for (const { MarketgateError } of [esm, cjs]) {
  const error = new MarketgateError('purchase_required', 'Send a purchase code.');
  assert.equal(error.name, 'MarketgateError');
  assert.equal(error.constructor.name, 'MarketgateError');
  assert.equal(error.status, 402);
  for (const { isMarketgateError } of [esm, cjs]) assert.ok(isMarketgateError(error));
}
for (const { isMarketgateError } of [esm, cjs]) {
  for (const other of [new Error('no'), null, undefined, 'text', { code: 'purchase_required' }]) {
    assert.ok(!isMarketgateError(other));
  }
}

// The two entry points of one build share their classes, and both builds offer the same names.
assert.deepEqual(Object.keys(esm).sort(), Object.keys(cjs).sort());
assert.ok(!('default' in esm), 'named exports only');
