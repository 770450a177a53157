import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { MarketgateError } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DriftReports } from '../../../src/diagnostics/drift.js';
import { checkCacheOptions } from '../../../src/key-api/cache/cache-options.js';
import { ItemPool } from '../../../src/key-api/item-pool.js';
import { KeptAnswers } from '../../../src/key-api/kept-answers.js';
import type { KeyService } from '../../../src/key-api/service.js';
import { rejection } from '../../support/errors.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { account, CODE, item, KEY, purchase } from '../../support/wire.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const down = () => new MarketgateError('service_unavailable', 'down');
const settle = (): Promise<void> => new Promise(setImmediate);

const time = { now: 1_800_000_000_000 };

/** What is kept before a service that the test plays. */
function keptOf(cache: object = {}, apiKey: () => string = () => KEY) {
  const settings = checkCacheOptions('KeyApi', cache);
  if (settings === false) throw new Error('no cache');
  const clock = (): number => time.now;
  const service = {
    drift: new DriftReports(clock),
    alarm: { yes: vi.fn() },
    account: vi.fn(async () => structuredClone(account)),
    items: vi.fn(
      async (): Promise<object[] | null> => [
        structuredClone(item),
        { ...structuredClone(item), id: 7 },
      ],
    ),
    item: vi.fn(async (id: number): Promise<object | null> => ({ ...structuredClone(item), id })),
    purchase: vi.fn(
      async (purchase_code: string): Promise<object | null> => ({
        ...structuredClone(purchase),
        purchase_code,
      }),
    ),
  };
  const kept = new KeptAnswers(
    service as unknown as KeyService,
    settings,
    { clock, timeout: 10_000 },
    apiKey,
    new ItemPool(),
  );
  onTestFinished(() => kept.close());
  return { kept, service };
}

function lookups(): unknown[] {
  const told: unknown[] = [];
  const listen = (message: unknown): void => void told.push(message);
  subscribe('marketgate:lookup', listen);
  onTestFinished(() => void unsubscribe('marketgate:lookup', listen));
  return told;
}

describe('each kind of answer', () => {
  it('is kept by itself, and told by its name', async () => {
    const told = lookups();
    const { kept, service } = keptOf();
    for (let i = 0; i < 2; i++) {
      expect(await kept.account({})).toEqual(account);
      expect(await kept.item(1042, {})).toEqual(item);
      expect(await kept.list({})).toHaveLength(2);
      expect(await kept.purchase(CODE, {})).toEqual(purchase);
    }
    const { account: accounts, items, item: one, purchase: purchases } = service;
    for (const asked of [accounts, items, one, purchases]) expect(asked).toHaveBeenCalledTimes(1);
    expect(one.mock.calls[0]?.[0]).toBe(1042);
    const what = ['account', 'item', 'items', 'purchase'];
    expect(told).toEqual([
      ...what.map((each) => ({ what: each, source: 'service', outcome: 'yes' })),
      ...what.map((each) => ({ what: each, source: 'cache', outcome: 'yes' })),
    ]);
  });

  it('is frozen to its depth', async () => {
    const { kept } = keptOf();
    const found = await kept.account({});
    expect(Object.isFrozen(found.profile.media)).toBe(true);
    expect(Object.isFrozen((await kept.item(1, {}))?.media)).toBe(true);
    expect(Object.isFrozen((await kept.list({}))?.[0]?.media)).toBe(true);
    expect(Object.isFrozen((await kept.purchase(CODE, {}))?.item.media)).toBe(true);
  });

  it('passes on how it is wanted', async () => {
    const { kept, service } = keptOf();
    const signal = AbortSignal.abort(new Error('left'));
    for (const asked of [
      kept.account({ signal }),
      kept.list({ signal }),
      kept.item(1, { signal }),
      kept.purchase(CODE, { signal }),
    ]) {
      await expect(asked).rejects.toThrow('left');
    }
    await kept.purchase(CODE, {});
    await kept.purchase(CODE, { fresh: true });
    expect(service.purchase.mock.calls.map(([, how]: unknown[]) => how)).toEqual([
      { signal: undefined, isGrave: false, spent: 0 },
      { signal: undefined, isGrave: true, spent: 0 },
    ]);
  });
});

