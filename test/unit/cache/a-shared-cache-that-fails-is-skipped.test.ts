import type { SharedCache } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { expectError, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { cachedPurchase, settle } from '../../support/key-api-service.js';
import { CODE, guess, KEY, purchase } from '../../support/wire.js';
import { FAULTS, type Fault, fleet, KINDS, MINUTE, moveTimeByHand, OTHER } from './support.js';

// "A shared cache that fails, hangs or lies (corrupt bytes) is skipped within a short deadline." (contract, section 2)

moveTimeByHand();

type Method = keyof SharedCache;

const never = (): Promise<never> => new Promise(() => {});
const rejects = (): Promise<never> => Promise.reject(new Error('down'));
const throws = (): never => {
  throw new Error('down');
};

/** A fleet in whose shared cache a method can fail. */
function failing() {
  const given = fleet();
  return {
    ...given,
    fail: (method: Method, how: () => unknown) =>
      vi.spyOn(given.shared, method as 'read').mockImplementation(how as never),
    /** Milliseconds until a call has ended. */
    timeOf: async (call: Promise<unknown>): Promise<number> => {
      const begun = performance.now();
      await given.during(Promise.allSettled([call]));
      return performance.now() - begun;
    },
  };
}

it.each(KINDS)(
  'a shared cache that is down: %s is answered by the service',
  async (_kind, ask, answer) => {
    const { fail, join, during } = failing();
    for (const method of ['read', 'write', 'lock', 'publish', 'subscribe'] as const)
      fail(method, rejects);
    expect(await during(ask(join()))).toEqual(answer);
  },
);

describe('a shared cache that hangs', () => {
  // What is not the `timeout` of the call, which is 10 s: an answer is stored before it is served.
  it.each<[Method, number, number?]>([
    ['read', 100],
    ['write', 100],
    ['lock', 100],
    ['publish', 0],
    ['subscribe', 100],
    ['read', 25, 100],
  ])('in %s delays a lookup by %d ms', async (method, milliseconds, timeout = 10_000) => {
    const { fail, timeOf, join } = failing();
    fail(method, never);
    const found = join({}, { timeout }).validatePurchase(CODE);
    const elapsed = await timeOf(found);
    expect(elapsed).toBeGreaterThanOrEqual(milliseconds);
    expect(elapsed).toBeLessThanOrEqual(milliseconds + 10);
    expect(await found).toEqual(purchase);
  });

  it.each<Method>(['write', 'publish'])('in %s delays invalidate by 100 ms', async (method) => {
    const { fail, timeOf, joinAndAsk } = failing();
    const one = await joinAndAsk();
    fail(method, never);
    const done = rejection(one.invalidate(CODE));
    expect(await timeOf(done)).toBeLessThanOrEqual(110);
    expect((await done).code).toBe('store_unavailable');
  });

  it.each<[Method, () => unknown]>([
    ['read', never],
    ['lock', async () => undefined],
  ])('or is waited for in %s takes its time from the timeout of the call', async (method, how) => {
    const { service, fail, timeOf, join } = failing();
    fail(method, how);
    service.says = 'silence';
    const found = rejection(join({}, { timeout: 400 }).validatePurchase(CODE));
    expect(await timeOf(found)).toBeLessThanOrEqual(410);
    expect((await found).code).toBe('service_unavailable');
  });

  it.each([
    ['hangs', never],
    ['fails', rejects],
  ])('does not delay close(): its end of the subscription %s', async (_name, end) => {
    const { fail, timeOf, joinAndAsk } = failing();
    fail('subscribe', async () => end);
    expect(await timeOf((await joinAndAsk()).close())).toBe(0);
  });

  it('for a while in subscribe is listened to in the end, and left with close()', async () => {
    const { shared, join, joinTwo, refund, pass } = failing();
    const subscribe = shared.subscribe.bind(shared);
    const slow = vi.spyOn(shared, 'subscribe').mockImplementation(async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return subscribe(...given);
    });
    const late = join();
    const found = late.validatePurchase(CODE);
    await pass(310);
    await found;
    slow.mockRestore();
    await late.validatePurchase(CODE);
    await refund((await joinTwo())[0]);
    expect(await cachedPurchase(late, CODE)).toBeUndefined();
    await late.close();
    expect(shared.listeners).toBe(2);
  });
});

