import express from 'express';
import { errorHandler, requirePurchase } from 'marketgate';
import request from 'supertest';
import { expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ACCOUNT, ITEM, keyApiOn, settle, VALIDATION } from '../../support/key-api-service.js';
import { openShop } from '../../support/shop.js';
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
  const fresh = true;
  const { signal } = leaving;
  const calls = [keyApi.getItem(1043, { signal, fresh }), keyApi.getItem(1044, { fresh })];
  const ended = Promise.allSettled(calls);
  await settle();
  leaving.abort(new Error('left'));
  await settle();
  await keyApi.close();
  await ended;
  const durationMs = expect.any(Number);
  const asked = { method: 'GET', endpoint: ITEM, durationMs };
  expect(messages).toEqual([
    { method: 'POST', endpoint: VALIDATION, attempt: 0, durationMs },
    { ...asked, code: 'service_unavailable', attempt: 0 },
    { ...asked, code: 'service_unavailable', attempt: 1 },
    // The probe.
    { ...asked, endpoint: ACCOUNT, code: 'service_unavailable', attempt: 0 },
    { ...asked, attempt: 0, aborted: true },
    // Ended by close().
    { ...asked, attempt: 0, aborted: true },
  ]);
});

it('marketgate:guard reports each decision, its reason, and the route without what is in the URL', async () => {
  const { keyApi, sandbox, code } = await openShop();
  const messages = hear('guard');
  const app = express();
  app.get('/', requirePurchase(keyApi, { item: 1042 }), (_req, res) => void res.end());
  app.get(
    '/open/:id',
    requirePurchase(keyApi, { onUnknown: 'allow' }),
    (_req, res) => void res.end(),
  );
  app.use(errorHandler());
  const ask = (path: string, sent: string) => request(app).get(path).set('x-purchase-code', sent);
  await ask('/', code('supported'));
  await ask('/', '');
  await ask('/', WRONG);
  await ask('/', code('other-item'));
  sandbox.faults.errorRate = 1;
  await ask('/', code('extended'));
  await ask('/open/7', code('extended'));
  const seen = { method: 'GET', route: '/', reason: expect.any(String) };
  expect(messages).toEqual([
    { method: 'GET', route: '/', allowed: true },
    { ...seen, allowed: false, code: 'purchase_required' },
    { ...seen, allowed: false, code: 'purchase_code_invalid' },
    { ...seen, allowed: false, code: 'purchase_item_mismatch' },
    { ...seen, allowed: false, code: 'service_unavailable' },
    { ...seen, route: '/open/:id', allowed: true, code: 'service_unavailable' },
  ]);
});
