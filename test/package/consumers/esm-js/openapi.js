// The OpenAPI document, as data: imported, required, and by its path for tools.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import document from 'marketgate/openapi.json' with { type: 'json' };

assert.equal(document.openapi, '3.1.1');
assert.equal(Object.keys(document.paths).length, 7);
const require = createRequire(import.meta.url);
assert.deepEqual(require('marketgate/openapi.json'), document);
const file = fileURLToPath(import.meta.resolve('marketgate/openapi.json'));
assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), document);
assert.equal(document.info.version, require('marketgate/package.json').version);
