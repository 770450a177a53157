// `import` and `require` give the same classes under the same names; isMarketgateError also knows the
// errors of another version in the process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as esm from 'marketgate';
import document from 'marketgate/openapi.json' with { type: 'json' };

const require = createRequire(import.meta.url);
// The optional peers are not installed: what takes a client can be loaded all the same.
for (const entry of ['', '/redis', '/keyv', '/sandbox', '/testing'].map((e) => `marketgate${e}`)) {
  const named = { ...(await import(entry)) };
  assert.ok(Object.keys(named).length > 0, entry);
  assert.deepEqual(named, { ...require(entry) }, entry);
  assert.ok(!('default' in named), 'named exports only');
}
assert.deepEqual(require('marketgate/openapi.json'), document);
assert.equal(document.info.version, require('marketgate/package.json').version);
for (const [name, value] of Object.entries(esm)) {
  // As stack traces and logs show it; a bundler renames what is there twice.
  if (typeof value === 'function') assert.equal(value.name, name);
}

for (const file of Object.keys(require.cache)) {
  if (file.includes('marketgate')) delete require.cache[file];
}
const other = require('marketgate');
assert.notEqual(other.MarketgateError, esm.MarketgateError, 'these must be two copies');

for (const { MarketgateError } of [esm, other]) {
  const error = new MarketgateError('purchase_required', 'Send a purchase code.');
  assert.equal(error.name, 'MarketgateError');
  assert.equal(error.constructor.name, 'MarketgateError');
  assert.equal(error.status, 402);
  for (const { isMarketgateError } of [esm, other]) assert.ok(isMarketgateError(error));
}
for (const { isMarketgateError } of [esm, other]) {
  for (const each of [new Error('no'), null, undefined, 'text', { code: 'purchase_required' }]) {
    assert.ok(!isMarketgateError(each));
  }
}
