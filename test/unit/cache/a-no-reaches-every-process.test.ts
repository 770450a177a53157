import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { begun, cachedPurchase, settle, VALIDATION } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { CODE, guess, item, KEY, purchase } from '../../support/wire.js';
import {
  FAULTS,
  type Fault,
  fleet,
  HOUR,
  MINUTE,
  moveTimeByHand,
  OTHER,
  SECOND,
} from './support.js';

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

type Rows = ReturnType<typeof fleet>['shared']['rows'];

/** What another server has that takes over: by how much its clock differs, and its rows. */
const TAKEOVERS: [string, number, (rows: Rows, older: Rows) => unknown][] = [
  ['restarts empty', 0, (rows) => rows.clear()],
  [
    'fails over to a server with an older row',
    0,
    (rows, older) => rows.set(...([...older][0] as [string, never])),
  ],
  ['fails over to an earlier clock', -HOUR, () => {}],
  ['fails over to an earlier clock, empty', -HOUR, (rows) => rows.clear()],
  ['fails over to a later clock', MINUTE, () => {}],
];

describe.each(['before', 'after'])('%s the negative answer, the shared cache', (when) => {
  it.each([...TAKEOVERS, ['evicts the row', undefined, (rows: Rows) => rows.clear()] as const])(
    '%s: the negative answer counts, and so does a later positive one',
    async (_name, skew, change) => {
      for (const hearing of [0, 1] as const) {
        const { shared, server, reconnect, ...given } = fleet();
        const { joinTwo, join, service, refund, expectNone, expectSold, pass } = given;
        const both = await joinTwo();
        const older = new Map(shared.rows);
        const fail = (): void => {
          change(shared.rows, older);
          if (skew === undefined) return;
          server.skew = skew;
          reconnect();
        };
        if (when === 'before') fail();
        await refund(both[hearing]);
        if (when === 'after') fail();
        await settle();
        await pass(FORGOTTEN);
        await expectNone(...both, join());
        service.says = 'positive';
        await pass(MINUTE);
        // In the process that got a message.
        await both[hearing === 0 ? 1 : 0].validatePurchase(CODE, { fresh: true });
        service.says = 'outage';
        await expectSold(...both, join());
      }
    },
  );
});

it.each([
  ['holds against what was requested before', false],
  ['makes what was requested later be asked for once more, because their order is in doubt', true],
])(
  'a negative answer from before the shared cache could be asked for the first time %s',
  async (_name, isAgain) => {
    const { service, join, joinTwo, refund, expectNone, expectSold, pass } = fleet();
    const [one, other] = await joinTwo();
    const late = join();
    late.link.break('cut');
    await refund(late);
    await pass(SECOND);
    if (isAgain) service.says = 'positive';
    if (isAgain) await one.validatePurchase(CODE, { fresh: true });
    await pass(SECOND);
    late.link.mend();
    await pass(FORGOTTEN);
    if (!isAgain) return expectNone(one, other, late);
    const asked = service.asked();
    await expectSold(one, other, late);
    expect(service.asked()).toBe(asked + 1);
    service.says = 'outage';
    await expectSold(one, other, late);
  },
);

it('a negative answer from before the shared cache has answered for the first time holds until it is sent', async () => {
  const { service, join, joinTwo, refund, expectNone } = fleet();
  await joinTwo();
  const late = join();
  late.link.break('frozen');
  await refund(late);
  late.link.mend();
  // No timer has run.
  service.later(FORGOTTEN);
  await expectNone(late);
});

it('each of several negative answers that wait is published, although the shared cache is full', async () => {
  const { service, join, during, pass } = fleet();
  const [one, two] = [join(), join()];
  for (const code of [CODE, OTHER])
    for (const each of [one, two]) await each.validatePurchase(code);
  one.link.break('cut');
  service.says = 'negative';
  for (const code of [CODE, OTHER]) await during(one.validatePurchase(code, { fresh: true }));
  one.link.break('full');
  await pass(SECOND);
  for (const code of [CODE, OTHER]) expect(await cachedPurchase(two, code)).toBeUndefined();
});

