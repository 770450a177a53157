import { EncryptedTokenStore, MemoryTokenStore } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hear } from '../../support/hear.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { CODE, item } from '../../support/wire.js';

const tagsCoerced = (index: number) => ({
  endpoint: '/api/items/all',
  kind: 'coerced',
  path: `items[${index}].tags`,
  expected: 'list',
});

/** A service whose items drift, and a client. */
function driftingService(items: unknown[] = [{ ...item, tags: 'a,b' }]) {
  const service = new KeyApiService({ items, item: { ...item, version: 2 } });
  return { service, keyApi: service.client({ cache: false }) };
}

describe('drift that was coerced', () => {
  it('is reported once for a list of 2,000 items that all have it, with the first place', async () => {
    const items = Array.from({ length: 2000 }, (_, id) => ({ id, name: 'a', media: {} }));
    const drifting = items.map((each, i) => (i >= 7 ? { ...each, tags: 'a,b' } : each));
    const { keyApi } = driftingService(drifting);
    const messages = hear('drift');
    expect(await keyApi.listItems()).toHaveLength(2000);
    expect(messages).toEqual([tagsCoerced(7)]);
  });

  it('of another field, kind or endpoint is reported on its own', async () => {
    const { keyApi, service } = driftingService();
    const messages = hear('drift');
    await keyApi.listItems();
    service.items = [
      { ...item, tags: 'a', version: 2 },
      { ...item, id: 7, tags: [{}] },
    ];
    await keyApi.listItems();
    await keyApi.validatePurchase(CODE);
    expect(messages).toEqual([
      tagsCoerced(0),
      { ...tagsCoerced(0), path: 'items[0].version', expected: 'string' },
      { endpoint: '/api/items/all', kind: 'dropped', path: 'items[1].tags[0]', expected: 'string' },
      {
        endpoint: '/api/purchases/validation',
        kind: 'coerced',
        path: 'data.purchase.item.version',
        expected: 'string',
      },
    ]);
  });
});

it('the same is reported again after an hour, and by each store on its own', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1);
  const inner = new MemoryTokenStore();
  const storeOf = (key: number) =>
    new EncryptedTokenStore(inner, { keys: [Buffer.alloc(32, key)] });
  await storeOf(1).set('anna', { value: 'x', issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER });
  const [two, other] = [storeOf(2), storeOf(3)];
  const messages = hear('drift');
  for (const store of [two, two, other]) await store.get('anna');
  expect(messages).toHaveLength(2);
  vi.advanceTimersByTime(3_599_000);
  await two.get('anna');
  expect(messages).toHaveLength(2);
  vi.advanceTimersByTime(2000);
  await two.get('anna');
  expect(messages).toHaveLength(3);
});
