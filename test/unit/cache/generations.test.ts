import type { KeyApi } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { Seal } from '../../../src/cache/seal.js';
import { Link } from '../../model/fleet-model.js';
import { deferred } from '../../support/deferred.js';
import { rejection } from '../../support/errors.js';
import { settle } from '../../support/key-api-service.js';
import { CODE, KEY } from '../../support/wire.js';
import {
  expectRefused,
  expectUnavailable,
  fleet as fleetOf,
  moveTimeByHand,
  OTHER,
  OTHER_KEY,
  pairOf,
  refund,
} from './support.js';

// What is invalidated as a whole stays so, whichever row the shared cache loses or refuses.

const SHOP = 'https://market.example\n';
const rowOf = (key = KEY): string => new Seal(key, SHOP).name('generation');

function fleet() {
  const given = fleetOf();
  return {
    ...given,
    /** The shared cache drops the row of the generation, as when it is short of memory. */
    evict: () => expect(given.shared.rows.delete(rowOf())).toBe(true),
    /** It drops all others. */
    evictOthers() {
      const { rows } = given.shared;
      for (const name of rows.keys()) if (name !== rowOf()) rows.delete(name);
    },
    /** A process, and another one that receives no messages until it is connected again. */
    async cutPair(begin = (one: KeyApi): Promise<unknown> => one.getAccount()) {
      const { shared } = given;
      const one = given.join();
      await begin(one);
      const { subscribe } = shared;
      let isCut = true;
      let missed: () => void = () => {};
      shared.subscribe = (listener) => {
        missed = () => listener(undefined);
        return subscribe.call(shared, (key) => isCut || listener(key));
      };
      const two = given.join();
      await two.getAccount();
      shared.subscribe = subscribe;
      const connect = (): void => {
        isCut = false;
        missed();
      };
      return { one, two, connect };
    },
  };
}

moveTimeByHand();

