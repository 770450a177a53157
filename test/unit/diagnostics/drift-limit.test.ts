import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EncryptedTokenStore, MemoryTokenStore } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { reportDrift } from '../../../src/diagnostics.js';
import { hear } from '../../support/hear.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { CODE, item } from '../../support/wire.js';

const HOUR = 3_600_000;

/** A service whose items drift, and a client with a clock that the test moves. */
function driftingService(items: unknown[]) {
  const self = new KeyApiService();
  self.items = items;
  self.item = { ...item, version: 2 };
  const clientOf = () => self.client({ cache: false });
  return { self, keyApi: clientOf(), clientOf };
}

const tagsCoerced = (index: number) => ({
  endpoint: '/api/items/all',
  kind: 'coerced',
  path: `items[${index}].tags`,
  expected: 'list',
});

describe('drift that was coerced', () => {
  it('is reported once for a list of 2,000 items that all have it, with the first place', async () => {
    const items = Array.from({ length: 2000 }, (_, id) => ({ id, name: 'a', media: {} }));
    const { keyApi, self } = driftingService(items);
    self.items = items.map((each, i) => (i >= 7 ? { ...each, tags: 'a,b' } : each));
    const messages = hear('drift');
    expect(await keyApi.listItems()).toHaveLength(2000);
    expect(messages).toEqual([tagsCoerced(7)]);
  });

  it('is reported again after an hour by the clock of the client, and not before', async () => {
    const { keyApi, self } = driftingService([{ ...item, tags: 'a,b' }]);
    const messages = hear('drift');
    await keyApi.listItems();
    self.now += HOUR - 1;
    await keyApi.listItems();
    expect(messages).toEqual([tagsCoerced(0)]);
    self.now += 1;
    await keyApi.listItems();
    expect(messages).toEqual([tagsCoerced(0), tagsCoerced(0)]);
  });

  it('of another field, kind or endpoint is reported on its own', async () => {
    const { keyApi, self } = driftingService([{ ...item, tags: 'a,b' }]);
    const messages = hear('drift');
    await keyApi.listItems();
    self.items = [
      { ...item, tags: 'a', version: 2 },
      { ...item, tags: [{}] },
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

  it('costs no answer when the listener throws, and is not reported twice for that', async () => {
    const { keyApi } = driftingService([{ ...item, tags: 'a,b' }]);
    let told = 0;
    const thrown: unknown[] = [];
    // Node hands what a listener throws to the process; the test stands in for its handlers.
    const handlers = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    const broken = (): void => {
      told++;
      throw new Error('the listener is broken');
    };
    subscribe('marketgate:drift', broken);
    try {
      expect(await keyApi.listItems()).toHaveLength(1);
      expect(await keyApi.listItems()).toHaveLength(1);
      await vi.waitFor(() => expect(thrown).toHaveLength(1), { timeout: 40_000 });
    } finally {
      unsubscribe('marketgate:drift', broken);
      process.removeAllListeners('uncaughtException');
      for (const handler of handlers) process.on('uncaughtException', handler);
    }
    expect(told).toBe(1);
  });
});

it('a store that finds unreadable rows reports it once an hour, each store on its own', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const inner = new MemoryTokenStore();
  const stores = [1, 2].map((n) => new EncryptedTokenStore(inner, { keys: [Buffer.alloc(32, n)] }));
  const [one, two] = stores;
  await one?.set('anna', { value: 'x', issuedAt: Date.now(), expiresAt: Date.now() + 3 * HOUR });
  const other = new EncryptedTokenStore(inner, { keys: [Buffer.alloc(32, 3)] });
  const messages = hear('drift');
  for (const store of [two, two, other]) await store?.get('anna');
  expect(messages).toHaveLength(2);
  vi.setSystemTime(Date.now() + HOUR);
  await two?.get('anna');
  expect(messages).toHaveLength(3);
});

describe('what is remembered of messages', () => {
  const report = (source: object, expected: string, now: number): void =>
    reportDrift(source, { endpoint: '/', kind: 'dropped', path: 'a', expected }, () => now);

  it('is bounded: the oldest is forgotten first', () => {
    const source = {};
    const messages = hear<{ expected: string }>('drift');
    report(source, 'first', 0);
    for (let i = 0; i < 999; i++) report(source, `other ${i}`, 1);
    report(source, 'first', 1);
    expect(messages).toHaveLength(1000);
    for (const expected of ['one more', 'first', 'other 998']) report(source, expected, 1);
    expect(messages.slice(1000).map(({ expected }) => expected)).toEqual(['one more', 'first']);
  });
});
