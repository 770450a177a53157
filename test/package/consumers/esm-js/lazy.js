// Importing marketgate loads neither the sandbox nor an optional peer, and undici only with the first call.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { KeyApi } from 'marketgate';

const require = createRequire(import.meta.url);
// Both builds are CommonJS inside, so that this is all that was loaded.
const loads = (part) => Object.keys(require.cache).some((file) => file.includes(part));

assert.ok(loads('marketgate/dist/index.cjs'));
for (const name of ['redis', 'ioredis', 'keyv']) {
  assert.throws(() => require.resolve(name), { code: 'MODULE_NOT_FOUND' });
}
for (const part of ['dist/sandbox', 'dist/redis', 'dist/keyv', '/zod/', '/undici/']) {
  assert.ok(!loads(part), part);
}

const { createSandbox } = await import('marketgate/sandbox');
assert.ok(loads('dist/sandbox'), 'what is loaded is seen');
const sandbox = createSandbox();
const { baseUrl, apiKey } = await sandbox.listen(0);
const keyApi = new KeyApi({ baseUrl, apiKey });
await keyApi.getAccount();
assert.ok(loads('/undici/'), 'what is loaded is seen');
await keyApi.close();
await sandbox.close();
