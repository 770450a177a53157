// The key API client against the sandbox: a real yes, a real no, and a key that nobody knows.
import assert from 'node:assert/strict';
import { isMarketgateError, KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';

// Codes of the sandbox's default seed never change.
const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const UNKNOWN_CODE = '00000000-0000-4000-8000-000000000000';

const { baseUrl, apiKey, close } = await createSandbox().listen(0);
const keyApi = new KeyApi({ baseUrl, apiKey });

const purchase = await keyApi.validatePurchase(CODE);
assert.equal(purchase?.purchase_code, CODE);
assert.equal(purchase.item.id, 1042);
assert.equal(await keyApi.validatePurchase(UNKNOWN_CODE), null);

assert.equal((await keyApi.getItem(1042))?.id, 1042);
assert.equal(await keyApi.getItem(987654), null);
const items = await keyApi.listItems();
assert.ok(items.some((item) => item.id === 1042));
assert.equal(typeof (await keyApi.getAccount()).username, 'string');

const stranger = new KeyApi({ baseUrl, apiKey: 'f'.repeat(64) });
await assert.rejects(stranger.validatePurchase(CODE), (error) => {
  assert.ok(isMarketgateError(error));
  assert.equal(error.code, 'api_key_rejected');
  return true;
});

await stranger.close();
await keyApi.close();
await close();
