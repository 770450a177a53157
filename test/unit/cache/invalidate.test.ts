import type { SharedCache } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expectError } from '../../support/errors.js';
import { begun, cachedPurchase, settle } from '../../support/key-api-service.js';
import { CODE, purchase } from '../../support/wire.js';
import {
  aloneWithAnswer,
  type Fault,
  fleet,
  HOUR,
  KINDS,
  moveTimeByHand,
  OTHER,
  SECOND,
} from './support.js';

// "`invalidate` settles when the shared cache knows; where it cannot be told it rejects with `store_unavailable`, has
// forgotten the code here, and goes on telling. `invalidate()` of everything is one row and one message." (section 2)

moveTimeByHand();

const WHAT: [string, string | undefined][] = [
  ['one code', CODE],
  ['everything', undefined],
];

describe.each(WHAT)('invalidate: %s', (_name, code) => {
  it('resolves when it is stored and published, once, and holds in all processes', async () => {
    const { service, shared, joinTwo, join, expectRefused, pass } = fleet();
    const [one, two] = await joinTwo();
    await one.validatePurchase(OTHER);
    const rows = shared.rows.size;
    await one.invalidate(code);
    await pass(10 * SECOND);
    expect(shared.messages).toHaveLength(1);
    expect(shared.rows.size).toBe(code === undefined ? rows + 1 : rows);
    const others = await cachedPurchase(one, OTHER);
    expect(others?.purchase_code).toBe(code === undefined ? undefined : OTHER);
    for (const each of [one, two]) expect(await cachedPurchase(each, CODE)).toBeUndefined();
    await expectRefused(two, one, join());
    service.says = 'positive';
    service.later(31 * SECOND);
    expect(await join().validatePurchase(CODE)).toEqual(purchase);
    const asked = service.asked();
    await join().validatePurchase(CODE);
    expect(service.asked()).toBe(asked);
  });

  it('is about negative answers too, in every process', async () => {
    const { service, join } = fleet();
    const [one, two] = [join(), join()];
    service.says = 'negative';
    for (const each of [one, two]) expect(await each.validatePurchase(CODE)).toBeNull();
    service.says = 'positive';
    await one.invalidate(code);
    for (const each of [join(), two, one]) {
      expect(await each.validatePurchase(CODE)).toEqual(purchase);
    }
    expect(service.asked()).toBe(2);
  });

  it('reaches a process that starts later, one that was cut off, and one that gets no messages', async () => {
    const { shared, joinTwo, join, joinAndAsk, expectNone, pass } = fleet();
    const [one, two] = await joinTwo();
    const three = await joinAndAsk();
    const rows = [...shared.rows];
    two.link.break('cut');
    three.link.break('without messages');
    await one.invalidate(code);
    // The row of the answer is evicted, or is back: the invalidation counts.
    for (const [name, row] of rows) if (!shared.rows.has(name)) shared.rows.set(name, row);
    await one.close();
    two.link.mend();
    await pass(SECOND);
    await expectNone(two, three, join());
  });

  it.each<[keyof SharedCache]>([['read'], ['write'], ['publish']])(
    'that cannot be sent rejects, holds here, and is sent later: no %s',
    async (method) => {
      const { service, shared, joinTwo, join, expectRefused, expectNone, pass, during } = fleet();
      const [one, two] = await joinTwo();
      shared.broken.add(method);
      await expectError(during(one.invalidate(code)), 'store_unavailable');
      expect(await cachedPurchase(one, CODE)).toBeUndefined();
      await expectRefused(one);
      shared.broken.clear();
      await pass(5 * SECOND);
      await expectNone(two, join());
      // No more than once.
      const { length } = shared.messages;
      await pass(60 * SECOND);
      expect(shared.messages).toHaveLength(length);
      service.says = 'positive';
      expect(await two.validatePurchase(CODE, { fresh: true })).toEqual(purchase);
    },
  );

  it.each<[string, (keyof SharedCache)[]]>([
    ['stored', ['write']],
    ['published', ['publish']],
    ['stored or published', ['write', 'publish']],
  ])(
    'that cannot be %s leaves what is requested later, in every process',
    async (_what, methods) => {
      const { service, shared, joinTwo, expectSold, pass, during } = fleet();
      const both = await joinTwo();
      for (const method of methods) shared.broken.add(method);
      await expectError(during(both[0].invalidate(code)), 'store_unavailable');
      for (const each of both) await during(each.validatePurchase(CODE, { fresh: true }));
      await pass(10 * SECOND);
      for (const each of both) expect(await cachedPurchase(each, CODE)).toEqual(purchase);
      // When it can be sent, whoever has not heard of it asks once more.
      shared.broken.clear();
      await pass(10 * SECOND);
      await expectSold(...both);
      await pass(10 * SECOND);
      service.says = 'outage';
      await expectSold(...both);
    },
  );

  it('is not sent again when no positive answer from before it can be served', async () => {
    const { service, join, joinAndAsk, reconnect, expectSold, pass } = fleet();
    await join().invalidate(code);
    await pass(25 * HOUR);
    const late = await joinAndAsk();
    reconnect();
    await settle();
    service.says = 'outage';
    await expectSold(late);
  });

  it.each<Fault>(['frozen', 'without publish'])(
    'from before the shared cache has answered for the first time holds here until it is sent (%s)',
    async (fault) => {
      const { join, joinTwo, expectNone, during } = fleet();
      await joinTwo();
      const late = join();
      late.link.break(fault);
      await expectError(during(late.invalidate(code)), 'store_unavailable');
      late.link.mend();
      await expectNone(late);
    },
  );

  it('makes in-flight lookups ask again, in every process', async () => {
    for (const by of [0, 1] as const) {
      const { service, join } = fleet();
      const both = [join(), join()] as const;
      for (const each of both) await each.getItem(1);
      service.hold();
      const [call] = await begun(both[0].validatePurchase(CODE));
      await both[by].invalidate(code);
      service.says = 'negative';
      await service.release();
      expect(await call).toBeNull();
      expect(await join().validatePurchase(CODE)).toBeNull();
      expect(service.asked()).toBe(2);
    }
  });

  it('makes a lookup ask three times at most: it ends with service_unavailable if the third answer comes too late, too', async () => {
    const { service, join } = fleet();
    const one = join();
    service.hold();
    const [call] = await begun(one.validatePurchase(CODE));
    const failure = expectError(call, 'service_unavailable', 'try again');
    for (let n = 0; n < 3; n++) {
      await one.invalidate(code);
      await service.release(n);
    }
    await failure;
    expect(service.asked()).toBe(3);
  });
});

