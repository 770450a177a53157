import type { KeyApi, SharedCache } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { Link } from '../../model/fleet-model.js';
import { deferred } from '../../support/deferred.js';
import { expectError, rejection } from '../../support/errors.js';
import { begun, ITEM, KeyApiService, settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json } from '../../support/service-in-memory.js';
import { CODE, item, KEY, refusal } from '../../support/wire.js';
import {
  expectRefused,
  expectUnavailable,
  fleet,
  HOUR,
  linkTo,
  MINUTE,
  moveTimeByHand,
  pairOf,
  refund,
} from './support.js';

// What the contract promises of processes that share a cache (section 2), seen from outside.

describe('an api_key that is rejected', () => {
  const REJECTED = 'api_key_rejected';
  const OUTAGE = 'service_unavailable';

  /** Two processes that both hold the account; the key is unknown from then on. */
  async function accountHolders() {
    const given = await pairOf(fleet(), (each) => each.getAccount());
    const { one, two, join } = given;
    given.service.keys = new Set();
    /** Both, and a process that starts now, get this error for the account. */
    const expectAll = async (code: string) => {
      for (const each of [one, two, join()]) await expectError(each.getAccount(), code);
    };
    return { ...given, expectAll };
  }

  it.each<[string, (one: ReturnType<KeyApiService['client']>) => Promise<unknown>]>([
    ['getAccount', (one) => one.getAccount({ fresh: true })],
    ['the check of the key behind a negative answer', (one) => one.validatePurchase(CODE)],
  ])('withdraws the account in every process: heard by %s', async (_by, hear) => {
    const { service, one, expectAll } = await accountHolders();
    // The check of a key is remembered for some minutes.
    service.now += 6 * MINUTE;
    await expectError(hear(one), REJECTED);
    await settle();
    await expectAll(REJECTED);
    service.says = 'outage';
    await expectAll(OUTAGE);
  });

  it('is told later where the shared cache refuses it', async () => {
    const { service, shared, one, expectAll } = await accountHolders();
    for (const method of ['write', 'publish'] as const) shared.broken.add(method);
    await expectError(one.getAccount({ fresh: true }), REJECTED);
    service.says = 'outage';
    await expectError(one.getAccount(), OUTAGE);
    shared.broken.clear();
    shared.reconnect();
    await settle();
    await expectAll(OUTAGE);
  });

  it('that is accepted again gives the account again', async () => {
    const { service, one, two, join } = await accountHolders();
    await rejection(one.getAccount({ fresh: true }));
    service.keys = undefined;
    for (const each of [one, two, join()]) {
      expect((await each.getAccount()).username).toBe('adanorth');
    }
  });
});

