// Without any optional peer: what needs none works, and what takes a client can still be loaded.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
for (const peer of ['redis', 'ioredis', 'keyv']) {
  assert.throws(() => require.resolve(peer), { code: 'MODULE_NOT_FOUND' });
}
const entries = ['', '/redis', '/keyv', '/sandbox', '/testing'].map((path) => `marketgate${path}`);
for (const entry of entries) {
  const names = Object.keys(await import(entry)).filter((name) => name !== 'default');
  assert.ok(names.length > 0, entry);
  // `__esModule` and the like are not enumerable there.
  assert.deepEqual(Object.keys(require(entry)).sort(), names.sort(), entry);
}

// As data, in both ways.
const { default: document } = await import('marketgate/openapi.json', { with: { type: 'json' } });
assert.deepEqual(require('marketgate/openapi.json'), document);

const { KeyApi } = await import('marketgate');
const { createSandbox } = await import('marketgate/sandbox');
const { baseUrl, apiKey, close } = await createSandbox().listen(0);
const keyApi = new KeyApi({ baseUrl, apiKey });
assert.ok((await keyApi.listItems()).length > 0);
await keyApi.close();
await close();
console.log('works');