it('a negative answer invalidates nothing of another kind', async () => {
  const { service, keyApi } = await aloneWithAnswer();
  await keyApi.getAccount();
  service.says = 'negative';
  expect(await keyApi.listItems()).toEqual([]);
  service.says = 'outage';
  await keyApi.getAccount();
  expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
});

describe('invalidate after a server with an earlier clock has taken over', () => {
  it('of one code, in a process that has started afterwards', async () => {
    const given = fleet();
    const [one, two] = await given.joinTwo();
    await given.pass(10 * SECOND);
    given.server.skew = -HOUR;
    given.reconnect();
    await settle();
    await given.expectSold(one, two);
    const three = given.join();
    await given.during(three.invalidate(CODE));
    await given.pass(SECOND);
    await given.expectRefused(one, two, three);
  });

  it('of everything, in a process that has asked before', async () => {
    const given = fleet();
    const one = given.join();
    await given.during(one.validatePurchase(OTHER));
    await given.pass(10 * SECOND);
    const two = await given.joinAndAsk();
    await given.pass(10 * SECOND);
    given.server.skew = -HOUR;
    given.reconnect();
    await settle();
    await given.expectSold(two);
    await given.during(one.invalidate());
    await given.pass(SECOND);
    await given.expectRefused(two);
  });
});

