// An Express app behind requirePurchase, from CommonJS.
const assert = require('node:assert/strict');
const { once } = require('node:events');
const express = require('express');
const { errorHandler, KeyApi, requirePurchase } = require('marketgate');
const { createSandbox } = require('marketgate/sandbox');

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

async function main() {
  const { baseUrl, apiKey, close } = await createSandbox().listen(0);
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const app = express();
  app.get('/download', requirePurchase(keyApi, { item: 1042 }), (req, res) => {
    res.json({ item: req.marketplace.purchase.item.id });
  });
  app.use(errorHandler({ loginPath: '/login' }));

  const server = app.listen(0);
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}/download`;
  const ask = (headers) => fetch(url, { headers: { accept: 'application/json', ...headers } });

  assert.equal((await ask({})).status, 402);
  const right = await ask({ 'x-purchase-code': CODE });
  assert.equal(right.status, 200);
  assert.deepEqual(await right.json(), { item: 1042 });

  server.closeAllConnections();
  server.close();
  await keyApi.close();
  await close();
}

void main();