describe('a shared cache that fails', () => {
  it.each([
    ['rejects', rejects],
    ['throws', throws],
  ])('is done without when it %s', async (_name, how) => {
    const unhandled = unhandledRejections();
    const { service, fail, join, refund, during } = failing();
    for (const method of ['read', 'write', 'lock', 'publish', 'subscribe', 'delete'] as const)
      fail(method, how);
    const one = join();
    for (let n = 0; n < 12; n++) await one.validatePurchase(guess(n));
    expect((await rejection(during(one.invalidate()))).code).toBe('store_unavailable');
    await refund(one);
    await one.close();
    await settle();
    expect(service.asked()).toBe(13);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it.each(FAULTS)('costs no request of what a process holds itself: %s', async (fault) => {
    const { service, joinAndAsk, expectSold, during } = failing();
    const one = await joinAndAsk();
    one.link.break(fault);
    for (let n = 0; n < 20; n++) await expectSold(one);
    expect(service.asked()).toBe(1);
    service.says = 'negative';
    expect(await during(one.validatePurchase(OTHER))).toBeNull();
    expect(await during(one.validatePurchase(OTHER))).toBeNull();
    expect(service.asked()).toBe(2);
  });

  it.each<Fault>(['frozen', 'cut'])(
    'and is left alone keeps no stale answer from being served at once, and refreshed: %s',
    async (fault) => {
      const { service, joinAndAsk, expectRefused, during, pass } = failing();
      const one = await joinAndAsk();
      one.link.break(fault);
      for (let n = 0; n < 3; n++) await during(one.validatePurchase(guess(n)));
      service.later(6 * MINUTE, 'negative');
      expect(await cachedPurchase(one, CODE)).toEqual(purchase);
      await pass(200);
      await expectRefused(one);
    },
  );

  it('is left alone for two seconds after three failed reads, and then asked again', async () => {
    const { service, fail, join, pass, during } = failing();
    const one = join();
    await one.getItem(1);
    const read = fail('read', never);
    let n = 0;
    const ask = () => during(one.validatePurchase(guess(n++)));
    for (let i = 0; i < 5; i++) await ask();
    expect(read).toHaveBeenCalledTimes(3);
    await pass(2000);
    await ask();
    expect(read).toHaveBeenCalledTimes(4);
    read.mockRestore();
    await pass(2000);
    await ask();
    await join().validatePurchase(guess(n - 1));
    expect(service.asked()).toBe(n);
  });

  it('only by refusing writes is not left alone: it still answers and publishes', async () => {
    const { service, shared, joinTwo, refund } = failing();
    const [one, two] = await joinTwo();
    one.link.break('full');
    for (let n = 0; n < 12; n++) await one.validatePurchase(guess(n));
    await refund(one);
    expect(shared.messages).toHaveLength(1);
    service.says = 'outage';
    expect(await cachedPurchase(two, CODE)).toBeUndefined();
  });

  it('between the lock and the second look leaves no lock behind', async () => {
    const { shared, join } = failing();
    const one = join();
    await one.getItem(1);
    const read = shared.read.bind(shared);
    vi.spyOn(shared, 'read').mockImplementationOnce(read).mockRejectedValueOnce(new Error('down'));
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(shared.locks.size).toBe(0);
  });
});

describe('a shared cache that lies', () => {
  it.each([
    ['read', [42, null, { value: 7, order: 1, now: 1 }, { order: '1', now: 1 }, { order: 1 }]],
    ['write', [42, null, 'yes']],
    ['lock', [42, null, 'yes']],
    ['publish', [42, null, 'yes']],
  ] as const)('in %s changes no answer', async (method, lies) => {
    for (const odd of lies) {
      const { service, fail, join, expectRefused, refund } = failing();
      fail(method, async () => odd);
      const one = join();
      expect(await one.validatePurchase(CODE)).toEqual(purchase);
      expect(service.asked()).toBe(1);
      await refund(one);
      await expectRefused(one);
    }
  });
});

it('an api_key that takes long is waited for 100 ms by a lookup, and is used once it is known', async () => {
  const { shared, join, pass, during } = failing();
  const apiKey = () => new Promise<string>((resolve) => setTimeout(() => resolve(KEY), 150));
  const one = join({}, { apiKey });
  expect(await during(one.validatePurchase(CODE))).toEqual(purchase);
  expect(shared.rows.size).toBe(0);
  await pass(100);
  expect(await during(one.validatePurchase(OTHER))).not.toBeNull();
  expect(shared.rows.size).toBe(1);
});

it('an api_key that takes long is waited for by the first invalidate, for half of the timeout at most', async () => {
  const { join, joinAndAsk, timeOf, during, expectRefused } = failing();
  const two = await joinAndAsk();
  const apiKey = () => new Promise<string>((resolve) => setTimeout(() => resolve(KEY), 1000));
  await during(join({}, { apiKey }).invalidate(CODE));
  await expectRefused(two);
  const never = join({}, { apiKey: () => new Promise<string>(() => {}) });
  const failure = expectError(never.invalidate(CODE), 'store_unavailable');
  expect(await timeOf(failure)).toBeCloseTo(5000, -2);
});

it('an api_key that comes after close() subscribes to nothing', async () => {
  const { shared, join } = fleet();
  const key = deferred<string>();
  const one = join({}, { apiKey: () => key.promise });
  const found = rejection(one.validatePurchase(CODE));
  await settle();
  await one.close();
  key.resolve(KEY);
  expect((await found).code).toBe('service_unavailable');
  expect([shared.calls, shared.listeners]).toEqual([[], 0]);
});

it('a shared cache that is left alone does not make a lookup ask the app for its api_key once more', async () => {
  const { service, join, during } = fleet();
  const apiKey = vi.fn(() => KEY);
  const one = join({}, { apiKey });
  one.link.break('cut');
  for (let n = 0; n < 3; n++) await during(one.validatePurchase(guess(n)));
  apiKey.mockClear();
  await during(one.validatePurchase(CODE));
  // To read the shared cache, and for the request.
  expect(apiKey).toHaveBeenCalledTimes(2);
  service.says = 'outage';
  for (let n = 3; n < 9; n++) await during(rejection(one.validatePurchase(guess(n))));
  expect(await one.isDown()).toBe(true);
  apiKey.mockClear();
  await rejection(one.validatePurchase(guess(9)));
  expect(apiKey).not.toHaveBeenCalled();
});

it('a shared cache that hangs in write gets what waits one after another, however much is added', async () => {
  const { shared, join, during, pass, fail } = failing();
  const one = join();
  await one.validatePurchase(CODE);
  const write = fail('write', never);
  const invalidate = (n: number) => during(rejection(one.invalidate(guess(n))));
  for (let n = 0; n < 40; n++) await invalidate(n);
  for (let n = 40; n < 45; n++) {
    await invalidate(n);
    await pass(3000);
  }
  write.mockClear();
  await pass(10_000);
  // Each takes 100 ms.
  expect(write.mock.calls.length).toBeLessThanOrEqual(100);
  expect(shared.messages.length).toBeGreaterThan(0);
});