it('invalidate of one code after one of everything counts also by the clock of a server that took over', async () => {
  const { shared, server, join, joinAndAsk, reconnect, during, pass, expectRefused } = fleet();
  const one = join();
  await during(one.invalidate());
  await pass(10 * SECOND);
  const two = await joinAndAsk();
  server.skew = -HOUR;
  reconnect();
  await two.validatePurchase(CODE);
  // The row of everything is still there.
  shared.rows.delete([...shared.rows.keys()].at(-1) as string);
  const three = join();
  await during(three.invalidate(CODE));
  await expectRefused(two);
});

it('invalidate of one code is sent again at once where another process shares a later answer meanwhile', async () => {
  const { shared, joinTwo, joinAndAsk, during, pass, expectNone } = fleet();
  const [one, two] = await joinTwo();
  const three = await joinAndAsk();
  vi.spyOn(one.link, 'write').mockImplementationOnce(async (...given) => {
    await pass(1);
    await two.validatePurchase(CODE, { fresh: true });
    return shared.write(...given);
  });
  await during(one.invalidate(CODE));
  await expectNone(three);
});

it('invalidate of one code while the connection is lost is sent with the next, also after an earlier one that was sent', async () => {
  const { joinTwo, during, pass, expectNone } = fleet();
  const [one, two] = await joinTwo();
  await one.invalidate(CODE);
  await two.validatePurchase(CODE);
  one.link.break('cut');
  await expectError(during(one.invalidate(CODE)), 'store_unavailable');
  one.link.mend();
  await pass(5 * SECOND);
  await expectNone(two);
});

it('invalidate does not promise to be sent later by a client that was closed before or meanwhile', async () => {
  const { joinTwo, during } = fleet();
  const [one, two] = await joinTwo();
  one.link.break('frozen');
  const meanwhile = during(one.invalidate(CODE));
  await one.close();
  const isNotSent = /this client was closed; .* not sent/;
  await expectError(meanwhile, 'store_unavailable', isNotSent);
  await expectError(one.invalidate(CODE), 'store_unavailable', isNotSent);
  expect(await cachedPurchase(one, CODE)).toBeUndefined();
  two.link.break('full');
  await expectError(
    during(two.invalidate(CODE)),
    'store_unavailable',
    /is sent to the others later/,
  );
});

it('invalidate of everything is about answers of every kind', async () => {
  const { service, join } = fleet();
  const [one, two] = [join(), join()];
  for (const each of [one, two]) for (const [, ask] of KINDS) await ask(each);
  await one.invalidate();
  const before = service.asked('all');
  for (const [, ask] of KINDS) await ask(two);
  // The list answers for its items.
  expect(service.asked('all')).toBe(before + KINDS.length - 1);
});

it('invalidate of everything leaves what was requested after it, also in a process that it could not reach', async () => {
  const { service, joinTwo, during, expectSold, pass } = fleet();
  const [one, other] = await joinTwo();
  other.link.break('cut');
  await one.invalidate();
  await pass(SECOND);
  await during(other.validatePurchase(CODE, { fresh: true }));
  other.link.mend();
  service.says = 'outage';
  await expectSold(other);
});

it('invalidate of everything costs the others one read more, once after each connection', async () => {
  const { shared, join, joinAndAsk, reconnect } = fleet();
  await (await joinAndAsk()).validatePurchase(OTHER);
  const one = join();
  const readsFor = async (code: string): Promise<number> => {
    shared.calls.length = 0;
    await one.validatePurchase(code);
    return shared.calls.filter((call) => call === 'read').length;
  };
  for (let n = 0; n < 2; n++) {
    expect([await readsFor(CODE), await readsFor(OTHER)]).toEqual([2, 1]);
    reconnect();
  }
});

it('invalidate of one code is about all its spellings, and about no other code, however that reads', async () => {
  const { joinTwo } = fleet();
  const [one, two] = await joinTwo();
  for (const code of ['99999999999999', 'everything', 'purchase', `a${CODE}`]) {
    await two.validatePurchase(code);
    await one.invalidate(code);
    expect(await cachedPurchase(two, code)).toBeUndefined();
  }
  for (const each of [one, two]) expect(await cachedPurchase(each, CODE)).toEqual(purchase);
  await one.invalidate(CODE.toUpperCase());
  for (const each of [one, two]) expect(await cachedPurchase(each, CODE)).toBeUndefined();
});
