import assert from 'node:assert/strict';

const ask = async (code) => {
  const headers = code ? { 'x-purchase-code': code } : {};
  const event = { headers, requestContext: { http: { sourceIp: '192.0.2.1' } } };
  const { statusCode, body } = await handler(event);
  const { item, code: problem } = JSON.parse(body);
  return [statusCode, item ?? problem];
};
assert.deepEqual(await ask(), [402, 'purchase_required']);
assert.deepEqual(await ask('6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'), [200, 'Fjord Light']);
for (let i = 0; i < 10; i++) assert.equal((await ask(`wrong-${i}`))[0], 403);
assert.deepEqual(await ask('wrong-10'), [429, 'too_many_attempts']);
await keyApi.close();
