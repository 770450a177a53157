import assert from 'node:assert/strict';

const ask = async (code, client = '192.0.2.1') => {
  const headers = code ? { 'x-purchase-code': code } : {};
  const response = await download(new Request('http://localhost/download', { headers }), client);
  return [response.status, response.headers.get('cache-control')];
};
assert.deepEqual(await ask(), [402, 'no-store']);
assert.deepEqual(await ask('6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'), [200, 'private, no-cache']);
for (let i = 0; i < 10; i++) assert.equal((await ask(`wrong-${i}`))[0], 403);
assert.equal((await ask('wrong-10'))[0], 429);
assert.equal((await ask('wrong-11', '192.0.2.2'))[0], 403);
