import assert from 'node:assert/strict';

const ask = async (code, client = '192.0.2.1') => {
  const headers = code === undefined ? {} : { 'x-purchase-code': code };
  const response = await download(new Request('http://localhost/download', { headers }), client);
  const { code: problem, item } = await response.json();
  return [problem ?? item, response.status, response.headers.get('cache-control')];
};

assert.deepEqual(await ask(), ['purchase_required', 402, 'no-store']);
assert.deepEqual(await ask('6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'), [1042, 200, 'private']);
const guess = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
for (let i = 0; i < 10; i++) assert.equal((await ask(guess(i)))[0], 'purchase_code_invalid');
const { problem, headers } = await check(guess(10), '192.0.2.1');
assert.equal(problem.code, 'too_many_attempts');
assert.equal(headers['Retry-After'], String(problem.retryAfter));
assert.equal((await ask(guess(11), '192.0.2.2'))[0], 'purchase_code_invalid');