describe('positive answers that arrive in another order than they were requested', () => {
  const ORDERS: [string, number[]][] = [
    ['the last one first', [7, 6, 5, 4, 3, 2, 1, 0]],
    ['mixed', [3, 7, 0, 5, 1, 6, 2, 4]],
  ];

  it.each(
    ORDERS.flatMap(([name, order]) => [
      [`of processes that ask at once, ${name}`, order, { processes: 8, cache: {} }] as const,
      [`of one process without ttl, ${name}`, order, { processes: 1, cache: { ttl: 0 } }] as const,
    ]),
  )('are all served: %s', async (_name, order, { processes, cache }) => {
    const { service, join } = fleet();
    const fleetOf = Array.from({ length: processes }, () => join(cache));
    for (const each of fleetOf) await each.getAccount({ fresh: true });
    service.hold();
    const found = order.map((_, n) =>
      (fleetOf[n % processes] ?? join()).validatePurchase(CODE, { fresh: true }),
    );
    await settle();
    for (const n of order) await service.release(n);
    await service.release();
    expect(await Promise.all(found)).toMatchObject(Array(8).fill({ purchase_code: CODE }));
    expect(service.asked()).toBe(8);
  });

  it('leave the latest one to be served by all of them', async () => {
    const given = await pairOf(fleet(), (each) => each.getAccount({ fresh: true }));
    const { service, one, two, join } = given;
    service.hold();
    service.item = { ...item, version: 'first' };
    const [late] = await begun(one.validatePurchase(CODE, { fresh: true }));
    service.now += 1;
    service.item = { ...item, version: 'second' };
    const [quick] = await begun(two.validatePurchase(CODE, { fresh: true }));
    await service.release(1);
    await service.release();
    for (const found of [late, quick]) expect((await found)?.purchase_code).toBe(CODE);
    service.says = 'outage';
    for (const each of [one, two, join()]) {
      expect((await each.validatePurchase(CODE))?.item.version).toBe('second');
    }
  });

  it('are served over a row of a later order that nobody can read', async () => {
    const { service, shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    service.hold();
    const [found] = await begun(one.validatePurchase(CODE, { fresh: true }));
    for (const [name, row] of shared.rows) {
      shared.rows.set(name, { ...row, value: 'forged', order: Number.MAX_SAFE_INTEGER });
    }
    await service.release();
    expect((await found)?.purchase_code).toBe(CODE);
  });

  it('are not served when the later answer is negative', async () => {
    const { service, shared, one, two } = await pairOf(fleet());
    service.hold();
    const [late] = await begun(one.validatePurchase(CODE, { fresh: true }));
    service.says = 'negative';
    const [heard] = await begun(two.validatePurchase(CODE, { fresh: true }));
    shared.broken.add('publish');
    await service.release(1);
    await service.release(2);
    expect(service.asked()).toBe(3);
    await service.release();
    expect(await late).toBeNull();
    expect(await heard).toBeNull();
  });
});

describe('a negative answer about one item of a list', () => {
  /** The service has taken an item off, and only its list still has it. */
  function takeOff({ service }: ReturnType<typeof fleet>): void {
    service.override = ({ path }) => (path === ITEM ? json(refusal('Item Not Found')) : undefined);
  }

  async function twoWithList() {
    const given = await pairOf(fleet(), (each) => each.listItems());
    given.service.now += 1;
    takeOff(given);
    return given;
  }

  it.each<[string, (given: Awaited<ReturnType<typeof twoWithList>>) => unknown]>([
    ['that holds the list', ({ two }) => two],
    ['that takes the list from the shared cache', ({ join }) => join()],
    [
      'that holds the list, and has missed the message',
      async ({ two, shared }) => {
        shared.reconnect();
        await settle();
        return two;
      },
    ],
  ])('holds in a process %s', async (_name, processOf) => {
    const given = await twoWithList();
    const { service, shared, one } = given;
    if (_name.includes('missed')) vi.spyOn(shared, 'publish').mockResolvedValueOnce();
    expect(await one.getItem(1042, { fresh: true })).toBeNull();
    await settle();
    const other = (await processOf(given)) as KeyApi;
    for (const each of [one, other]) {
      await each.listItems();
      expect(await each.getItem(1042)).toBeNull();
      expect((await each.getItem(1043))?.id).toBe(1043);
    }
    expect(service.asked(ITEM)).toBe(1);
    // Its own negative answer has expired, and the service cannot be asked.
    service.override = undefined;
    service.says = 'outage';
    for (const passed of [MINUTE, 23 * HOUR]) {
      service.now += passed;
      for (const each of [one, other]) {
        await expectError(each.getItem(1042), 'service_unavailable');
        expect((await each.getItem(1043))?.id).toBe(1043);
      }
    }
  });

  it('holds against a list that was requested before and arrives later', async () => {
    const given = await pairOf(fleet(), (each) => each.getAccount());
    const { service, one, two } = given;
    service.hold();
    const [list] = await begun(two.listItems());
    service.now += 1;
    takeOff(given);
    const [heard] = await begun(one.getItem(1042, { fresh: true }));
    await service.release(1);
    expect(await heard).toBeNull();
    await service.release();
    expect((await list).map(({ id }) => id)).toEqual([1042, 1043]);
    expect(await two.getItem(1042)).toBeNull();
    expect((await two.getItem(1043))?.id).toBe(1043);
  });

  it('does not hold against a list that was requested later', async () => {
    const { service, one, two, join } = await twoWithList();
    expect(await one.getItem(1042, { fresh: true })).toBeNull();
    service.now += 1;
    await one.listItems({ fresh: true });
    await settle();
    service.says = 'outage';
    service.override = undefined;
    for (const each of [one, join()]) {
      await each.listItems();
      expect((await each.getItem(1042))?.id).toBe(1042);
    }
    expect(await two.getItem(1042)).toBeNull();
  });

  it('is looked for once in each list', async () => {
    const { shared, two } = await twoWithList();
    await two.getItem(1043);
    shared.calls.length = 0;
    for (let n = 0; n < 3; n++) expect((await two.getItem(1043))?.id).toBe(1043);
    expect(shared.calls).toEqual([]);
  });
});

it.each<[string, (one: KeyApi, service: KeyApiService) => Promise<unknown>]>([
  [
    'a negative answer',
    async (one, service) => {
      service.says = 'negative';
      await one.validatePurchase(CODE, { fresh: true });
    },
  ],
  ['an invalidation', (one) => rejection(one.invalidate(CODE))],
])('a full shared cache that deletes brings no old answer back: %s', async (_by, hear) => {
  const { service, shared, one, two, join } = await pairOf(fleet());
  shared.broken.add('write').add('set');
  await hear(one, service);
  await settle();
  service.now += MINUTE;
  await expectUnavailable(service, one, two, join());
  // The process that heard it has ended before there was room again.
  await one.close();
  shared.broken.clear();
  await expectUnavailable(service, join());
});

describe('a negative answer whose order is not after that of the positive one', () => {
  /** Two processes that hold a positive answer; the shared cache fails over and loses it. */
  async function failover(step: number) {
    const service = new KeyApiService();
    let skew = 0;
    const shared = new MemorySharedCache(() => service.now + skew);
    const join = () => service.client({ cache: { shared } });
    const given = await pairOf({ service, shared, join });
    skew = step;
    shared.rows.clear();
    return given;
  }

  it.each<[string, number]>([
    ['five minutes behind', -5 * MINUTE],
    ['an hour ahead', HOUR],
  ])('counts after a failover to a clock %s', async (_name, step) => {
    const { service, one, two } = await failover(step);
    await refund(service, one);
    await settle();
    service.now += MINUTE;
    await expectUnavailable(service, one, two);
  });

  it.each<[string, boolean]>([
    ['by its message', true],
    ['by looking', false],
  ])('counts when messages were missed, and another process heard it: %s', async (_name, hears) => {
    const { service, shared, two, join } = await failover(-5 * MINUTE);
    shared.reconnect();
    await settle();
    service.says = 'negative';
    if (!hears) shared.broken.add('publish');
    expect(await join().validatePurchase(CODE, { fresh: true })).toBeNull();
    await settle();
    shared.broken.clear();
    service.says = 'outage';
    const found = await two.validatePurchase(CODE).catch((error) => error.code);
    expect([null, 'service_unavailable']).toContain(found);
    service.now += MINUTE;
    await expectUnavailable(service, two);
  });

  it.each([
    ['the positive one arrives first', [0, 1]],
    ['the negative one arrives first', [1, 0]],
  ])('counts when both began at the same moment: %s', async (_name, order) => {
    const given = await pairOf(fleet(), (each) => each.getAccount({ fresh: true }));
    const { service, shared, one, two, join } = given;
    const { read } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'read').mockImplementation(async (key) => ({
      ...(await read.call(shared, key)),
      now: (service.now + HOUR) * 1000,
    }));
    service.hold();
    const [positive] = await begun(one.validatePurchase(CODE, { fresh: true }));
    service.says = 'negative';
    const [negative] = await begun(two.validatePurchase(CODE, { fresh: true }));
    for (const n of order) await service.release(n);
    await service.release();
    await Promise.all([positive, negative]);
    await settle();
    service.now += MINUTE;
    await expectUnavailable(service, one, two, join());
  });
});

