import assert from 'node:assert/strict';

assert.deepEqual(sandbox.requests, []);
assert.match(url, /callback[?]auth_key=/);
assert.equal(sandbox.faults.html, false);
