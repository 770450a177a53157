import type { KeyApi } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { Link } from '../../model/fleet-model.js';
import { expectError, rejection } from '../../support/errors.js';
import { begun, ITEM, settle } from '../../support/key-api-service.js';
import type { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json } from '../../support/service-in-memory.js';
import { CODE, item, KEY, purchase, success } from '../../support/wire.js';
import {
  expectRefused,
  expectUnavailable,
  fleet,
  HOUR,
  MINUTE,
  moveTimeByHand,
  OTHER,
  OTHER_KEY,
  pairOf,
  refund,
} from './support.js';

// What a process does with answers about which it cannot ask, or was not told.

moveTimeByHand();

/** A process that receives no messages, and does not know it. */
async function joinDeaf(shared: MemorySharedCache, join: () => KeyApi): Promise<KeyApi> {
  const { subscribe } = shared;
  shared.subscribe = async () => async () => {};
  const deaf = join();
  await deaf.getAccount();
  shared.subscribe = subscribe;
  return deaf;
}

describe('while the shared cache is down', () => {
  it('a stale answer is refreshed in the background all the same', async () => {
    const { service, shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    for (const method of ['read', 'write', 'publish', 'lock'] as const) shared.broken.add(method);
    service.later(6 * MINUTE, 'negative');
    expect(await one.validatePurchase(CODE)).not.toBeNull();
    await settle();
    expect(await one.validatePurchase(CODE)).toBeNull();
  });

  it('a thousand wrong codes cost no customer the last positive answer', async () => {
    const { service, shared, one, two } = await pairOf(fleet());
    shared.broken.add('write');
    service.says = 'negative';
    const wrong = Array.from({ length: 1100 }, (_, n) => `wrong-code-${n}`);
    await Promise.all(wrong.map((code) => one.validatePurchase(code)));
    service.later(6 * MINUTE, 'outage');
    for (const each of [one, two]) expect(await each.validatePurchase(CODE)).not.toBeNull();
  });

  it('a list that is requested then answers for its items afterwards', async () => {
    const { service, shared, join } = fleet();
    const one = join();
    shared.broken.add('read');
    await one.listItems();
    shared.broken.clear();
    expect((await one.getItem(1043))?.id).toBe(1043);
    expect(service.asked(ITEM)).toBe(0);
  });
});

describe('an invalidation that could not be sent', () => {
  /** Two processes with a positive answer. The first has a refund to send, and before it a wrong code. */
  async function unsent() {
    const { service, shared, one, two } = await pairOf(fleet());
    service.says = 'negative';
    const names: string[] = [];
    const { write } = shared;
    let isDown = true;
    shared.write = async (name, ...rest) => {
      if (!names.includes(name)) names.push(name);
      if (isDown || name === names[0]) throw new Error('this part of the shared cache is down');
      return write.call(shared, name, ...rest);
    };
    shared.broken.add('publish');
    for (const code of ['wrong-code-0', CODE]) await one.validatePurchase(code, { fresh: true });
    const comeBack = () => {
      shared.broken.clear();
      isDown = false;
    };
    return { two, comeBack };
  }

  it('does not wait for another one, whose part of the shared cache is still down', async () => {
    const { two, comeBack } = await unsent();
    comeBack();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await two.validatePurchase(CODE)).toBeNull();
  });

  it('is sent within 5 seconds after a long outage', async () => {
    const { two, comeBack } = await unsent();
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(await two.validatePurchase(CODE)).not.toBeNull();
    comeBack();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await two.validatePurchase(CODE)).toBeNull();
  });
});

it('a process that starts with a late subscription has missed nothing, and sends nothing', async () => {
  const { shared, join } = fleet();
  const { subscribe } = shared;
  shared.subscribe = async (
    listener: (key: string | undefined) => void,
    onListening?: (is: boolean) => void,
  ) => {
    onListening?.(false);
    const stop = await subscribe.call(shared, listener);
    onListening?.(true);
    return stop;
  };
  const one = join();
  await one.validatePurchase(CODE);
  await one.invalidate(OTHER);
  shared.messages.length = 0;
  await join().validatePurchase(CODE);
  await vi.advanceTimersByTimeAsync(2000);
  // Only that it is new: the invalidation is not sent again.
  expect(shared.messages).toHaveLength(1);
});

