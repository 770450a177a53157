import assert from 'node:assert/strict';

const event = (code) => ({
  headers: code ? { 'x-purchase-code': code } : {},
  requestContext: { http: { sourceIp: '192.0.2.1' } },
});
const ask = async (code) => {
  const { statusCode, headers, body } = await handler(event(code));
  assert.equal(headers['cache-control'], 'private, no-store');
  const { item, code: problem } = JSON.parse(body);
  return [statusCode, item ?? problem];
};
assert.deepEqual(await ask(), [402, 'purchase_required']);
assert.deepEqual(await ask('6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'), [200, 'Fjord Light']);
const guess = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
for (let i = 0; i < 10; i++) assert.deepEqual(await ask(guess(i)), [403, 'purchase_code_invalid']);
assert.deepEqual(await ask(guess(10)), [429, 'too_many_attempts']);
await keyApi.close();
