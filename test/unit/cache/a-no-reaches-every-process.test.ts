import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { begun, settle } from '../../support/key-api-service.js';
import { CODE, item, purchase } from '../../support/wire.js';
import { FAULTS, type Fault, fleet, HOUR, MINUTE, moveTimeByHand, SECOND } from './support.js';

// "A process that has heard a real no serves no yes that was asked for before it … every connected process, and every
// lookup that reads the shared cache, then refuses too … under any one fault at a time" (contract, section 2).

moveTimeByHand();

/** Past `invalidTtl`: no negative answer is served from a cache any more, and a positive one still would be. */
const FORGOTTEN = MINUTE;

describe.each(FAULTS)('while the shared cache is %s', (fault: Fault) => {
  /** Whose fault it can be, so that other processes refuse meanwhile. */
  const reaches = {
    cut: [],
    frozen: [],
    'read-only': ['one', 'other', 'all'],
    full: ['one', 'other', 'all'],
    'without publish': ['other'],
    // It reads before it serves.
    'without messages': ['one', 'other', 'all'],
  }[fault] as string[];

  it.each([
    ['the process that gets it', 'one'],
    ['another process', 'other'],
    ['all processes', 'all'],
  ])('for %s: a negative answer counts', async (_whose, whose) => {
    const { joinTwo, join, service, refund, expectNone, expectRefused, pass } = fleet();
    const [one, other] = await joinTwo();
    const broken = { one: [one], other: [other] }[whose] ?? [one, other];
    for (const { link } of broken) link.break(fault);
    await refund(one);
    if (reaches.includes(whose)) await expectRefused(other);
    await pass(FORGOTTEN);
    await expectNone(one);
    if (reaches.includes(whose)) await expectNone(other);
    // Nor is the old row believed when it can be read again.
    for (const { link } of broken) link.mend();
    await expectNone(one);
    await pass(10 * SECOND);
    await expectNone(one, other, join());
    service.says = 'positive';
    expect(await join().validatePurchase(CODE)).toEqual(purchase);
  });
});

describe.each<[string, 'before' | 'after']>([
  ['before the negative answer', 'before'],
  ['after the negative answer', 'after'],
])('%s, the shared cache', (_when, when) => {
  it.each<[string, (given: ReturnType<typeof fleet>, rows: Map<string, never>) => void]>([
    [
      'restarts empty',
      ({ shared, reconnect }) => {
        shared.rows.clear();
        reconnect();
      },
    ],
    ['evicts the row', ({ shared }) => shared.rows.clear()],
    [
      'fails over to a server with an older row',
      ({ shared, reconnect }, rows) => {
        for (const row of rows) shared.rows.set(...row);
        reconnect();
      },
    ],
    [
      'fails over to an earlier clock',
      ({ server, reconnect }) => {
        server.skew = -HOUR;
        reconnect();
      },
    ],
    [
      'fails over to an earlier clock, empty',
      ({ shared, server, reconnect }) => {
        server.skew = -HOUR;
        shared.rows.clear();
        reconnect();
      },
    ],
    [
      'fails over to a later clock',
      ({ server, reconnect }) => {
        server.skew = MINUTE;
        reconnect();
      },
    ],
  ])('%s: the negative answer counts, and so does a later positive one', async (_name, fail) => {
    for (const hearing of [0, 1] as const) {
      const given = fleet();
      const { shared, joinTwo, join, service, refund, expectNone, expectSold, pass } = given;
      const both = await joinTwo();
      const rows = new Map(shared.rows) as Map<string, never>;
      if (when === 'before') fail(given, rows);
      await refund(both[hearing]);
      if (when === 'after') fail(given, rows);
      await settle();
      await pass(FORGOTTEN);
      await expectNone(...both);
      await expectNone(join());
      service.says = 'positive';
      await pass(MINUTE);
      // In the process that got a message.
      await both[hearing === 0 ? 1 : 0].validatePurchase(CODE, { fresh: true });
      service.says = 'outage';
      await expectSold(...both);
      await expectSold(join());
    }
  });
});

