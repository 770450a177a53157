import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import express from 'express';
import { errorHandler, MarketplaceStrategy, requirePurchase } from 'marketgate';
import request from 'supertest';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { openShop } from '../../support/shop.js';
import { drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';

/** Everything that comes over a channel until the test is over. */
function hear(name: string): unknown[] {
  const messages: unknown[] = [];
  const listen = (message: unknown): void => void messages.push(message);
  subscribe(name, listen);
  onTestFinished(() => void unsubscribe(name, listen));
  return messages;
}

const WRONG = '00000000-0000-4000-8000-000000000000';

describe('marketgate:request', () => {
  it('tells of each request, and of each retry, with its code', async () => {
    const { keyApi, sandbox, code } = await openShop({ retries: 1 });
    const messages = hear('marketgate:request');
    await keyApi.validatePurchase(code('supported'));
    sandbox.faults.errorRate = 1;
    await rejection(keyApi.getItem(1042));
    const durationMs = expect.any(Number);
    expect(messages).toEqual([
      { method: 'POST', endpoint: '/api/purchases/validation', attempt: 0, durationMs },
      {
        method: 'GET',
        endpoint: '/api/items/item',
        attempt: 0,
        code: 'service_unavailable',
        durationMs,
      },
      {
        method: 'GET',
        endpoint: '/api/items/item',
        attempt: 1,
        code: 'service_unavailable',
        durationMs,
      },
    ]);
  });
});

describe('marketgate:lookup', () => {
  it('tells where each answer came from', async () => {
    const { keyApi, sandbox, code } = await openShop();
    const messages = hear('marketgate:lookup');
    const look = (what: string, source: string, outcome: string) => ({ what, source, outcome });
    const seen = async (expected: object[]): Promise<void> => {
      await vi.waitFor(() => expect(messages).toEqual(expected));
      messages.length = 0;
    };
    await keyApi.validatePurchase(code('supported'));
    await keyApi.validatePurchase(code('supported'));
    await seen([look('purchase', 'service', 'yes'), look('purchase', 'cache', 'yes')]);
    await keyApi.validatePurchase(WRONG);
    await keyApi.validatePurchase(WRONG);
    await seen([look('purchase', 'service', 'no'), look('purchase', 'cache', 'no')]);
    await keyApi.listItems();
    await keyApi.getItem(1042);
    await seen([look('items', 'service', 'yes'), look('item', 'cache', 'yes')]);
    sandbox.clock.advance(6 * 60_000);
    await keyApi.validatePurchase(code('supported'));
    await seen([look('purchase', 'stale', 'yes'), look('purchase', 'service', 'yes')]);
    sandbox.faults.html = true;
    sandbox.clock.advance(2 * 3_600_000);
    await keyApi.validatePurchase(code('supported'));
    await rejection(keyApi.getAccount());
    await seen([
      { ...look('purchase', 'service', 'failed'), code: 'unexpected_response' },
      look('purchase', 'last-resort', 'yes'),
      { ...look('account', 'service', 'failed'), code: 'unexpected_response' },
    ]);
  });

  it('tells what came from another process', async () => {
    const shared = new MemorySharedCache();
    const { keyApi, code } = await openShop({ cache: { shared } });
    await keyApi.validatePurchase(code('supported'));
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    const values = new Map(shared.values);
    await keyApi.invalidate(code('supported'));
    for (const [name, value] of values) shared.values.set(name, value);
    const messages = hear('marketgate:lookup');
    await keyApi.validatePurchase(code('supported'));
    expect(messages).toEqual([{ what: 'purchase', source: 'shared', outcome: 'yes' }]);
  });
});

describe('marketgate:guard', () => {
  it('tells what was decided, and why', async () => {
    const { keyApi, sandbox, code } = await openShop();
    const messages = hear('marketgate:guard');
    const app = express();
    app.get('/', requirePurchase(keyApi, { item: 1042 }), (_req, res) => void res.end());
    app.get(
      '/open',
      requirePurchase(keyApi, { onUnknown: 'allow' }),
      (_req, res) => void res.end(),
    );
    app.use(errorHandler());
    const ask = (path: string, sent: string) => request(app).get(path).set('x-purchase-code', sent);
    await ask('/', code('supported'));
    await ask('/', '');
    await ask('/', WRONG);
    await ask('/', code('other-item'));
    await sandbox.close();
    await ask('/', code('extended'));
    await ask('/open', code('extended'));
    expect(messages).toEqual([
      { allowed: true },
      { allowed: false, code: 'purchase_required' },
      { allowed: false, code: 'purchase_code_invalid' },
      { allowed: false, code: 'purchase_item_mismatch' },
      { allowed: false, code: 'service_unavailable' },
      { allowed: true, code: 'service_unavailable' },
    ]);
  });
});

describe('marketgate:login', () => {
  it('tells how each step ended, with codes of this package only', async () => {
    const { loginApi } = fakeLoginApi();
    let verdict: 'in' | 'out' | 'broken' = 'in';
    const strategy = new MarketplaceStrategy({ loginApi }, (_token, _refresh, profile, done) => {
      if (verdict === 'in') done(null, { id: profile.id });
      else if (verdict === 'out') done(null, false, { code: 'secret-of-the-app' });
      else done(Object.assign(new Error('x'), { code: 'E_SECRET' }));
    });
    const messages = hear('marketgate:login');
    for (const each of ['in', 'out', 'broken'] as const) {
      verdict = each;
      const session = {};
      await drive(strategy, requestOf({}, { session }));
      await drive(strategy, requestOf({ auth_key: `key-${each}` }, { session }));
    }
    await drive(strategy, requestOf({ auth_key: 'stolen' }));
    expect(messages).toEqual([
      { outcome: 'redirect' },
      { outcome: 'success' },
      { outcome: 'redirect' },
      { outcome: 'fail' },
      { outcome: 'redirect' },
      { outcome: 'error' },
      { outcome: 'fail', code: 'login_failed' },
    ]);
  });
});

it('no message holds a code, a key or a token', async () => {
  const { keyApi, sandbox, code } = await openShop();
  const messages = ['request', 'lookup', 'guard', 'login', 'drift'].map((name) =>
    hear(`marketgate:${name}`),
  );
  Object.assign(sandbox.dialect, { nulls: true, tagsAsString: true, numericStrings: true });
  const app = express();
  app.get('/', requirePurchase(keyApi), (_req, res) => void res.end());
  for (const sent of [code('supported'), WRONG, 'x']) {
    await request(app).get('/').set('x-purchase-code', sent);
  }
  await keyApi.listItems();
  await keyApi.getAccount();
  const all = inspect(messages, { depth: 9, maxArrayLength: null });
  expect(all).toContain('mended');
  for (const secret of [code('supported'), WRONG, sandbox.data.workspaces[0]?.api_key ?? '']) {
    expect(all).not.toContain(secret);
  }
});
