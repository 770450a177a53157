// The key API client against the sandbox, from CommonJS.
const assert = require('node:assert/strict');
const { isMarketgateError, KeyApi } = require('marketgate');
const { createSandbox } = require('marketgate/sandbox');

// Codes of the sandbox's default seed never change.
const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

async function main() {
  const { baseUrl, apiKey, close } = await createSandbox().listen(0);
  const keyApi = new KeyApi({ baseUrl, apiKey });

  assert.equal((await keyApi.validatePurchase(CODE))?.item.id, 1042);
  assert.equal(await keyApi.validatePurchase('00000000-0000-4000-8000-000000000000'), null);

  const stranger = new KeyApi({ baseUrl, apiKey: 'f'.repeat(64) });
  const error = await stranger.validatePurchase(CODE).then(
    () => assert.fail('an unknown api_key must not be answered'),
    (reason) => reason,
  );
  assert.equal(error.code, 'api_key_rejected');
  // Thrown by the CommonJS build, recognised by both.
  const esm = await import('marketgate');
  assert.ok(isMarketgateError(error) && esm.isMarketgateError(error));

  await stranger.close();
  await keyApi.close();
  await close();
}

void main();