describe('an api_key that comes slowly', () => {
  moveTimeByHand();

  const apiKey = () => new Promise<string>((resolve) => setTimeout(() => resolve(KEY), 150));

  async function pass<T>(call: Promise<T>): Promise<T> {
    call.catch(() => {});
    for (let n = 0; n < 20; n++) {
      await vi.advanceTimersByTimeAsync(50);
      await settle();
    }
    return call;
  }

  it('does not keep a process from what the others invalidate', async () => {
    const { service, join } = fleet();
    const late = join({}, { apiKey });
    const one = join();
    expect((await pass(late.validatePurchase(CODE)))?.purchase_code).toBe(CODE);
    await pass(one.validatePurchase(CODE));
    await pass(one.invalidate(CODE));
    expect(late.peekPurchase(CODE)).toBeUndefined();
    service.says = 'negative';
    expect(await pass(late.validatePurchase(CODE))).toBeNull();
    await pass(late.invalidate(CODE));
  });

  it('does not hide what was invalidated before it came', async () => {
    const { service, join } = fleet();
    const late = join({}, { apiKey });
    const one = join();
    // The service is asked once the key is there, and so is the shared cache.
    const found = late.validatePurchase(CODE);
    await pass(one.validatePurchase(CODE));
    await pass(one.invalidate(CODE));
    await pass(found);
    await pass(one.invalidate(CODE));
    service.says = 'negative';
    expect(await pass(late.validatePurchase(CODE))).toBeNull();
  });

  it('is known from the last time: what is shared costs no wait for it', async () => {
    const { service, join } = fleet();
    const late = join({}, { apiKey });
    await pass(late.getAccount());
    await pass(join().validatePurchase(CODE));
    const found = late.validatePurchase(CODE);
    await vi.advanceTimersByTimeAsync(20);
    expect((await found)?.purchase_code).toBe(CODE);
    expect(service.asked()).toBe(1);
  });
});