describe('while a shared cache that stays up refuses writes, a refund reaches', () => {
  /** The purchase is in the shared cache, which refuses writes from now on. One process hears of the refund. */
  async function refundedReadOnly() {
    const given = fleet();
    const one = await given.joinAndAsk();
    const setReadOnly = (on: boolean): void => {
      for (const method of ['write', 'set', 'delete', 'lock'] as const) {
        given.shared.broken[on ? 'add' : 'delete'](method);
      }
    };
    setReadOnly(true);
    const two = given.join();
    await two.getAccount();
    await refund(given.service, one);
    return { ...given, one, two, setReadOnly };
  }

  it('a process that starts then', async () => {
    const { service, join } = await refundedReadOnly();
    await expectRefused(service, join());
  });

  it('a process that starts then, also when writes are taken again', async () => {
    const { service, shared, join, setReadOnly } = await refundedReadOnly();
    const late = join();
    expect(await late.validatePurchase(OTHER)).toBeNull();
    // What the first process sends does not arrive in time.
    const { publish } = shared;
    shared.publish = async () => {};
    await vi.advanceTimersByTimeAsync(4000);
    setReadOnly(false);
    await expectRefused(service, late);
    shared.publish = publish;
  });

  it('a process that starts when writes are taken again, before the timer sends it', async () => {
    const { service, join, setReadOnly } = await refundedReadOnly();
    setReadOnly(false);
    await expectRefused(service, join());
  });

  it('a process that reconnects', async () => {
    const { service, shared, join } = fleet();
    const links = [new Link(shared, false), new Link(shared, false)];
    const [one, two] = links.map((link) => join({ shared: link })) as [KeyApi, KeyApi];
    for (const each of [one, two]) await each.validatePurchase(CODE);
    links[1]?.setState('cut');
    links[0]?.setState('read-only');
    await refund(service, one);
    links[1]?.setState('read-only');
    await expectRefused(service, two);
  });

  it('a process that starts later, although the one that heard of it has ended', async () => {
    const { service, one, join, setReadOnly } = await refundedReadOnly();
    await one.close();
    setReadOnly(false);
    await vi.advanceTimersByTimeAsync(6000);
    await expectRefused(service, join());
  });
});

it('a process that was cut off does not hide a refund that it missed behind an earlier one of its own', async () => {
  const { service, shared, join } = fleet();
  const link = new Link(shared, false);
  const [one, two] = [join({ shared: link }), join()];
  for (const each of [one, two]) await each.getAccount();
  link.setState('cut');
  await refund(service, one);
  service.says = 'positive';
  for (const each of [one, two]) await each.validatePurchase(CODE, { fresh: true });
  await refund(service, two);
  service.says = 'outage';
  link.setState('up');
  await vi.advanceTimersByTimeAsync(10_000);
  link.setState('cut');
  await expectUnavailable(service, one);
});

it('a process whose first subscription failed has missed what was sent until the next one', async () => {
  const { service, shared, join } = fleet();
  const { subscribe } = shared;
  shared.subscribe = () => Promise.reject(new Error('not yet'));
  const one = join();
  await one.validatePurchase(CODE);
  const two = join();
  await two.getAccount();
  await refund(service, two);
  shared.subscribe = subscribe;
  service.says = 'positive';
  await one.validatePurchase(OTHER);
  service.says = 'negative';
  expect(await one.validatePurchase(CODE)).toBeNull();
});

it('a process whose first subscription failed tries again by a timer, although it can answer from its cache', async () => {
  const { service, shared, join } = fleet();
  const { subscribe } = shared;
  shared.subscribe = () => Promise.reject(new Error('down'));
  shared.broken.add('read');
  const one = join();
  // Enough failures for the shared cache to be left alone.
  for (const code of [CODE, ...Array.from({ length: 5 }, (_, n) => `${OTHER}-${n}`)]) {
    await one.validatePurchase(code);
  }
  shared.subscribe = subscribe;
  shared.broken.clear();
  await vi.advanceTimersByTimeAsync(10_000);
  const two = join();
  await two.getAccount();
  await refund(service, two);
  expect(await one.validatePurchase(CODE)).toBeNull();
});

