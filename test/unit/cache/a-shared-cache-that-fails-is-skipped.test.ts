import type { SharedCache } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { settle } from '../../support/key-api-service.js';
import { CODE, guess, KEY, purchase } from '../../support/wire.js';
import { FAULTS, fleet, MINUTE, moveTimeByHand, OTHER } from './support.js';

// "A shared cache that fails, hangs or lies (corrupt bytes) is skipped within a short deadline." (contract, section 2)

moveTimeByHand();

const METHODS = ['read', 'write', 'lock', 'publish', 'subscribe'] as const;
type Method = (typeof METHODS)[number];

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
    fail: (method: keyof SharedCache, how: () => unknown = rejects) =>
      vi.spyOn(given.shared, method as 'read').mockImplementation(how as never),
  };
}

describe('a shared cache that hangs', () => {
  /** Milliseconds until a call has ended. */
  async function timeOf(call: Promise<unknown>, { during }: ReturnType<typeof failing>) {
    const begun = performance.now();
    await during(Promise.allSettled([call]));
    return performance.now() - begun;
  }

  // Each call of it ends after 100 ms.
  it.each<[Method, number]>([
    ['read', 100],
    // An answer is stored before it is served, because another process can have a later one.
    ['write', 100],
    ['lock', 100],
    ['publish', 0],
    ['subscribe', 100],
  ])('in %s delays a lookup by %d ms', async (method, milliseconds) => {
    const given = failing();
    given.fail(method, never);
    const found = given.join().validatePurchase(CODE);
    const elapsed = await timeOf(found, given);
    expect(elapsed).toBeGreaterThanOrEqual(milliseconds);
    expect(elapsed).toBeLessThanOrEqual(milliseconds + 10);
    expect(await found).toEqual(purchase);
  });

  it.each<[Method, string | undefined]>([
    ['write', CODE],
    ['publish', CODE],
    ['write', undefined],
  ])('in %s delays invalidate by 100 ms', async (method, code) => {
    const given = failing();
    const one = await given.joinAndAsk();
    given.fail(method, never);
    const done = rejection(one.invalidate(code));
    expect(await timeOf(done, given)).toBeLessThanOrEqual(110);
    expect((await done).code).toBe('store_unavailable');
  });

  it('leaves three quarters of a short timeout to the service', async () => {
    const given = failing();
    given.fail('read', never);
    const found = given.join({}, { timeout: 100 }).validatePurchase(CODE);
    expect(await timeOf(found, given)).toBeLessThanOrEqual(30);
    expect(await found).toEqual(purchase);
  });

  it.each<[Method, () => unknown]>([
    ['read', never],
    ['lock', async () => undefined],
  ])('or is waited for in %s takes its time from the timeout of the call', async (method, how) => {
    const given = failing();
    given.fail(method, how);
    given.service.says = 'silence';
    const found = rejection(given.join({}, { timeout: 400 }).validatePurchase(CODE));
    expect(await timeOf(found, given)).toBeLessThanOrEqual(410);
    expect((await found).code).toBe('service_unavailable');
  });

  it.each([
    ['hangs', never],
    ['fails', rejects],
    ['is missing', undefined],
  ])('does not delay close(): its end of the subscription %s', async (_name, end) => {
    const given = failing();
    given.fail('subscribe', async () => end);
    const one = await given.joinAndAsk();
    expect(await timeOf(one.close(), given)).toBe(0);
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
    expect(shared.listeners).toBe(1);
    slow.mockRestore();
    await late.validatePurchase(CODE);
    await refund((await joinTwo())[0]);
    expect(late.peekPurchase(CODE)).toBeUndefined();
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
    for (const method of [...METHODS, 'delete'] as const) fail(method, how);
    const one = join();
    for (let i = 0; i < 12; i++) await one.validatePurchase(`purchase-code-${i}`);
    await one.validatePurchase('purchase-code-1', { fresh: true });
    for (const code of [OTHER, undefined]) {
      await expectError(during(one.invalidate(code)), 'store_unavailable');
    }
    await refund(one);
    await one.close();
    await settle();
    expect(service.asked()).toBe(14);
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
    const onCached = vi.fn();
    expect(await during(one.validatePurchase(OTHER, { onCached }))).toBeNull();
    expect(onCached).toHaveBeenCalledOnce();
  });

  it('keeps no stale answer from being refreshed', async () => {
    const { service, joinAndAsk, expectSold, expectRefused, pass } = failing();
    const one = await joinAndAsk();
    one.link.break('frozen');
    service.later(6 * MINUTE, 'negative');
    await expectSold(one);
    await pass(200);
    await expectRefused(one);
  });

  it('is left alone for two seconds after three failed reads, those that fail together counted once', async () => {
    const { service, fail, join, pass, during } = failing();
    const one = join();
    await one.getItem(1);
    const read = fail('read', never);
    let n = 0;
    const ask = (times: number) =>
      during(Promise.all(Array.from({ length: times }, () => one.validatePurchase(guess(n++)))));
    await ask(20);
    await ask(1);
    expect(read).toHaveBeenCalledTimes(21);
    await ask(1);
    await ask(1);
    expect(read).toHaveBeenCalledTimes(22);
    await pass(2000);
    await ask(1);
    expect(read).toHaveBeenCalledTimes(23);
    read.mockRestore();
    await pass(2000);
    await ask(1);
    await join().validatePurchase(guess(n - 1));
    expect(service.asked()).toBe(n);
  });

  it('only for a while in lock gets the lock back that comes too late', async () => {
    const { shared, join, during, pass } = failing();
    const lock = shared.lock.bind(shared);
    vi.spyOn(shared, 'lock').mockImplementationOnce(async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return lock(...given);
    });
    expect(await during(join().validatePurchase(CODE))).toEqual(purchase);
    await pass(300);
    expect(shared.calls).toContain('lock');
    expect(shared.locks.size).toBe(0);
  });

  it('only by refusing writes is not left alone: it still answers and publishes', async () => {
    const { service, shared, joinTwo, refund } = failing();
    const [one, two] = await joinTwo();
    one.link.break('full');
    for (let i = 0; i < 12; i++) await one.validatePurchase(`purchase-code-${i}`);
    await refund(one);
    expect(shared.messages).toHaveLength(1);
    service.says = 'outage';
    expect(two.peekPurchase(CODE)).toBeUndefined();
  });

  it('is not listened to after close(), also while it is left alone', async () => {
    const { shared, joinAndAsk } = failing();
    const one = await joinAndAsk();
    one.link.break('cut');
    for (let i = 0; i < 12; i++) await one.validatePurchase(`purchase-code-${i}`);
    await one.close();
    expect(shared.listeners).toBe(0);
    await one.validatePurchase(CODE);
    expect(shared.listeners).toBe(0);
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
    42,
    {},
    null,
    { value: 7, order: 1, now: 1 },
    { order: '1', now: 1 },
    { order: 1, now: 1.5 },
    { order: 1 },
  ])('in read, with %j, has no answer', async (odd) => {
    const { service, fail, join } = failing();
    fail('read', async () => odd);
    expect(await join().validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });

  it.each(['write', 'lock', 'publish'] as const)('in %s changes no answer', async (method) => {
    for (const odd of [42, {}, null, 'yes']) {
      const { fail, join, expectRefused, refund } = failing();
      fail(method, async () => odd);
      const one = join();
      expect(await one.validatePurchase(CODE)).toEqual(purchase);
      await refund(one);
      await expectRefused(one);
    }
  });
});

describe('an api_key that takes long', () => {
  it('and comes after close() subscribes to nothing', async () => {
    const { shared, join, pass } = failing();
    const apiKey = () => new Promise<string>((resolve) => setTimeout(() => resolve(KEY), 50));
    const one = join({}, { apiKey });
    const found = rejection(one.validatePurchase(CODE));
    await settle();
    await one.close();
    await pass(100);
    await found;
    expect(shared.calls).toEqual([]);
  });

  it('is waited for 100 ms, and then the shared cache is done without', async () => {
    const { service, shared, join, pass } = failing();
    let give: (key: string) => void = () => {};
    const apiKey = () =>
      new Promise<string>((resolve) => {
        give = resolve;
      });
    const one = join({}, { apiKey });
    const found = one.validatePurchase(CODE);
    const forgotten = rejection(one.invalidate(OTHER));
    await pass(110);
    expect((await forgotten).code).toBe('store_unavailable');
    give(KEY);
    expect(await found).toEqual(purchase);
    expect(shared.rows.size).toBe(0);
    expect(service.asked()).toBe(1);
  });
});