it('a negative answer of a process that had no positive one counts too, although the row of that was evicted', async () => {
  const { shared, join, joinAndAsk, refund, expectNone, pass } = fleet();
  const [one, other] = [await joinAndAsk(), join()];
  await other.getAccount();
  shared.rows.clear();
  await refund(other);
  await pass(FORGOTTEN);
  await expectNone(one, other);
});

it.each([
  ['holds against what was requested before', false],
  ['does not hold against what was requested later', true],
])(
  'a negative answer from before the shared cache could be asked for the first time %s',
  async (_name, isAgain) => {
    const { service, join, joinTwo, refund, expectNone, expectSold, pass } = fleet();
    const [one, other] = await joinTwo();
    const late = join();
    late.link.break('cut');
    await refund(late);
    await pass(SECOND);
    service.says = 'positive';
    if (isAgain) await one.validatePurchase(CODE, { fresh: true });
    await pass(SECOND);
    late.link.mend();
    await pass(FORGOTTEN);
    service.says = 'outage';
    await (isAgain ? expectSold : expectNone)(one, other, late);
  },
);

describe('a late answer', () => {
  /** Two processes that ask at the same time: the first gets a positive answer, and the second a negative one. */
  async function race(fault?: Fault) {
    const given = fleet();
    const { service, shared, join } = given;
    const [slow, quick] = [join(), join()];
    for (const each of [slow, quick]) await each.getAccount({ fresh: true });
    vi.spyOn(shared, 'lock').mockImplementation(async () => async () => {});
    service.hold();
    const [positive] = await begun(slow.validatePurchase(CODE));
    if (fault) for (const { link } of [slow, quick]) link.break(fault);
    service.says = 'negative';
    const [negative] = await begun(quick.validatePurchase(CODE, { fresh: true }));
    await service.release(1);
    expect(await negative).toBeNull();
    await service.release();
    return { ...given, slow, quick, positive };
  }

  it.each<[string, Fault | undefined]>([
    ['the message reaches its process', undefined],
    ['the negative one is stored, and no message can be sent', 'without publish'],
    ['the negative one cannot be stored, and the message arrives', 'read-only'],
  ])('of a request before the negative one is not served: %s', async (_name, fault) => {
    const { slow, quick, positive, expectNone, pass } = await race(fault);
    expect(await positive).toBeNull();
    await pass(FORGOTTEN);
    await expectNone(slow, quick);
  });

  it('from a row that was read before the negative one, and arrives after it, is not served', async () => {
    const { service, shared, join, joinAndAsk, refund } = fleet();
    const reader = join();
    await reader.getAccount();
    const one = await joinAndAsk();
    const arrival = deferred();
    vi.spyOn(reader.link, 'read').mockImplementationOnce(async (key) => {
      const row = await shared.read(key);
      await arrival.promise;
      return row;
    });
    const [found] = await begun(reader.validatePurchase(CODE));
    await refund(one);
    service.later(FORGOTTEN);
    arrival.resolve();
    expect(await found).toBeNull();
  });

  it('that is negative does not undo a positive one that was requested later', async () => {
    const { service, shared, join, expectSold } = fleet();
    const [slow, quick] = [join(), join()];
    for (const each of [slow, quick]) await each.getAccount({ fresh: true });
    vi.spyOn(shared, 'lock').mockImplementation(async () => async () => {});
    service.hold();
    service.says = 'negative';
    const [negative] = await begun(slow.validatePurchase(CODE));
    service.says = 'positive';
    const [positive] = await begun(quick.validatePurchase(CODE));
    await service.release(1);
    expect(await positive).toEqual(purchase);
    await service.release();
    expect(await negative).toEqual(purchase);
    service.says = 'outage';
    await expectSold(slow, quick, join());
  });

  it('that is positive gives way to one that was requested later', async () => {
    const { service, join } = fleet();
    const [slow, quick] = [join(), join()];
    for (const each of [slow, quick]) await each.getAccount({ fresh: true });
    service.hold();
    service.item = { ...item, version: 'first' };
    const [first] = await begun(slow.validatePurchase(CODE, { fresh: true }));
    service.item = { ...item, version: 'second' };
    const [second] = await begun(quick.validatePurchase(CODE, { fresh: true }));
    await service.release(1);
    await service.release();
    for (const found of [first, second]) expect(await found).not.toBeNull();
    for (const each of [slow, quick, join()]) {
      expect((await each.validatePurchase(CODE))?.item.version).toBe('second');
    }
  });

  it('that is negative counts as the later one where the time of its request is not known exactly', async () => {
    const { service, shared, join, during, pass, expectNone } = fleet();
    const [slow, quick] = [join(), join()];
    for (const each of [slow, quick]) await each.getAccount({ fresh: true });
    vi.spyOn(shared, 'lock').mockImplementation(async () => async () => {});
    // The reading of the clock arrives 50 ms late.
    vi.spyOn(slow.link, 'read').mockImplementation(async (key) => {
      const row = await shared.read(key);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return row;
    });
    const reading = slow.validatePurchase(CODE, { fresh: true });
    await pass(20);
    service.hold();
    const [positive] = await begun(quick.validatePurchase(CODE));
    service.says = 'negative';
    await pass(30);
    await service.release(1);
    expect(await during(reading)).toBeNull();
    await service.release();
    expect(await during(positive)).toBeNull();
    await pass(FORGOTTEN);
    await expectNone(slow, quick);
  });
});

