import { KeyApi, type RequirePurchaseOptions, requirePurchase } from 'marketgate';
import { expect, it } from 'vitest';
import { rejection, throwing } from '../../support/errors.js';
import { runMiddleware } from '../../support/fake-response.js';
import { hear } from '../../support/hear.js';
import { ACCOUNT, ITEM, keyApiOn, settle, VALIDATION } from '../../support/key-api-service.js';
import { CODE } from '../../support/wire.js';

const WRONG = '00000000-0000-4000-8000-000000000000';

it('marketgate:request reports each request, and each retry, with its code', async () => {
  const { service, keyApi } = keyApiOn({}, { retries: 1 });
  const messages = hear('request');
  await keyApi.validatePurchase(CODE);
  service.says = 'outage';
  await rejection(keyApi.getItem(1042, { fresh: true }));
  service.says = 'silence';
  const leaving = new AbortController();
  const left = keyApi.getItem(1043, { signal: leaving.signal, fresh: true }).catch(String);
  await settle();
  leaving.abort(new Error('left'));
  expect(await left).toBe('Error: left');
  const durationMs = expect.any(Number);
  const asked = { method: 'GET', endpoint: ITEM, durationMs };
  const failed = { code: 'service_unavailable', reason: expect.stringContaining('HTTP 503') };
  expect(messages).toEqual([
    { method: 'POST', endpoint: VALIDATION, attempt: 0, durationMs },
    { ...asked, ...failed, attempt: 0 },
    { ...asked, ...failed, attempt: 1 },
    // The probe.
    { ...asked, endpoint: ACCOUNT, ...failed, attempt: 0 },
    { ...asked, attempt: 0, aborted: true },
  ]);
});

it('marketgate:request and marketgate:lookup say why there is no answer, and repeat no words of the app', async () => {
  const [requests, lookups] = [hear('request'), hear('lookup')];
  const options = { baseUrl: 'https://market.example', apiKey: 'key', retries: 0 };
  for (const thrown of [new RangeError('a word of the app'), undefined]) {
    const keyApi = new KeyApi({ ...options, fetch: throwing(thrown) });
    await expect(keyApi.getAccount()).rejects.toBe(thrown);
  }
  const reset = throwing(new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }));
  await rejection(new KeyApi({ ...options, fetch: reset }).getAccount());
  const reasons = [
    { reason: "an error of the app's own" },
    { reason: "an error of the app's own" },
    { code: 'service_unavailable', reason: expect.stringContaining('the connection was cut') },
  ];
  expect(requests).toMatchObject(reasons);
  const lookup = { what: 'account', source: 'service', outcome: 'failed' };
  expect(lookups).toEqual(reasons.map((reason) => ({ ...lookup, ...reason })));
});

it('marketgate:lookup reports also what is refused without a request', async () => {
  const { service, keyApi } = keyApiOn({ says: 'negative' }, { guessLimit: { limit: 1 } });
  const client = '192.0.2.1';
  await keyApi.validatePurchase(CODE, { client });
  const messages = hear('lookup');
  await rejection(keyApi.validatePurchase(WRONG, { client }));
  expect(messages).toMatchObject([{ outcome: 'failed', code: 'too_many_attempts' }]);
  expect(service.asked()).toBe(1);
});

it('marketgate:guard reports each decision, its reason, and the route without what is in the URL', async () => {
  const { service, keyApi } = keyApiOn();
  const messages = hear('guard');
  const ask = (options: RequirePurchaseOptions, code: string, route?: string) => {
    const headers = { 'x-purchase-code': code };
    const req = { method: 'GET', headers, ...(route && { route: { path: route } }) };
    return runMiddleware(requirePurchase(keyApi, options), req);
  };
  await ask({ item: 1042 }, CODE, '/open/:id');
  await ask({}, '');
  await ask({ item: 7 }, CODE);
  service.says = 'outage';
  await ask({}, WRONG);
  await ask({ onUnknown: 'allow' }, WRONG);
  const seen = { method: 'GET', allowed: false, reason: expect.any(String) };
  expect(messages).toEqual([
    { method: 'GET', route: '/open/:id', allowed: true },
    { ...seen, code: 'purchase_required' },
    { ...seen, code: 'purchase_item_mismatch' },
    { ...seen, code: 'service_unavailable' },
    { ...seen, allowed: true, code: 'service_unavailable' },
  ]);
});