describe('the account', () => {
  it('is erased by a rejected key, and by nothing else', async () => {
    const { kept, service } = keptOf();
    await kept.account({});
    time.now += 2 * HOUR;
    service.account.mockRejectedValueOnce(down());
    expect(await kept.account({})).toEqual(account);
    service.account.mockRejectedValueOnce(new MarketgateError('api_key_rejected', 'unknown'));
    expect((await rejection(kept.account({}))).code).toBe('api_key_rejected');
    service.account.mockRejectedValueOnce(down());
    expect((await rejection(kept.account({}))).code).toBe('service_unavailable');
  });

  it('is not erased by what only looks like a rejected key', async () => {
    const { kept, service } = keptOf();
    await kept.account({});
    time.now += 2 * HOUR;
    const odd = Object.assign(new Error('odd'), { code: 'api_key_rejected' });
    service.account.mockRejectedValueOnce(odd);
    await expect(kept.account({})).rejects.toBe(odd);
    service.account.mockRejectedValueOnce(down());
    expect(await kept.account({})).toEqual(account);
  });
});

describe('a purchase', () => {
  it('is looked at without waiting: a yes, a no, or nothing', async () => {
    const { kept, service } = keptOf();
    expect(kept.peekPurchase(CODE)).toBeUndefined();
    const found = await kept.purchase(CODE, {});
    expect(kept.peekPurchase(CODE)).toBe(found);
    service.purchase.mockResolvedValueOnce(null);
    await kept.purchase('wrong-code', {});
    expect(kept.peekPurchase('wrong-code')).toBeNull();
  });

  it('whose code the service writes otherwise keeps it as the service wrote it', async () => {
    const { kept, service } = keptOf();
    service.purchase.mockResolvedValueOnce({ ...structuredClone(purchase), purchase_code: 'ABC' });
    expect((await kept.purchase('abc', {}))?.purchase_code).toBe('ABC');
    expect((await kept.purchase('def', {}))?.purchase_code).toBe('def');
  });

  it('is forgotten without the others', async () => {
    const { kept } = keptOf();
    await kept.purchase(CODE, {});
    await kept.purchase('another-code', {});
    await kept.forgetPurchase(CODE);
    expect(kept.peekPurchase(CODE)).toBeUndefined();
    expect(kept.peekPurchase('another-code')).toBeDefined();
  });
});