describe('the row of the generation is lost alone', () => {
  it('a process that starts then finds nothing that was shared before', async () => {
    const { service, join, joinAndAsk, evict } = fleet();
    const one = await joinAndAsk();
    await one.invalidate();
    evict();
    await expectRefused(service, join());
  });

  it('twice: nor what was shared between', async () => {
    const { service, join, evict } = fleet();
    await join().validatePurchase(CODE);
    evict();
    await join().validatePurchase(CODE, { fresh: true });
    await join().invalidate();
    evict();
    await expectRefused(service, join());
  });

  it('a process that was cut off meanwhile still hears from the others what it missed', async () => {
    const { service, cutPair, evict } = fleet();
    const { one, two, connect } = await cutPair();
    for (const each of [one, two]) await each.validatePurchase(CODE);
    await one.invalidate();
    evict();
    connect();
    await settle();
    await expectUnavailable(service, two);
  });

  it('or does not open: a new one replaces it, and answers are shared', async () => {
    const { service, shared, join } = fleet();
    shared.rows.set(rowOf(), { value: 'x', order: 2, expiresAt: service.now + 1000 });
    for (const each of [join(), join()]) await each.validatePurchase(CODE);
    expect(service.asked()).toBe(1);
  });

  it('the last positive answer still serves while the service is down', async () => {
    const { service, shared, one, two } = await pairOf(fleet());
    shared.rows.clear();
    shared.reconnect();
    await settle();
    service.says = 'outage';
    for (const each of [one, two]) {
      expect((await each.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    }
  });
});

describe('the row is lost', () => {
  it('of a refund: a process that was cut off hears of it from the one that was told', async () => {
    const { service, cutPair, evictOthers } = fleet();
    const { one, two, connect } = await cutPair();
    for (const each of [one, two]) await each.validatePurchase(CODE);
    await refund(service, one);
    evictOthers();
    connect();
    await vi.advanceTimersByTimeAsync(1000);
    await settle();
    await expectUnavailable(service, two);
  });

  it('of an earlier invalidation: the answer after it still serves in an outage', async () => {
    const { service, cutPair, evictOthers } = fleet();
    const { two, connect } = await cutPair((one) => one.invalidate(CODE));
    service.now += 1000;
    await two.validatePurchase(CODE, { fresh: true });
    evictOthers();
    connect();
    await vi.advanceTimersByTimeAsync(1000);
    await settle();
    service.says = 'outage';
    expect((await two.validatePurchase(CODE))?.purchase_code).toBe(CODE);
  });
});

it('a generation that several processes begin at once is published a few times, and no more', async () => {
  const { shared, join } = fleet();
  const { publish } = shared;
  // As over a network: messages arrive while other calls are under way.
  shared.publish = async (key) => {
    await new Promise((resolve) => setTimeout(resolve, 3));
    return publish.call(shared, key);
  };
  let key = KEY;
  const processes = [1, 2, 3].map(() => join({}, { apiKey: () => key }));
  const ask = async () => {
    const asked = processes.map((each, n) => each.getItem(shared.messages.length * 10 + n));
    await vi.advanceTimersByTimeAsync(2000);
    await Promise.all(asked);
  };
  await ask();
  key = OTHER_KEY;
  await ask();
  shared.messages.length = 0;
  shared.rows.clear();
  shared.reconnect();
  await ask();
  expect(shared.messages.length).toBeLessThan(20);
  shared.messages.length = 0;
  await ask();
  expect(shared.messages).toEqual([]);
});

describe('an invalidation of everything', () => {
  it.each([
    ['for an answer of the same millisecond', 0, 0],
    ['after a failover to a clock that is ahead', 10_000, 60_000],
  ])('reaches a process that was cut off, also %s', async (_name, later, ahead) => {
    const { service, shared, cutPair } = fleet();
    const { one, two, connect } = await cutPair();
    await two.validatePurchase(CODE);
    service.now += later;
    await one.invalidate();
    const { read } = shared;
    shared.read = async (key) => {
      const row = await read.call(shared, key);
      return { ...row, now: row.now + ahead * 1000 };
    };
    connect();
    await settle();
    await expectUnavailable(service, two);
  });

  it('of two processes at once, one of which cannot write, holds after a rotation', async () => {
    const { service, shared, join } = fleet();
    let key = KEY;
    const rotated = { apiKey: () => key };
    const [one, two] = [join({}, rotated), join({}, rotated)];
    for (const each of [one, two]) await each.validatePurchase(CODE);
    shared.broken.add('write');
    const first = rejection(one.invalidate());
    await settle();
    shared.broken.clear();
    await two.invalidate();
    await first;
    await vi.advanceTimersByTimeAsync(60_000);
    key = OTHER_KEY;
    for (const each of [one, two]) await each.validatePurchase(OTHER);
    await one.invalidate();
    service.says = 'negative';
    for (const each of [one, two, join({}, rotated)]) {
      expect(await each.validatePurchase(CODE)).toBeNull();
      expect(await each.validatePurchase(OTHER)).toBeNull();
    }
  });
});

it('what another process invalidates holds in one that could not tell of its own invalidation of everything', async () => {
  const { service, shared, join } = fleet();
  const link = new Link(shared, false);
  const [cut, other] = [join({ shared: link }), join()];
  await other.getAccount();
  link.setState('cut');
  await rejection(cut.invalidate());
  await cut.validatePurchase(CODE);
  service.now += 1000;
  await other.invalidate();
  link.setState('up');
  await vi.advanceTimersByTimeAsync(10_000);
  await expectUnavailable(service, cut);
});

it('a stale answer of another process outlives a rotation in an outage', async () => {
  const { service, join } = fleet();
  let key = KEY;
  const one = join({}, { apiKey: () => key });
  const two = join();
  for (const each of [one, two]) await each.getAccount();
  await one.invalidate(CODE);
  await two.validatePurchase(CODE);
  service.later(30 * 60_000, 'outage');
  expect((await one.validatePurchase(CODE))?.purchase_code).toBe(CODE);
  key = OTHER_KEY;
  await settle();
  // Under the new secret there is only the tombstone, which is sent again.
  for (let n = 0; n < 2; n++) {
    expect((await one.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    await settle();
  }
});

it('an invalidation that is sealed with an earlier secret holds under the current one too', async () => {
  const { service, join } = fleet();
  let key = KEY;
  const both = join({}, { apiKey: () => key });
  const old = join();
  for (const each of [old, both]) await each.getAccount();
  key = OTHER_KEY;
  // A process that has known only the new one shares what the earlier one is about to invalidate.
  await both.getItem(1);
  await join({}, { apiKey: OTHER_KEY }).validatePurchase(CODE);
  await old.invalidate(CODE);
  await settle();
  service.says = 'negative';
  expect(await join({}, { apiKey: OTHER_KEY }).validatePurchase(CODE)).toBeNull();
});

it('a caller that passes `fresh` while the service is down leaves no positive answer to others that another process knows to be invalid', async () => {
  const { service, cutPair } = fleet();
  const { one, two, connect } = await cutPair();
  for (const each of [one, two]) await each.validatePurchase(CODE);
  service.says = 'negative';
  await one.validatePurchase(CODE, { fresh: true });
  connect();
  service.says = 'outage';
  const both = [two.validatePurchase(CODE, { fresh: true }), two.validatePurchase(CODE)];
  const [fresh, joined] = await Promise.allSettled(both);
  expect(fresh).toMatchObject({ status: 'rejected' });
  expect(joined).not.toMatchObject({ value: { purchase_code: CODE } });
});

it('a full shared cache keeps the negative answer of another process that is later than an unsent one', async () => {
  const { service, shared, cutPair } = fleet();
  const { one, two, connect } = await cutPair();
  for (const method of ['read', 'write', 'publish'] as const) shared.broken.add(method);
  await expectRefused(service, two);
  service.says = 'positive';
  await two.validatePurchase(CODE, { fresh: true });
  shared.broken.clear();
  await expectRefused(service, one);
  shared.broken.add('write');
  connect();
  await settle();
  service.says = 'outage';
  const [answer] = await Promise.allSettled([two.validatePurchase(CODE)]);
  expect(answer).not.toMatchObject({ value: { purchase_code: CODE } });
});

it('two processes begin a generation at the same time, and the first hears of the second while it still reads: both use the later one', async () => {
  const { service, shared, join } = fleet();
  const { write, publish } = shared;
  const writes: (() => void)[] = [];
  shared.write = (...args) =>
    new Promise((resolve) => writes.push(() => resolve(write.call(shared, ...args))));
  const published = deferred();
  shared.publish = async (message) => {
    shared.publish = publish;
    await published.promise;
    return publish.call(shared, message);
  };
  const [one, two] = [join(), join()];
  const answers = [one.validatePurchase(CODE)];
  await settle();
  service.now++;
  answers.push(two.validatePurchase(CODE));
  await settle();
  // Neither has found a row. The first stores its own, and is about to publish it.
  shared.write = write;
  writes[0]?.();
  await settle();
  writes[1]?.();
  await settle();
  published.resolve();
  await Promise.all(answers);
  const before = service.asked();
  await one.validatePurchase(OTHER);
  await two.validatePurchase(OTHER);
  expect(service.asked() - before).toBe(1);
});
