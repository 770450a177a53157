import type { CacheOptions, KeyApiOptions, SharedCache } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { STORE_TIMEOUTS } from '../../../src/deadline.js';
import { deferred } from '../../support/deferred.js';
import { expectError, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { begun, settle } from '../../support/key-api-service.js';
import { MemorySharedCache, PlainSharedCache } from '../../support/memory-shared-cache.js';
import { CODE, KEY, purchase } from '../../support/wire.js';
import { expectRefused, moveTimeByHand, OTHER, refund, fleet as sharingFleet } from './support.js';

const METHODS = ['read', 'write', 'lock', 'publish', 'subscribe'] as const;
type Method = (typeof METHODS)[number];

const CODES = Array.from({ length: 12 }, (_, n) => `purchase-code-${12 + n}`);

const never = (): Promise<never> => new Promise(() => {});
const rejects = (): Promise<never> => Promise.reject(new Error('down'));
const throws = (): never => {
  throw new Error('down');
};

/** A fleet whose time the test moves, and whose shared cache can fail. */
function fleet() {
  const given = sharingFleet();
  return {
    ...given,
    fail: (method: Method, how: () => unknown = rejects) =>
      vi.spyOn(given.shared, method as 'read').mockImplementation(how as never),
    join: (options: Partial<KeyApiOptions> = {}, cache: CacheOptions = {}) =>
      given.join(cache, options),
  };
}

const pass = async (milliseconds: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(milliseconds);
  await settle();
};

/** Milliseconds until something holds, looked at in small steps. */
async function until(holds: () => boolean, atMost = 10_000): Promise<number> {
  const begun = performance.now();
  for (await settle(); !holds() && performance.now() - begun < atMost; ) await pass(5);
  return performance.now() - begun;
}

/** Milliseconds until a call has ended. */
async function timeOf(call: Promise<unknown>): Promise<number> {
  let isOver = false;
  void Promise.allSettled([call]).then(() => {
    isOver = true;
  });
  return until(() => isOver);
}

moveTimeByHand();

describe('a shared cache that hangs', () => {
  // Each call of it ends after 100 ms.
  it.each<[Method, number]>([
    ['read', 100],
    ['write', 0],
    ['lock', 100],
    ['publish', 0],
    ['subscribe', 100],
  ])('in %s delays a request by %d ms', async (method, milliseconds) => {
    const { service, fail, join } = fleet();
    await join().getAccount();
    fail(method, never);
    const found = join().validatePurchase(CODE);
    const waited = await until(() => service.asked() === 1);
    expect(waited).toBeGreaterThanOrEqual(milliseconds);
    expect(waited).toBeLessThanOrEqual(milliseconds + 10);
    // The answer is written before it is served: another process can have withdrawn it.
    await pass(110);
    expect(await found).toEqual(purchase);
  });

  it.each<[Method, string | undefined]>([
    ['write', CODE],
    ['publish', CODE],
    ['write', undefined],
  ])('in %s delays invalidate by 100 ms, and makes it reject', async (method, code) => {
    const { service, fail, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    const hangs = fail(method, never);
    const done = rejection(one.invalidate(code));
    expect(await timeOf(done)).toBeGreaterThanOrEqual(99);
    expect((await done).code).toBe('store_unavailable');
    hangs.mockRestore();
    await expectRefused(service, one);
  });

  it('by its own deadline, if it has one, delays a request that long', async () => {
    const { service, shared, fail, join } = fleet();
    STORE_TIMEOUTS.set(shared, 300);
    await join().getItem(1);
    fail('read', () => new Promise((_resolve, reject) => setTimeout(reject, 300)));
    const found = join().validatePurchase(CODE);
    expect(await until(() => service.asked() === 1)).toBeGreaterThanOrEqual(300);
    await pass(310);
    expect(await found).toEqual(purchase);
  });

  it('by its own deadline leaves the service three quarters of the time', async () => {
    const { service, shared, fail, join } = fleet();
    STORE_TIMEOUTS.set(shared, 1000);
    fail('read', never);
    const found = join({ timeout: 1000 }).validatePurchase(CODE);
    expect(await until(() => service.asked() === 1)).toBeLessThanOrEqual(260);
    expect(await found).toEqual(purchase);
  });

  it('takes its time from the timeout of the call', async () => {
    const { service, fail, join } = fleet();
    fail('read', never);
    service.says = 'silence';
    const found = rejection(join({ timeout: 1000 }).validatePurchase(CODE));
    expect(await timeOf(found)).toBeLessThanOrEqual(1010);
    expect((await found).code).toBe('service_unavailable');
  });

  it('lies about the order of a row: only its code does without the shared cache', async () => {
    const { service, shared, join, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    const [name = '', row] = [...shared.rows].at(-1) ?? [];
    if (row) shared.rows.set(name, { ...row, order: Number.MAX_SAFE_INTEGER });
    const two = join();
    expect(await two.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(2);
    await two.invalidate(OTHER);
    for (const each of [two, one]) await each.validatePurchase(OTHER);
    expect(service.asked()).toBe(3);
  });

  it('gives anything for a message: what is no text is dropped', async () => {
    const { shared, joinAndAsk } = fleet();
    let hear: (message: never) => void = expect.unreachable;
    vi.spyOn(shared, 'subscribe').mockImplementation(async (listener) => {
      hear = listener;
      return async () => {};
    });
    const one = await joinAndAsk();
    for (const odd of [Buffer.from('x'), 42, {}, true]) hear(odd as never);
    expect(one.peekPurchase(CODE)).toEqual(purchase);
    // JSON's form of `undefined`: messages were missed.
    hear(null as never);
    expect(one.peekPurchase(CODE)).toBeUndefined();
  });

  it('or is slow leaves half of a short timeout to the service', async () => {
    const { service, fail, join } = fleet();
    fail('read', never);
    const found = join({ timeout: 50 }).validatePurchase(CODE);
    expect(await timeOf(found)).toBeLessThanOrEqual(25);
    expect(await found).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });

  it.each([
    ['hangs', never],
    ['fails', rejects],
    ['is missing', undefined],
  ])('does not delay close: its end of the subscription %s', async (_name, end) => {
    const { shared, joinAndAsk } = fleet();
    vi.spyOn(shared, 'subscribe').mockResolvedValue(end as never);
    const one = await joinAndAsk();
    const closed = one.close();
    expect(await timeOf(closed)).toBe(0);
    await closed;
  });

  it('for a while in subscribe is listened to in the end, and left with close()', async () => {
    const { shared, join } = fleet();
    const { subscribe } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'subscribe').mockImplementation(async (listener) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return subscribe.call(shared, listener);
    });
    const one = join();
    const found = one.validatePurchase(CODE);
    await pass(310);
    await found;
    expect(shared.listeners).toBe(1);
    await one.close();
    expect(shared.listeners).toBe(0);
  });

  it('is read in time when the answer came while this process was busy', async () => {
    vi.useRealTimers();
    const { service, shared, join, joinAndAsk } = fleet();
    await joinAndAsk();
    const one = join();
    await one.getItem(1);
    const { read } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'read').mockImplementation(
      (key) => new Promise((resolve) => setImmediate(() => resolve(read.call(shared, key)))),
    );
    const found = one.validatePurchase(CODE);
    const busyUntil = performance.now() + 120;
    while (performance.now() < busyUntil);
    expect(await found).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });
});

describe('a shared cache that fails', () => {
  it.each([
    ['rejects', rejects],
    ['throws', throws],
  ])('is done without when it %s', async (_name, how) => {
    const unhandled = unhandledRejections();
    const { service, fail, join } = fleet();
    for (const method of METHODS) fail(method, how);
    const one = join();
    for (let i = 0; i < 12; i++) await one.validatePurchase(`purchase-code-${i}`);
    await one.validatePurchase('purchase-code-1', { fresh: true });
    await expectError(one.invalidate('purchase-code-1'), 'store_unavailable');
    await expectError(one.invalidate(), 'store_unavailable');
    await refund(service, one);
    await one.close();
    await settle();
    expect(service.asked()).toBe(14);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it.each(METHODS)('only in %s is used for the rest, and done without there', async (method) => {
    const { service, fail, join } = fleet();
    const fails = fail(method, throws);
    const one = join();
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    await one.invalidate(CODE).catch(() => {});
    await settle();
    fails.mockRestore();
    await expectRefused(service, one);
    expect(service.asked()).toBe(2);
  });

  it.each([42, {}, null])('and gives %j in place of an entry has none', async (odd) => {
    const { service, shared, join } = fleet();
    vi.spyOn(shared, 'read').mockResolvedValue(odd as never);
    expect(await join().validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });

  it('is left alone for half a second, then for twice as long each time, up to 5 s', async () => {
    const { service, fail, join } = fleet();
    const one = join();
    await one.getItem(1);
    await settle();
    const read = fail('read');
    let n = 0;
    const ask = () => one.validatePurchase(`purchase-code-${n++}`);
    for (let i = 0; i < 10; i++) await ask();
    expect(read).toHaveBeenCalledTimes(5);
    for (const rest of [500, 1000, 2000, 4000, 5000, 5000]) {
      read.mockClear();
      await pass(rest - 1);
      await ask();
      expect(read).not.toHaveBeenCalled();
      await pass(1);
      await Promise.all([ask(), ask()]);
      expect(read).toHaveBeenCalledTimes(1);
    }
    read.mockRestore();
    await pass(5000);
    await ask();
    await settle();
    await join().validatePurchase(`purchase-code-${n - 1}`);
    expect(service.asked()).toBe(n);
  });

  it('only by refusing writes is not left alone: it still answers and publishes', async () => {
    const { service, shared, fail, join } = fleet();
    const [one, two] = [join(), join()];
    for (const each of [one, two]) await each.validatePurchase(CODE);
    await settle();
    for (const method of ['write', 'lock'] as const) fail(method);
    for (let i = 0; i < 12; i++) await one.validatePurchase(`purchase-code-${i}`);
    const { length } = shared.messages;
    // At once, so that the refused locks of all follow the reads of all.
    await Promise.all(CODES.map((code) => one.validatePurchase(code)));
    service.says = 'negative';
    await one.validatePurchase(CODE, { fresh: true });
    expect(shared.messages.length).toBe(length + 1);
    expect(two.peekPurchase(CODE)).toBeUndefined();
  });

  it.each([
    ['rejects', rejects],
    ['throws', throws],
  ])('is subscribed to again when that %s, and then once', async (_name, how) => {
    const { shared, joinAndAsk } = fleet();
    const subscribe = vi.spyOn(shared, 'subscribe').mockImplementationOnce(how);
    const one = await joinAndAsk();
    await Promise.all([one.getItem(1), one.getItem(2)]);
    await one.getItem(3);
    expect(shared.listeners).toBe(1);
    expect(subscribe).toHaveBeenCalledTimes(2);
  });

  it('while it is left alone is not listened to after close()', async () => {
    const { shared, fail, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    for (const method of ['read', 'write', 'lock', 'publish'] as const) fail(method);
    for (let i = 0; i < 12; i++) await one.validatePurchase(`purchase-code-${i}`);
    await one.close();
    expect(shared.listeners).toBe(0);
  });
});

describe('a shared cache with the three needed methods alone', () => {
  it('shares answers and what is invalidated there, and is never taken to be down', async () => {
    const { service, join: joinFleet } = fleet();
    const shared = new PlainSharedCache();
    Object.assign(shared, { lock: undefined, subscribe: undefined, publish: undefined });
    const join = () => joinFleet({}, { shared });
    const one = join();
    for (let i = 0; i < 10; i++) await one.validatePurchase(`purchase-code-${i}`);
    await settle();
    await join().validatePurchase('purchase-code-9');
    expect(service.asked()).toBe(10);
    await one.invalidate('purchase-code-9');
    service.says = 'negative';
    expect(await join().validatePurchase('purchase-code-9')).toBeNull();
    await one.close();
  });

  it('is called as methods of it, with the name, the value and its life', async () => {
    const { service, join } = fleet();
    const calls: unknown[][] = [];
    class Own implements SharedCache {
      readonly #rows = new Map<string, string>();
      async get(...given: [string]) {
        calls.push(['get', ...given]);
        return this.#rows.get(given[0]);
      }
      async set(...given: [string, string, number]) {
        calls.push(['set', ...given]);
        this.#rows.set(given[0], given[1]);
      }
      async delete(...given: [string]) {
        calls.push(['delete', ...given]);
        this.#rows.delete(given[0]);
      }
      async lock(...given: [string, number]) {
        calls.push(['lock', ...given]);
        return async () => void this.#rows.get('');
      }
    }
    const shared = new Own();
    const one = join({}, { shared });
    await one.getItem(1);
    await settle();
    calls.length = 0;
    await one.validatePurchase(CODE);
    await settle();
    await one.invalidate(CODE);
    const name = expect.stringMatching(/^[\w-]{43}$/);
    expect(calls.filter(([method]) => method !== 'get')).toEqual([
      ['lock', expect.stringMatching(/^[\w-]{43}\.lock$/), 2000],
      ['set', name, expect.stringMatching(/^\d+:\d+:2\.[\w-]+$/), 86_400_000],
      ['set', name, expect.stringMatching(/^\d+:\d+:2\.[\w-]+$/), 86_400_000],
    ]);
    await one.validatePurchase(CODE);
    expect(service.asked()).toBe(2);
  });
});

describe('the lock of another process', () => {
  it.each([
    ['half of the timeout', 400, 200],
    ['2 seconds, however long the timeout is', 60_000, 2000],
  ])('is waited for %s', async (_name, timeout, patience) => {
    const { service, shared, join } = fleet();
    const lock = vi.spyOn(shared, 'lock').mockResolvedValue(undefined);
    const found = join({ timeout }).validatePurchase(CODE);
    const waited = await until(() => service.asked() === 1);
    expect(waited).toBeGreaterThanOrEqual(patience);
    expect(waited).toBeLessThanOrEqual(patience + 40);
    // It looks again every 12.5 to 37.5 milliseconds.
    const looks = lock.mock.calls.length;
    expect(looks).toBeGreaterThanOrEqual(patience / 38);
    expect(looks).toBeLessThanOrEqual(patience / 12);
    expect(await found).toEqual(purchase);
    // What was requested without the lock is shared all the same, beside the generation.
    await settle();
    expect(shared.rows.size).toBe(2);
  });

  it('and the service take one timeout together', async () => {
    const { service, fail, join } = fleet();
    fail('lock', async () => undefined);
    service.says = 'silence';
    const found = rejection(join({ timeout: 400 }).validatePurchase(CODE));
    expect(await timeOf(found)).toBeLessThanOrEqual(410);
    expect((await found).code).toBe('service_unavailable');
  });
});

describe('the own lock is released', () => {
  it('when the answer is there by then: the service is not asked', async () => {
    const { service, shared, join } = fleet();
    const [one, other] = [join(), join()];
    const { lock } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'lock').mockImplementationOnce(async (key) => {
      await other.validatePurchase(CODE, { fresh: true });
      await settle();
      return lock.call(shared, key);
    });
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
    await settle();
    expect(shared.locks.size).toBe(0);
  });

  it('when the shared cache fails behind it: the service is asked', async () => {
    const { service, shared, join } = fleet();
    const one = join();
    await one.getItem(1);
    const { read } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'read')
      .mockImplementationOnce((key) => read.call(shared, key))
      .mockRejectedValueOnce(new Error('x'));
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
    await settle();
    expect(shared.locks.size).toBe(0);
  });

  it('when the answer is there for the others, and not before', async () => {
    const { shared, join } = fleet();
    await join().getAccount();
    const turn = deferred();
    const { write } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'write').mockImplementationOnce(async (...given) => {
      await turn.promise;
      return write.apply(shared, given);
    });
    const [found] = await begun(join().validatePurchase(CODE));
    expect(shared.locks.size).toBe(1);
    turn.resolve();
    await found;
    await settle();
    expect(shared.locks.size).toBe(0);
  });

  it('and that this fails is no error', async () => {
    const unhandled = unhandledRejections();
    const { shared, join } = fleet();
    vi.spyOn(shared, 'lock').mockResolvedValue(rejects);
    expect(await join().validatePurchase(CODE)).toEqual(purchase);
    await settle();
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('an api_key that takes long', () => {
  it('is waited for 100 ms, and then the shared cache is done without', async () => {
    const { service, shared, join } = fleet();
    let give: (key: string) => void = () => {};
    const apiKey = () =>
      new Promise<string>((resolve) => {
        give = resolve;
      });
    const one = join({ apiKey });
    const found = one.validatePurchase(CODE);
    const forgotten = rejection(one.invalidate(OTHER));
    await pass(110);
    expect((await forgotten).code).toBe('store_unavailable');
    give(KEY);
    expect(await found).toEqual(purchase);
    await pass(110);
    expect([...shared.calls, ...shared.messages]).toEqual([]);
    expect(service.asked()).toBe(1);
  });

  it('without end is ended by the timeout', async () => {
    const { join } = fleet();
    const found = rejection(join({ apiKey: never, timeout: 300 }).validatePurchase(CODE));
    await pass(310);
    expect((await found).code).toBe('service_unavailable');
  });
});
