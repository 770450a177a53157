// A guarded route from CommonJS, and an error that both entry points recognise.
const assert = require('node:assert/strict');
const { once } = require('node:events');
const express = require('express');
const { errorHandler, isMarketgateError, KeyApi, requirePurchase } = require('marketgate');
const { createSandbox } = require('marketgate/sandbox');

async function main() {
  const sandbox = createSandbox();
  const { baseUrl, apiKey } = await sandbox.listen(0);
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const app = express();
  app.get('/download', requirePurchase(keyApi, { item: 1042 }), (req, res) => {
    res.json({ item: req.marketplace.purchase.item.id });
  });
  app.use(errorHandler());
  const server = app.listen(0);
  await once(server, 'listening');
  const ask = (headers = {}) =>
    fetch(`http://127.0.0.1:${server.address().port}/download`, { headers });

  assert.equal((await ask()).status, 402);
  const right = await ask({ 'x-purchase-code': sandbox.codes[0].code });
  assert.deepEqual(await right.json(), { item: 1042 });

  const stranger = new KeyApi({ baseUrl, apiKey: 'f'.repeat(64) });
  const error = await stranger.validatePurchase(sandbox.codes[0].code).catch((reason) => reason);
  assert.equal(error.code, 'api_key_rejected');
  const esm = await import('marketgate');
  assert.ok(isMarketgateError(error) && esm.isMarketgateError(error));

  server.closeAllConnections();
  server.close();
  await Promise.all([stranger.close(), keyApi.close(), sandbox.close()]);
}

void main();