describe('what could not be stored or published', () => {
  it('is sent at once when the connection is back, also while the shared cache is left alone', async () => {
    const { joinTwo, service, refund, during } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('cut');
    await refund(one);
    for (let n = 0; n < 10; n++) await during(one.validatePurchase(`wrong-code-${n}`));
    one.link.mend();
    await settle();
    service.says = 'outage';
    expect(other.peekPurchase(CODE)).toBeUndefined();
  });

  it.each([FORGOTTEN, 2 * HOUR])('is sent within 5 s, after an outage of %d ms', async (outage) => {
    const { joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('frozen');
    await refund(one);
    await pass(outage);
    one.link.mend();
    await pass(5 * SECOND + 200);
    await expectNone(other);
  });

  it('is the later of two, where an earlier one is stored', async () => {
    const { service, joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    await refund(one);
    await pass(SECOND);
    service.says = 'positive';
    for (const each of [one, other]) await each.validatePurchase(CODE, { fresh: true });
    one.link.break('cut');
    await refund(one);
    one.link.mend();
    await pass(FORGOTTEN);
    await expectNone(other);
  });

  it('is sent when the connection is lost once more while an earlier one is in flight', async () => {
    const { service, shared, joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('cut');
    await refund(one);
    const stored = deferred();
    const write = shared.write.bind(shared);
    vi.spyOn(shared, 'write').mockImplementationOnce(async (...given) => {
      await stored.promise;
      return write(...given);
    });
    one.link.mend();
    await settle();
    one.link.break('cut');
    service.says = 'positive';
    for (const each of [one, other]) await each.validatePurchase(CODE, { fresh: true });
    await refund(one);
    stored.resolve();
    await settle();
    one.link.mend();
    await pass(FORGOTTEN);
    await expectNone(other);
  });

  it('does not wait for another code, whose part of the shared cache is still away', async () => {
    const { shared, joinTwo, service, refund, during, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('cut');
    service.says = 'negative';
    await during(one.validatePurchase('wrong-code'));
    await refund(one);
    const names: string[] = [];
    const write = shared.write.bind(shared);
    vi.spyOn(shared, 'write').mockImplementation(async (name, ...rest) => {
      if (!names.includes(name)) names.push(name);
      if (name === names[0]) throw new Error('away');
      return write(name, ...rest);
    });
    one.link.mend();
    await pass(10 * SECOND);
    expect(names.length).toBeGreaterThan(1);
    await expectNone(other);
  });
});

it.each([
  ['once', false],
  ['also when it is requested again meanwhile', true],
])(
  'a tombstone is there for as long as a positive answer could be served, for a process that was cut off: %s',
  async (_name, isAgain) => {
    const { joinTwo, join, service, refund, expectNone, expectRefused, pass } = fleet();
    const [one, other] = await joinTwo();
    other.link.break('cut');
    await refund(one);
    await pass(MINUTE);
    if (isAgain) await expectRefused(join());
    await one.close();
    service.later(23 * HOUR);
    other.link.mend();
    await expectNone(other);
  },
);

describe('a process that has missed messages', () => {
  it('asks the shared cache before it serves what it holds, and the service only when that has nothing', async () => {
    const { service, shared, joinAndAsk, reconnect } = fleet();
    const one = await joinAndAsk();
    reconnect();
    expect(one.peekPurchase(CODE)).toBeUndefined();
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(one.peekPurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
    shared.rows.clear();
    reconnect();
    service.says = 'negative';
    expect(await one.validatePurchase(CODE)).toBeNull();
  });

  it('still has its last positive answer in an outage of the service, also when the shared cache restarted empty', async () => {
    const { service, shared, joinAndAsk, reconnect, expectSold } = fleet();
    const one = await joinAndAsk();
    shared.rows.clear();
    reconnect();
    service.later(23 * HOUR, 'outage');
    await expectSold(one);
  });

  it.each<Fault>(['cut', 'frozen'])(
    'still has a positive answer that is later than the negative one that it missed: %s',
    async (fault) => {
      const { service, joinTwo, refund, during, pass } = fleet();
      const [one, other] = await joinTwo();
      other.link.break(fault);
      await refund(one);
      await pass(SECOND);
      service.says = 'positive';
      service.item = { ...item, version: 'bought again' };
      await during(other.validatePurchase(CODE, { fresh: true }));
      other.link.mend();
      await settle();
      service.says = 'outage';
      expect((await during(other.validatePurchase(CODE)))?.item.version).toBe('bought again');
    },
  );

  it('still has an answer that is later than the one that is stored', async () => {
    const { service, joinTwo, during } = fleet();
    const [, other] = await joinTwo();
    other.link.break('cut');
    service.item = { ...item, version: 'later' };
    await during(other.validatePurchase(CODE, { fresh: true }));
    other.link.mend();
    expect((await other.validatePurchase(CODE))?.item.version).toBe('later');
    expect(service.asked()).toBe(2);
  });

  it('has missed one when it cannot be opened', async () => {
    const { service, shared, joinTwo, expectSold, expectRefused } = fleet();
    const [one, other] = await joinTwo();
    await one.invalidate('another-purchase-code');
    const [message = ''] = shared.messages;
    await shared.publish(`${message.slice(0, -4)}AAAA`);
    for (const each of [one, other]) expect(each.peekPurchase(CODE)).toBeUndefined();
    expect(service.asked()).toBe(1);
    await expectSold(one, other);
    expect(service.asked()).toBe(1);
    shared.rows.clear();
    await shared.publish(`${message.slice(0, -4)}AAAA`);
    await expectRefused(one);
  });

  it('while its first subscription was refused, listens with the next lookup', async () => {
    const { shared, join, joinAndAsk, refund } = fleet();
    const late = join();
    late.link.break('without messages');
    await late.validatePurchase(CODE);
    late.link.mend();
    await late.validatePurchase(CODE);
    expect(late.peekPurchase(CODE)).toEqual(purchase);
    expect(shared.listeners).toBe(1);
    await refund(await joinAndAsk());
    expect(late.peekPurchase(CODE)).toBeUndefined();
  });
});
