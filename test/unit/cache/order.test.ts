import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { begun, settle } from '../../support/key-api-service.js';
import { CODE, purchase } from '../../support/wire.js';
import {
  alone,
  aloneWithAnswer,
  expectRefused,
  expectUnavailable,
  fleet,
  HOUR,
  MINUTE,
  moveTimeByHand,
  OTHER,
  pairOf,
  plainFleet,
  refund,
} from './support.js';

// "Once any process has heard a real no, no yes asked for before it is served again" (contract, section 2).

describe('a negative answer that the shared cache does not take', () => {
  it.each<[string, ('write' | 'publish' | 'read')[]]>([
    ['full or read-only: it is told by a message', ['write']],
    ['no message can be published', ['publish']],
    ['neither', ['write', 'publish']],
    ['away altogether', ['read', 'write', 'publish']],
  ])('%s: the old row does not come back', async (_name, broken) => {
    const { service, shared, one, join } = await pairOf(fleet());
    for (const method of broken) shared.broken.add(method);
    await refund(service, one);
    // The negative answer has expired here; the service cannot be asked; the row is still there.
    service.later(HOUR, 'outage');
    shared.broken.delete('read');
    await expectUnavailable(service, one);
    // Nor where messages were missed meanwhile.
    shared.reconnect();
    await settle();
    await expectUnavailable(service, one);
    // And it is told later, to a process that starts then as well.
    shared.broken.clear();
    shared.reconnect();
    await settle();
    await expectUnavailable(service, join());
  });

  it('with an invalidTtl of 0 withdraws all the same', async () => {
    const given = fleet();
    const [one, two] = [given.join({ invalidTtl: 0 }), given.join({ invalidTtl: 0 })];
    for (const each of [one, two]) await each.validatePurchase(CODE);
    await settle();
    await refund(given.service, one);
    await expectUnavailable(given.service, one, two, given.join({ invalidTtl: 0 }));
  });
});

describe('a late positive answer', () => {
  it.each([
    ['is not written over the negative one of another process', true],
    ['is not served by a process that missed the message', false],
  ])('%s', async (_name, hears) => {
    const given = await pairOf(fleet(), (each) => each.getAccount({ fresh: true }));
    const { service, shared, join, one: slow, two: quick } = given;
    // Both ask at once: the lock is not there.
    vi.spyOn(shared, 'lock').mockImplementation(async () => async () => {});
    service.hold();
    const [late] = await begun(slow.validatePurchase(CODE));
    service.says = 'negative';
    const [heard] = await begun(quick.validatePurchase(CODE));
    if (!hears) shared.broken.add('publish');
    await service.release(1);
    await service.release(0);
    await service.release();
    expect(await heard).toBeNull();
    expect(await late).toBeNull();
    service.says = 'outage';
    expect(await join().validatePurchase(CODE)).toBeNull();
  });

  it('that was asked for after the negative one counts again', async () => {
    const { service, one, two, join } = await pairOf(fleet());
    await refund(service, one);
    service.says = 'positive';
    expect(await two.validatePurchase(CODE, { fresh: true })).toEqual(purchase);
    service.later(31_000, 'outage');
    for (const each of [one, join()]) expect(await each.validatePurchase(CODE)).toEqual(purchase);
  });
});

it('a late negative answer does not replace a positive one that another process requested later', async () => {
  const given = await pairOf(fleet(), (each) => each.getAccount({ fresh: true }));
  const { service, shared, one: slow, two: quick } = given;
  vi.spyOn(shared, 'lock').mockImplementation(async () => async () => {});
  service.hold();
  service.says = 'negative';
  const [late] = await begun(slow.validatePurchase(CODE));
  service.says = 'positive';
  const [sold] = await begun(quick.validatePurchase(CODE));
  await service.release(1);
  await sold;
  // Another spelling does not join the late lookup, and finds the answer of the other process.
  await slow.validatePurchase(CODE.toUpperCase());
  await service.release();
  expect(await late).toEqual(purchase);
  expect(slow.peekPurchase(CODE)).toEqual(purchase);
});