it.each([0, 2 * MINUTE])(
  'a fresh lookup that must ask again gets no answer from before it began: %i ms',
  async (age) => {
    const { service, shared, join } = fleet();
    const link = new Link(shared, false);
    const one = join({ shared: link });
    await one.validatePurchase(CODE);
    service.now += age;
    service.hold();
    const [fresh] = await begun(one.validatePurchase(CODE, { fresh: true }));
    link.reconnect();
    await settle();
    // From the shared cache, of that age.
    expect(await one.validatePurchase(CODE)).not.toBeNull();
    service.says = 'negative';
    await service.release();
    expect(await fresh).toBeNull();
  },
);

it('nor one from before it of a process whose clock is ahead, where the shared cache keeps no order', async () => {
  const { service, shared, join } = fleet();
  const [link, other] = [false, false].map((isOrdered) => new Link(shared, false, isOrdered));
  await join({ shared: other as Link }).validatePurchase(CODE);
  service.now += 2 * MINUTE;
  const one = join({ shared: link as Link }, { clock: () => service.now - 5 * MINUTE });
  await one.getAccount();
  service.hold();
  const [fresh] = await begun(one.validatePurchase(CODE, { fresh: true }));
  link?.reconnect();
  await settle();
  service.now += 1;
  expect(await one.validatePurchase(CODE)).not.toBeNull();
  service.says = 'negative';
  await service.release();
  expect(await fresh).toBeNull();
});

it('a fresh lookup gets its own answer, also if the one of a process whose clock is ahead counts as later', async () => {
  const { service, shared, join } = fleet();
  const [link, other] = [false, false].map((isOrdered) => new Link(shared, false, isOrdered));
  const ahead = join({ shared: other as Link });
  const one = join({ shared: link as Link }, { clock: () => service.now - 5 * MINUTE });
  for (const each of [ahead, one]) await each.getAccount();
  link?.setState('read-only');
  service.now += 1000;
  service.hold();
  const [early] = await begun(ahead.validatePurchase(CODE));
  service.item = { ...service.item, version: 'second' };
  const [fresh] = await begun(one.validatePurchase(CODE, { fresh: true }));
  await service.release(0);
  await early;
  service.now += 1;
  await service.release();
  expect((await fresh)?.item.version).toBe('second');
});

it('an item that another process refuses while the list is on its way is not served from it', async () => {
  const { service, shared, one, two } = await pairOf(fleet(), (each) => each.getAccount());
  service.hold();
  const [listed] = await begun(one.listItems());
  service.says = 'negative';
  const [refused] = await begun(two.getItem(1043, { fresh: true }));
  for (const n of [1, 2]) await service.release(n);
  expect(await refused).toBeNull();
  await service.release();
  expect(await listed).toHaveLength(2);
  service.now += 1;
  shared.broken.add('read');
  expect(await one.getItem(1043)).toBeNull();
});

it('an item is compared with the shared cache again when that could not be asked', async () => {
  const { service, shared, join } = fleet();
  const one = join();
  await one.getAccount();
  const two = await joinDeaf(shared, join);
  await two.listItems();
  service.later(1, 'negative');
  expect(await one.getItem(1043, { fresh: true })).toBeNull();
  shared.broken.add('read');
  expect(await two.getItem(1043)).not.toBeNull();
  shared.broken.clear();
  service.now += 1;
  expect(await two.getItem(1043)).toBeNull();
});

it('a refund sealed with the earlier secret reaches a process that started with the current one', async () => {
  const { service, join } = fleet();
  let key = KEY;
  const one = join({}, { apiKey: () => key });
  const two = join({}, { apiKey: OTHER_KEY });
  for (const each of [one, two]) await each.validatePurchase(CODE);
  await refund(service, one);
  key = OTHER_KEY;
  await one.validatePurchase(OTHER);
  await vi.advanceTimersByTimeAsync(2000);
  await settle();
  await expectUnavailable(service, two);
});