describe('a process that receives no messages', () => {
  type Subscribe = NonNullable<SharedCache['subscribe']>;
  const retrying: Subscribe = async (_onInvalidate, onListening) => {
    onListening?.(false);
    return async () => {};
  };

  /** A fleet, and a process of it whose subscription does not stand. */
  function fleetWithDeaf(subscribe: Subscribe) {
    const given = fleet();
    const shared = linkTo(given.shared, { subscribe });
    return { ...given, deaf: given.service.client({ cache: { shared } }) };
  }

  it.each<[string, Subscribe]>([
    ['the subscription is refused', () => Promise.reject(new Error('NOPERM'))],
    ['the subscription is tried again and again', retrying],
    [
      'the connection is lost',
      async (_onInvalidate, onListening) => {
        onListening?.(true);
        queueMicrotask(() => onListening?.(false));
        return async () => {};
      },
    ],
  ])('looks into the shared cache first: %s', async (_name, subscribe) => {
    const { service, deaf, join } = fleetWithDeaf(subscribe);
    const one = join();
    for (const each of [deaf, one, deaf]) await each.validatePurchase(CODE);
    await settle();
    expect(service.asked()).toBe(1);
    service.says = 'negative';
    await one.validatePurchase(CODE, { fresh: true });
    expect(await deaf.validatePurchase(CODE)).toBeNull();
    expect(service.asked()).toBe(2);
    service.later(MINUTE, 'positive');
    await one.validatePurchase(CODE);
    expect((await deaf.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    expect(service.asked()).toBe(3);
    await one.invalidate(CODE);
    await expectRefused(service, deaf);
  });

  it('serves its own answers while the shared cache cannot be asked at all', async () => {
    const { service, shared, deaf, join } = fleetWithDeaf(retrying);
    await deaf.validatePurchase(CODE);
    await join().validatePurchase(CODE);
    for (const method of ['read', 'write', 'lock', 'publish'] as const) shared.broken.add(method);
    for (let n = 0; n < 20; n++) {
      expect((await deaf.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    }
    expect(service.asked()).toBe(1);
  });

  it('says of a cached repeat that it cost no request, while the shared cache cannot be asked', async () => {
    const { service, shared, deaf } = fleetWithDeaf(retrying);
    service.says = 'negative';
    const onCached = vi.fn();
    expect(await deaf.validatePurchase(CODE, { onCached })).toBeNull();
    expect(onCached).not.toHaveBeenCalled();
    shared.broken.add('read');
    expect(await deaf.validatePurchase(CODE, { onCached })).toBeNull();
    expect(service.asked()).toBe(1);
    expect(onCached).toHaveBeenCalledTimes(1);
  });

  it('serves them again without a look once messages arrive', async () => {
    let onListening: (isListening: boolean) => void = () => {};
    const { service, deaf } = fleetWithDeaf(async (_onInvalidate, listening) => {
      onListening = listening ?? onListening;
      onListening(false);
      return async () => {};
    });
    await deaf.validatePurchase(CODE);
    expect(deaf.peekPurchase(CODE)).toBeUndefined();
    onListening(true);
    // What came while it was deaf was missed.
    expect(deaf.peekPurchase(CODE)).toBeUndefined();
    await deaf.validatePurchase(CODE);
    expect(deaf.peekPurchase(CODE)?.purchase_code).toBe(CODE);
    expect(service.asked()).toBe(1);
  });
});

it.each([
  ['this process', 0],
  ['another process', 1],
])('what %s invalidates is not read from a row that was on its way', async (_by, n) => {
  // So that the deadline of the held read cannot pass.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { service, shared } = fleet();
  const arrival = deferred();
  let isHeld = false;
  const slow = linkTo(shared, {
    read: async (key) => {
      const row = await shared.read(key);
      if (isHeld && row.value !== undefined) await arrival.promise;
      return row;
    },
  });
  const reader = service.client({ cache: { shared: slow } });
  const other = service.client({ cache: { shared } });
  await reader.getAccount();
  await other.validatePurchase(CODE);
  isHeld = true;
  const [lookup] = await begun(reader.validatePurchase(CODE));
  isHeld = false;
  service.says = 'negative';
  await (n === 0 ? reader : other).invalidate();
  await settle();
  arrival.resolve();
  expect(await lookup).toBeNull();
  expect(await reader.validatePurchase(CODE)).toBeNull();
});

it('a later negative answer counts also where an earlier one of this process cannot be sent again', async () => {
  const { service, shared, join } = fleet();
  const link = new Link(shared, false);
  const one = join({ shared: link });
  const other = join();
  await one.getAccount();
  await expectRefused(service, one);
  link.setState('cut');
  service.says = 'positive';
  expect(await one.validatePurchase(CODE, { fresh: true })).not.toBeNull();
  await refund(service, other);
  // Back, but Redis has become read-only: the earlier negative answer cannot be sent again.
  link.setState('read-only');
  await settle();
  service.says = 'outage';
  expect(await one.validatePurchase(CODE)).toBeNull();
});

it('an invalidation is known to its own process when the clock of the shared cache steps back', async () => {
  const { service, shared, one, two } = await pairOf(fleet(), (each) => each.getAccount());
  await two.invalidate('another-purchase-code');
  service.now -= MINUTE;
  shared.broken.add('write');
  await one.validatePurchase(CODE);
  shared.broken.clear();
  await refund(service, two);
  expect(await one.validatePurchase(CODE)).toBeNull();
});
