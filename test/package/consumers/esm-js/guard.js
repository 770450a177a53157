// An Express app behind requirePurchase: 402 without a code, 403 with a wrong one, 200 with a right one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';
import { errorHandler, KeyApi, loadItem, loadItems, requirePurchase } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

const { baseUrl, apiKey, close } = await createSandbox().listen(0);
const keyApi = new KeyApi({ baseUrl, apiKey });

const app = express();
app.get('/download', requirePurchase(keyApi, { item: 1042 }), (req, res) => {
  res.json({ item: req.marketplace.purchase.item.id });
});
app.get('/items', loadItems(keyApi), (req, res) => {
  res.json(req.marketplace.items.map((item) => item.id));
});
app.get('/items/:id', loadItem(keyApi), (req, res) => {
  res.json({ item: req.marketplace.item.id });
});
app.use(errorHandler({ loginPath: '/login' }));

const server = app.listen(0);
await once(server, 'listening');
const get = async (path, headers = {}) => {
  const url = `http://127.0.0.1:${server.address().port}${path}`;
  const answer = await fetch(url, { headers: { accept: 'application/json', ...headers } });
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    body: await answer.json(),
  };
};

const without = await get('/download');
assert.equal(without.status, 402);
assert.match(without.type, /^application\/problem\+json/);
assert.equal(without.body.code, 'purchase_required');

const wrong = await get('/download', { 'x-purchase-code': '00000000-0000-4000-8000-000000000000' });
assert.equal(wrong.status, 403);
assert.equal(wrong.body.code, 'purchase_code_invalid');

const right = await get('/download', { 'x-purchase-code': CODE });
assert.equal(right.status, 200);
assert.deepEqual(right.body, { item: 1042 });

assert.ok((await get('/items')).body.includes(1042));
assert.deepEqual((await get('/items/1042')).body, { item: 1042 });
assert.equal((await get('/items/987654')).body.code, 'item_not_found');
assert.equal((await get('/items/abc')).body.code, 'item_id_invalid');

server.closeAllConnections();
server.close();
await keyApi.close();
await close();
