import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, download } from './check.js';

const SUPPORTED = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const ask = async (code, client = '192.0.2.1') => {
  const headers = code === undefined ? {} : { 'x-purchase-code': code };
  const response = await download(new Request('http://localhost/download', { headers }), client);
  const { code: problem, item } = await response.json();
  return [response.status, problem ?? item, response.headers.get('cache-control')];
};

test('the route', async () => {
  assert.deepEqual(await ask(), [402, 'purchase_required', 'no-store']);
  assert.deepEqual(await ask(SUPPORTED), [200, 1042, 'private']);
  const guess = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
  for (let i = 0; i < 10; i++) assert.equal((await ask(guess(i)))[1], 'purchase_code_invalid');
  const { problem, headers } = await check(guess(10), '192.0.2.1');
  assert.equal(problem.code, 'too_many_attempts');
  assert.equal(headers['Retry-After'], String(problem.retryAfter));
  assert.equal((await ask(guess(11), '192.0.2.2'))[1], 'purchase_code_invalid');
  assert.equal((await check({ not: 'a string' }, '192.0.2.3')).problem.status, 403);
});