describe('an item out of a list', () => {
  it('is told as an item from the cache, and nothing is told of the list', async () => {
    const { kept, service } = keptOf();
    await kept.list({});
    const told = lookups();
    await kept.item(7, {});
    expect(told).toEqual([{ what: 'item', source: 'cache', outcome: 'yes' }]);
    expect(service.item).not.toHaveBeenCalled();
  });

  it('that is wanted fresh is asked for', async () => {
    const { kept, service } = keptOf();
    await kept.list({});
    await kept.item(7, { fresh: true });
    expect(service.item).toHaveBeenCalledTimes(1);
  });

  it('counts when it is younger than a no of the item, and not when it is of the same moment', async () => {
    const { kept, service } = keptOf();
    service.item.mockResolvedValue(null);
    await kept.item(7, {});
    await kept.list({});
    expect(await kept.item(7, {})).toBeNull();
    time.now += 1;
    await kept.list({ fresh: true });
    expect(await kept.item(7, {})).not.toBeNull();
  });

  it('serves in an outage as the last resort, and is told so', async () => {
    const { kept, service } = keptOf();
    const list = await kept.list({});
    time.now += 3 * HOUR;
    service.item.mockRejectedValue(down());
    const told = lookups();
    expect(await kept.item(7, {})).toBe(list?.[1]);
    expect(told).toEqual([
      { what: 'item', source: 'service', outcome: 'failed', code: 'service_unavailable' },
      { what: 'item', source: 'last-resort', outcome: 'yes' },
    ]);
  });

  it('is not served in an outage once the service has said that it is gone, however many asked since', async () => {
    const { kept, service } = keptOf({ maxInvalid: 2 });
    await kept.list({});
    time.now += 3 * HOUR;
    service.item.mockResolvedValue(null);
    expect(await kept.item(7, {})).toBeNull();
    // Guesses push its own no out.
    for (const guess of [90, 91, 92]) expect(await kept.item(guess, {})).toBeNull();
    service.item.mockRejectedValue(down());
    expect((await rejection(kept.item(7, {}))).code).toBe('service_unavailable');
    expect((await kept.item(1042, {}))?.id).toBe(1042);
  });

  it('is served again with a list that is younger than the no', async () => {
    const { kept, service } = keptOf();
    service.item.mockResolvedValue(null);
    await kept.list({});
    time.now += 3 * HOUR;
    await kept.item(7, {});
    time.now += 1;
    await kept.list({ fresh: true });
    // Said once more, from what is kept: it is about the list of before.
    expect((await kept.item(7, {}))?.id).toBe(7);
    time.now += 3 * HOUR;
    service.item.mockRejectedValue(down());
    expect((await kept.item(7, {}))?.id).toBe(7);
  });

  it('does not serve who has left, nor for what is no outage', async () => {
    const { kept, service } = keptOf();
    await kept.list({});
    time.now += 3 * HOUR;
    const leaving = new AbortController();
    service.item.mockImplementationOnce(() => new Promise(() => {}));
    const left = kept.item(7, { signal: leaving.signal });
    leaving.abort(down());
    await expect(left).rejects.toThrow('down');
    await kept.forgetPurchase('x');
    const mistake = new TypeError('mistake');
    service.item.mockRejectedValue(mistake);
    await expect(kept.item(1042, {})).rejects.toBe(mistake);
  });

  it('is none where the service says that it has no items', async () => {
    const { kept, service } = keptOf();
    service.items.mockResolvedValueOnce(null);
    expect(await kept.list({})).toBeNull();
    await kept.item(7, {});
    expect(service.item).toHaveBeenCalledTimes(1);
  });
});

describe('forgetting everything', () => {
  it('forgets every kind', async () => {
    const { kept, service } = keptOf();
    const all = async (): Promise<void> => {
      await Promise.all([kept.account({}), kept.item(9, {}), kept.purchase(CODE, {})]);
      await kept.list({});
    };
    await all();
    await kept.forgetAll();
    await all();
    for (const asked of [service.account, service.items, service.item, service.purchase]) {
      expect(asked).toHaveBeenCalledTimes(2);
    }
  });
});

describe('closing', () => {
  it('ends the refreshes of every kind', async () => {
    const { kept, service } = keptOf();
    const all = async (): Promise<void> => {
      await Promise.all([kept.account({}), kept.item(9, {}), kept.purchase(CODE, {})]);
      await kept.list({});
    };
    await all();
    time.now += 6 * MINUTE;
    await kept.close();
    await all();
    await settle();
    for (const asked of [service.account, service.items, service.item, service.purchase]) {
      expect(asked).toHaveBeenCalledTimes(1);
    }
  });
});