describe('of two requests in two processes, the later one counts, although it is answered first', () => {
  it.each<[string, 'positive' | 'negative', 'positive' | 'negative', Fault?]>([
    ['a negative one whose message arrives', 'positive', 'negative'],
    ['a negative one that is stored, and not published', 'positive', 'negative', 'without publish'],
    ['a negative one that is published, and not stored', 'positive', 'negative', 'read-only'],
    ['a positive one after a negative one', 'negative', 'positive'],
    ['a positive one after a positive one', 'positive', 'positive'],
  ])('%s', async (_name, earlier, later, fault) => {
    const { service, join, pass, during, expectNone } = fleet();
    const both = [join(), join()] as const;
    for (const each of both) await each.getAccount({ fresh: true });
    service.hold();
    const calls: Promise<unknown>[] = [];
    for (const [n, each] of both.entries()) {
      service.says = [earlier, later][n] as 'positive' | 'negative';
      service.item = { ...item, version: `${n}` };
      calls.push(each.validatePurchase(CODE, { fresh: true }));
      await settle();
      await pass(1);
      if (n === 0 && fault) for (const { link } of both) link.break(fault);
    }
    await service.release(1);
    await service.release();
    const counts = later === 'negative' ? null : { ...purchase, item: { ...item, version: '1' } };
    const [first, second] = await Promise.all(calls);
    expect(second).toEqual(counts);
    // Its own answer, while nothing contradicts it.
    if (earlier !== later) expect(first).toEqual(counts);
    await pass(FORGOTTEN);
    if (counts === null) return expectNone(...both);
    service.says = 'outage';
    for (const each of [...both, join()]) {
      expect(await during(each.validatePurchase(CODE))).toEqual(counts);
    }
  });

  it.each(['one process', 'two processes'])('a negative one of a retry, in %s', async (where) => {
    const { service, join, during, pass, expectNone } = fleet();
    const one = join({}, { retries: 1 });
    const other = where === 'one process' ? one : join();
    for (const each of [one, other]) await each.getAccount();
    service.override = ({ path }) => (path === VALIDATION ? json({}, 503) : undefined);
    service.hold();
    const earlier = one.validatePurchase(CODE, { fresh: true });
    await settle();
    service.override = undefined;
    const later = other.validatePurchase(CODE, { fresh: true });
    await settle();
    await service.release(1);
    expect(await later).toEqual(purchase);
    service.says = 'negative';
    await service.release();
    expect(await during(earlier)).toBeNull();
    await pass(FORGOTTEN);
    await expectNone(one, other);
  });

  it('a negative one of a process that reads the shared clock for the first time, and slowly', async () => {
    const { service, shared, join, pass, during, expectNone } = fleet();
    const [slow, other] = [join(), join()];
    await other.getAccount();
    vi.spyOn(slow.link, 'read').mockImplementation(async (key) => {
      const row = await shared.read(key);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return row;
    });
    const later = slow.validatePurchase(CODE, { fresh: true });
    await settle();
    await pass(80);
    expect(await other.validatePurchase(CODE, { fresh: true })).toEqual(purchase);
    service.says = 'negative';
    expect(await during(later)).toBeNull();
    await pass(FORGOTTEN);
    await expectNone(slow, other);
  });

  it('a negative one that comes after an earlier row was read, and before that arrives', async () => {
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
    expect(await cachedPurchase(other, CODE)).toBeUndefined();
  });

  it('is sent within 5 s, also after an outage of hours', async () => {
    const { joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('frozen');
    await refund(one);
    await pass(2 * HOUR);
    one.link.mend();
    await pass(5 * SECOND + 200);
    await expectNone(other);
  });

  it('counts as given when it is sent, also where an earlier one about the same code was stored', async () => {
    const { service, joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    await refund(one);
    await pass(SECOND);
    service.says = 'positive';
    for (const each of [one, other]) await each.validatePurchase(CODE, { fresh: true });
    one.link.break('cut');
    await refund(one);
    one.link.mend();
    await pass(5 * SECOND);
    await expectNone(other);
  });

  it('counts as given when it is sent, also where only reading was possible before', async () => {
    const { service, shared, joinTwo, refund, pass } = fleet();
    const [one, other] = await joinTwo();
    const refused = [vi.spyOn(one.link, 'write'), vi.spyOn(one.link, 'publish')];
    for (const each of refused) each.mockRejectedValue(new Error('refused'));
    await refund(one);
    await pass(SECOND);
    service.says = 'positive';
    await other.validatePurchase(CODE, { fresh: true });
    for (const each of refused) each.mockRestore();
    await pass(5 * SECOND);
    expect(shared.messages).toHaveLength(1);
    const asked = service.asked();
    // In doubt it is asked about once more.
    expect(await other.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(asked + 1);
  });

  it('counts also where an earlier one about the same code is being sent at that moment', async () => {
    const { service, shared, joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('cut');
    await refund(one);
    const published = deferred();
    vi.spyOn(one.link, 'publish').mockImplementationOnce(async (message) => {
      await published.promise;
      return shared.publish(message);
    });
    one.link.mend();
    await settle();
    service.says = 'positive';
    expect(await other.validatePurchase(CODE, { fresh: true })).toEqual(purchase);
    one.link.break('cut');
    await refund(one);
    published.resolve();
    await settle();
    one.link.mend();
    await pass(5 * SECOND);
    await expectNone(other);
  });

  it.each<Fault>(['full', 'read-only', 'without publish'])(
    'before a positive one keeps its order while it is tried again: the later one still counts (%s)',
    async (fault) => {
      const { service, joinTwo, refund, during, expectSold, pass } = fleet();
      const both = await joinTwo();
      for (const { link } of both) link.break(fault);
      await refund(both[0]);
      await pass(SECOND);
      service.says = 'positive';
      for (const each of both) await during(each.validatePurchase(CODE, { fresh: true }));
      await pass(10 * SECOND);
      service.says = 'outage';
      await expectSold(...both);
    },
  );

  it('is published until it is stored too, for processes that have missed it', async () => {
    const { joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    other.link.break('cut');
    one.link.break('full');
    await refund(one);
    other.link.mend();
    await pass(5 * SECOND);
    await expectNone(other);
  });

  it('is stored for long also where another answer is faster', async () => {
    const { service, joinTwo, refund, expectNone, pass } = fleet();
    const [one, other] = await joinTwo();
    other.link.break('cut');
    one.link.break('full');
    await refund(one);
    one.link.mend();
    expect(await one.validatePurchase(CODE, { fresh: true })).toBeNull();
    await pass(HOUR);
    other.link.mend();
    service.says = 'outage';
    await expectNone(other);
  });

  it('hides the row from before it, whatever else is invalidated meanwhile', async () => {
    const { service, joinTwo, refund, expectNone } = fleet();
    const [one, other] = await joinTwo();
    one.link.break('full');
    await refund(one);
    for (let n = 0; n <= 10_000; n++) await other.invalidate(guess(n));
    service.later(FORGOTTEN);
    await expectNone(one);
  });

  it('before a positive one keeps its order when it is sent again: the later one still counts', async () => {
    const { service, shared, joinTwo, join, refund, reconnect, expectSold, pass } = fleet();
    const [one, other] = await joinTwo();
    await refund(one);
    await pass(SECOND);
    service.says = 'positive';
    await other.validatePurchase(CODE, { fresh: true });
    const late = join();
    await late.validatePurchase(CODE);
    reconnect();
    await pass(FORGOTTEN);
    // It was sent once.
    const { length } = shared.calls;
    await pass(FORGOTTEN);
    expect(shared.calls).toHaveLength(length);
    service.says = 'outage';
    await expectSold(one, other, late, join());
  });

  it('before a positive one does not hide that one, while it cannot be sent again', async () => {
    const { service, shared, joinTwo, refund, reconnect, expectSold, pass } = fleet();
    const [one, other] = await joinTwo();
    await refund(one);
    await pass(SECOND);
    service.says = 'positive';
    await other.validatePurchase(CODE, { fresh: true });
    shared.broken.add('write');
    reconnect();
    await pass(FORGOTTEN);
    service.says = 'outage';
    await expectSold(one);
  });

  it('asks the app for its api_key once each time, however much it is', async () => {
    const { shared, join, refund, pass } = fleet();
    const apiKey = vi.fn(() => KEY);
    const one = join({}, { apiKey });
    for (const code of [CODE, OTHER]) await one.validatePurchase(code);
    shared.broken.add('read');
    await refund(one);
    await one.validatePurchase(OTHER, { fresh: true });
    apiKey.mockClear();
    await pass(2 * SECOND);
    expect(apiKey).toHaveBeenCalledTimes(1);
  });

  it('is sent again to a server that takes over with an older row', async () => {
    const { shared, joinTwo, join, refund, reconnect, expectNone, pass } = fleet();
    const [one] = await joinTwo();
    const [older = []] = [[...shared.rows][0]];
    one.link.break('read-only');
    await refund(one);
    one.link.mend();
    await pass(5 * SECOND);
    await pass(23 * HOUR);
    shared.rows.set(...(older as [string, never]));
    reconnect();
    await pass(FORGOTTEN);
    await expectNone(join());
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