describe('clocks that are hours apart', () => {
  it.each([
    ['the one that hears the negative answer is late', 0, 3 * HOUR],
    ['the one that hears the negative answer is early', 3 * HOUR, 0],
  ])('change nothing: %s', async (_name, hearing, other) => {
    const given = fleet();
    const { service } = given;
    const one = given.join({}, { clock: () => service.now + hearing });
    const two = given.join({}, { clock: () => service.now + other });
    for (const each of [two, one]) await each.validatePurchase(CODE);
    await settle();
    await refund(service, one);
    service.now += MINUTE;
    await expectUnavailable(service, one, two, given.join());
  });

  it('change nothing for invalidate', async () => {
    const given = fleet();
    const { service } = given;
    const one = given.join({}, { clock: () => service.now - 3 * HOUR });
    const two = given.join();
    await two.validatePurchase(CODE);
    for (const code of [CODE, undefined]) {
      await one.invalidate(code);
      await expectRefused(service, two);
      service.later(31_000, 'positive');
      await two.validatePurchase(CODE);
    }
  });
});

describe('messages that were missed', () => {
  it('cost no request while the shared cache still has the answer', async () => {
    const { service, shared, one } = await pairOf(fleet());
    shared.reconnect();
    await settle();
    expect(one.peekPurchase(CODE)).toBeUndefined();
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(one.peekPurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });

  it.each([
    ['of one code', CODE],
    ['of everything', undefined],
  ])('are found out by looking: an invalidation %s', async (_name, code) => {
    const { service, shared, one, two } = await pairOf(fleet());
    const publish = vi.spyOn(shared, 'publish').mockResolvedValue(undefined);
    await one.invalidate(code);
    publish.mockRestore();
    // The first look after the reconnect fails.
    shared.broken.add('read');
    shared.reconnect();
    service.says = 'outage';
    await settle();
    expect(await two.validatePurchase(CODE)).toEqual(purchase);
    shared.broken.clear();
    await expectRefused(service, two);
  });
});

describe('invalidate', () => {
  moveTimeByHand();

  it.each<[string, 'read' | 'write' | 'publish', string | undefined]>([
    ['read', 'read', CODE],
    ['write', 'write', CODE],
    ['publish', 'publish', CODE],
    ['write, of everything', 'write', undefined],
    ['publish, of everything', 'publish', undefined],
  ])('that cannot be sent rejects, holds here, is sent later: %s', async (_name, method, code) => {
    const { service, shared, one, two, join } = await pairOf(fleet());
    shared.broken.add(method);
    await expectError(one.invalidate(code), 'store_unavailable');
    expect(one.peekPurchase(CODE)).toBeUndefined();
    await expectRefused(service, one);
    shared.broken.clear();
    await vi.advanceTimersByTimeAsync(1000);
    await settle();
    for (const each of [two, join()]) expect(await each.validatePurchase(CODE)).toBeNull();
  });

  it('of everything is told again to a shared cache that has lost it', async () => {
    const { service, shared, one, join } = await pairOf(fleet());
    const rows = [...shared.rows];
    await one.invalidate();
    // A failover to a replica that is behind.
    shared.rows.clear();
    for (const [name, row] of rows) shared.rows.set(name, row);
    shared.reconnect();
    await expectRefused(service, one, join());
  });

  it('of more codes than can be remembered becomes one of everything', async () => {
    const { service, shared, join } = await pairOf(fleet());
    const one = join({ max: 5, maxInvalid: 5 });
    shared.broken.add('write');
    for (let i = 0; i <= 10; i++) await rejection(one.invalidate(`purchase-code-${i}`));
    shared.broken.clear();
    shared.reconnect();
    await settle();
    await expectRefused(service, join());
  });
});

describe('a shared cache that keeps no order', () => {
  it('never brings a refused customer back in the process that heard it', async () => {
    const { service, shared, one } = await pairOf(plainFleet());
    const rows = [...shared.values];
    await refund(service, one);
    for (const [name, value] of rows) shared.values.set(name, value);
    service.now += HOUR;
    await expectUnavailable(service, one);
  });

  it('makes no older answer young when the clock steps back', async () => {
    const { service, one } = await pairOf(plainFleet());
    service.now += 3 * HOUR;
    await one.validatePurchase(OTHER);
    service.now -= 3 * HOUR;
    await expectRefused(service, one);
  });
});

describe('spellings of one code', () => {
  it('share one entry, and are asked as the service knows them', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    for (let i = 0; i < 300; i++) {
      const spelling = [...CODE].map((c, n) => ((i >> (n % 9)) & 1 ? c.toUpperCase() : c)).join('');
      expect(await keyApi.validatePurchase(spelling)).toEqual(purchase);
    }
    expect(service.asked()).toBe(1);
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE.toUpperCase(), { fresh: true })).toBeNull();
    expect(service.dispatcher.requests.at(-2)?.parameter('purchase_code')).toBe(CODE);
  });

  it('that the service refused do not refuse another spelling', async () => {
    const { service, keyApi } = alone();
    await keyApi.getAccount();
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE.toUpperCase())).toBeNull();
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });
});