describe('in a fleet', () => {
  it('every kind is shared', async () => {
    const shared = new MemorySharedCache();
    const [one, two] = [keptOf({ shared }), keptOf({ shared })];
    await Promise.all([one.kept.account({}), one.kept.item(9, {}), one.kept.purchase(CODE, {})]);
    await one.kept.list({});
    await vi.waitFor(() => expect(shared.values.size).toBe(4));
    expect(await two.kept.account({})).toEqual(account);
    expect((await two.kept.item(9, {}))?.id).toBe(9);
    expect(await two.kept.list({})).toHaveLength(2);
    expect(await two.kept.purchase(CODE, {})).toEqual(purchase);
    const { account: accounts, items, item: items1, purchase: purchases } = two.service;
    for (const asked of [accounts, items, items1, purchases]) expect(asked).not.toHaveBeenCalled();
  });

  it('a yes of another process tells the alarm that the key is good; a no, and an item, do not', async () => {
    const shared = new MemorySharedCache();
    const [one, two] = [keptOf({ shared }), keptOf({ shared })];
    await one.kept.purchase(CODE, {});
    await one.kept.item(9, {});
    one.service.purchase.mockResolvedValueOnce(null);
    await one.kept.purchase('wrong-code', {});
    await vi.waitFor(() => expect(shared.values.size).toBe(3));
    await two.kept.purchase('wrong-code', {});
    await two.kept.item(9, {});
    expect(two.service.alarm.yes).not.toHaveBeenCalled();
    await two.kept.purchase(CODE, {});
    expect(two.service.alarm.yes.mock.calls).toEqual([[CODE]]);
  });

  it.each<[string, (kept: KeptAnswers) => Promise<unknown>, string]>([
    ['account', (kept) => kept.account({}), ''],
    ['items', (kept) => kept.list({}), ''],
    ['item', (kept) => kept.item(9, {}), '9'],
    ['purchase', (kept) => kept.purchase(CODE, {}), CODE],
  ])(
    'a no to %s in one process erases the yes of the others, of that kind alone',
    async (kind, ask) => {
      const shared = new MemorySharedCache();
      const [one, two] = [keptOf({ shared }), keptOf({ shared })];
      const all = async (kept: KeptAnswers): Promise<void> => {
        await Promise.all([kept.account({}), kept.item(9, {}), kept.purchase(CODE, {})]);
        await kept.list({});
      };
      await all(one.kept);
      await all(two.kept);
      await settle();
      const services = { ...two.service };
      for (const each of [services.account, services.items, services.item, services.purchase]) {
        each.mockClear();
      }
      const method = one.service[kind as 'purchase'] as unknown as ReturnType<typeof vi.fn>;
      method.mockResolvedValueOnce(null);
      time.now += 1;
      const fresh = { fresh: true };
      if (kind === 'account') await one.kept.account(fresh);
      else if (kind === 'items') await one.kept.list(fresh);
      else if (kind === 'item') await one.kept.item(9, fresh);
      else await one.kept.purchase(CODE, fresh);
      await settle();
      await settle();
      const told = lookups();
      await ask(two.kept);
      expect(told.slice(-1)).toMatchObject([{ what: kind, source: 'shared', outcome: 'no' }]);
      told.length = 0;
      await all(two.kept);
      const others = told.filter((message) => (message as { what: string }).what !== kind);
      expect(others).toHaveLength(3);
      expect(others.every((message) => (message as { source: string }).source === 'cache')).toBe(
        true,
      );
    },
  );

  it('a yes that was wanted fresh is there for the others', async () => {
    const shared = new MemorySharedCache();
    const [one, two] = [keptOf({ shared }), keptOf({ shared })];
    await one.kept.purchase(CODE, { fresh: true });
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    await two.kept.purchase(CODE, {});
    expect(two.service.purchase).not.toHaveBeenCalled();
  });

  it('invalidations reach the others', async () => {
    const shared = new MemorySharedCache();
    const [one, two] = [keptOf({ shared }), keptOf({ shared })];
    await two.kept.purchase(CODE, {});
    await two.kept.purchase('another-code', {});
    await one.kept.forgetPurchase(CODE);
    expect(two.kept.peekPurchase(CODE)).toBeUndefined();
    expect(two.kept.peekPurchase('another-code')).toBeDefined();
    await one.kept.forgetAll();
    expect(two.kept.peekPurchase('another-code')).toBeUndefined();
  });

  it('a secret of its own is shared by processes with different api_keys', async () => {
    const shared = new MemorySharedCache();
    const secret = 'ours';
    const [one, two] = [keptOf({ shared, secret }), keptOf({ shared, secret }, () => 'new-key')];
    await one.kept.purchase(CODE, {});
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    await two.kept.purchase(CODE, {});
    expect(two.service.purchase).not.toHaveBeenCalled();
    const other = keptOf({ shared }, () => 'new-key');
    await other.kept.purchase(CODE, {});
    expect(other.service.purchase).toHaveBeenCalledTimes(1);
  });

  it('nobody listens any more once it is closed', async () => {
    const shared = new MemorySharedCache();
    const { kept } = keptOf({ shared });
    await kept.purchase(CODE, {});
    expect(shared.listeners).toBe(1);
    await kept.close();
    expect(shared.listeners).toBe(0);
  });
});