it('a refund that was missed is sent again also where the generation is lost and cannot be written', async () => {
  const { service, shared, join } = fleet();
  const link = new Link(shared, false);
  const [one, two] = [join(), join({ shared: link })];
  for (const each of [one, two]) await each.validatePurchase(CODE);
  link.setState('cut');
  await refund(service, one);
  // The first row is that of the generation.
  shared.rows.delete([...shared.rows.keys()][0] ?? '');
  link.setState('read-only');
  await vi.advanceTimersByTimeAsync(10_000);
  await expectUnavailable(service, two);
});

it('more wrong codes than are remembered do not go back and forth after the api_key was rotated', async () => {
  const { service, shared, join } = fleet();
  let key = KEY;
  const processes = [0, 1, 2].map(() => join({ max: 2, maxInvalid: 2 }, { apiKey: () => key }));
  service.says = 'negative';
  const guess = async (round: number): Promise<void> => {
    for (const [by, each] of processes.entries()) {
      for (let n = 0; n < 5; n++) await each.validatePurchase(`${OTHER}-${round}-${by}-${n}`);
    }
  };
  await guess(1);
  key = OTHER_KEY;
  const { publish } = shared;
  const sent = vi.fn(async (message: string | undefined) => {
    // Without an end, the test would have none.
    if (sent.mock.calls.length > 2000) throw new Error('too many messages');
    await publish.call(shared, message);
  });
  shared.publish = sent;
  await guess(2);
  await vi.advanceTimersByTimeAsync(10_000);
  const count = sent.mock.calls.length;
  expect(count).toBeLessThan(500);
  // Then there is peace.
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent.mock.calls.length).toBe(count);
});

it('an invalidation that is sent when all answers before it have expired is not passed on', async () => {
  const { service, shared, join } = fleet();
  let key = KEY;
  const processes = [1, 2, 3].map(() => join({}, { apiKey: () => key }));
  for (const each of processes) await each.validatePurchase(CODE);
  shared.broken.add('publish');
  await rejection((processes[0] as KeyApi).invalidate(CODE));
  key = OTHER_KEY;
  for (const each of processes) await each.validatePurchase(OTHER);
  service.now += 26 * HOUR;
  shared.broken.clear();
  shared.messages.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shared.messages.length).toBeLessThan(10);
});

it('before a fresh lookup forgets the positive answer of another process, the key is checked again', async () => {
  const { service, join } = fleet();
  const [one, two] = [join(), join()];
  service.says = 'negative';
  expect(await two.validatePurchase(OTHER)).toBeNull();
  service.says = 'positive';
  await one.validatePurchase(CODE);
  service.keys = new Set();
  service.now += 10_000;
  await expectError(two.validatePurchase(CODE, { fresh: true }), 'api_key_rejected');
});

it('an answer that cannot be shared stays the later one, also when the clock is set forward meanwhile', async () => {
  const { service, shared, join } = fleet();
  const link = new Link(shared, false);
  let behind = 0;
  const one = join({ shared: link }, { clock: () => service.now - behind });
  await one.validatePurchase(CODE);
  service.now += MINUTE;
  behind = 3 * HOUR;
  service.item = { ...item, version: 'later' };
  service.hold();
  const [fresh] = await begun(one.validatePurchase(CODE, { fresh: true }));
  link.setState('read-only');
  behind = 0;
  await service.release();
  expect(await fresh).toMatchObject({ item: { version: 'later' } });
});

it('a late answer that cannot be shared gives way to a later refund all the same', async () => {
  const { service, shared, join } = fleet();
  const one = join();
  await one.getAccount();
  const two = await joinDeaf(shared, join);
  const unreadable = { ...purchase, purchase_code: CODE, supported_until: 'never' };
  service.override = () =>
    service.says === 'positive' ? json(success({ data: { purchase: unreadable } })) : undefined;
  service.hold();
  const [late] = await begun(two.validatePurchase(CODE));
  service.says = 'negative';
  const [refused] = await begun(one.validatePurchase(CODE, { fresh: true }));
  for (const n of [1, 2]) await service.release(n);
  expect(await refused).toBeNull();
  await service.release();
  expect(await late).toBeNull();
});
