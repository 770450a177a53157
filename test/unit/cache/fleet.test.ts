import { describe, expect, it, vi } from 'vitest';
import { expectError } from '../../support/errors.js';
import { begun, cachedPurchase, settle } from '../../support/key-api-service.js';
import { collectWarnings } from '../../support/warnings.js';
import { CODE, KEY, purchase } from '../../support/wire.js';
import {
  aloneWithAnswer,
  type Fault,
  fleet,
  HOUR,
  KINDS,
  MINUTE,
  moveTimeByHand,
  OTHER,
  OTHER_KEY,
  SECOND,
} from './support.js';

// What a fleet promises that the model check does not show: what a lookup costs, and what each single fault does.

moveTimeByHand();

describe('processes use each other’s answers', () => {
  it.each(KINDS)(
    'an answer that one has asked for costs the others no request: %s',
    async (_kind, ask, value) => {
      const { service, join } = fleet();
      for (const each of [join(), join(), join()]) expect(await ask(each)).toEqual(value);
      expect(service.asked('all')).toBe(1);
    },
  );

  it('a miss costs a read and a write, and a hit in the shared cache a read', async () => {
    const { shared, join } = fleet();
    const [one, other] = [join(), join()];
    for (const [each, calls] of [
      [one, ['subscribe', 'read', 'write']],
      [other, ['subscribe', 'read']],
      [other, []],
    ] as const) {
      shared.calls.length = 0;
      await each.validatePurchase(CODE);
      expect(shared.calls).toEqual(calls);
    }
  });

  it('a no costs the others no request either, is stored for invalidTtl, and counts for its spelling', async () => {
    const { service, shared, join, clock } = fleet();
    service.says = 'negative';
    const [one, other] = [join(), join()];
    expect(await one.validatePurchase(CODE)).toBeNull();
    const [row] = shared.rows.values();
    expect(Math.round((row?.expiresAt ?? 0) - clock())).toBe(30 * SECOND);
    expect(await other.validatePurchase(CODE)).toBeNull();
    expect(service.asked()).toBe(1);
    service.says = 'positive';
    expect(await other.validatePurchase(CODE.toUpperCase())).not.toBeNull();
  });

  it('an answer is as old in every process as its request: the refresh comes at ttl, once for all', async () => {
    const { service, join, joinAndAsk, during, pass } = fleet();
    const one = await joinAndAsk();
    await pass(4 * MINUTE);
    const other = await joinAndAsk();
    await pass(MINUTE);
    service.says = 'negative';
    expect(await during(other.validatePurchase(CODE))).toEqual(purchase);
    await settle();
    for (const each of [other, one, join()])
      expect(await during(each.validatePurchase(CODE))).toBeNull();
    expect(service.asked()).toBe(2);
  });

  it('in an outage of the service the last yes there serves a process that has none, until staleIfError', async () => {
    const { service, join, joinAndAsk, pass, during } = fleet();
    await joinAndAsk();
    await pass(24 * HOUR - MINUTE);
    service.says = 'outage';
    expect(await during(join().validatePurchase(CODE))).toEqual(purchase);
    await pass(MINUTE);
    await expectError(during(join().validatePurchase(CODE)), 'service_unavailable');
  });

  it('by clocks that are hours apart', async () => {
    const { service, clock, joinAndAsk } = fleet();
    await joinAndAsk();
    for (const hours of [-23, 23]) {
      await joinAndAsk({}, { clock: () => clock() + hours * HOUR });
    }
    expect(service.asked()).toBe(1);
  });

  it('a slow function for the apiKey is waited for, because the request needs it too', async () => {
    const { service, joinAndAsk, join, during } = fleet();
    await joinAndAsk();
    const apiKey = () => new Promise<string>((resolve) => setTimeout(resolve, 2000, KEY));
    expect(await during(join({}, { apiKey }).validatePurchase(CODE))).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });

  it('after a rotation of the key they begin anew, and what they hold stays', async () => {
    const { service, joinAndAsk, join } = fleet();
    let key = KEY;
    const one = await joinAndAsk({}, { apiKey: () => key });
    key = OTHER_KEY;
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
    await join({}, { apiKey: OTHER_KEY }).validatePurchase(CODE);
    expect(service.asked()).toBe(2);
  });
});

describe('a refund that one process hears', () => {
  it('counts in a process that gets no messages at its next look', async () => {
    const { joinTwo, refund, expectRefused, service } = fleet();
    const [one, two] = await joinTwo();
    two.link.break('without messages');
    await refund(one);
    service.says = 'outage';
    expect(await two.validatePurchase(CODE)).toBeNull();
    await expectRefused(two);
  });

  it('makes an answer in flight ask again, in each process, and keeps it out of the shared cache', async () => {
    const { service, shared, join, refund } = fleet();
    const [one, two, deaf] = [join(), join(), join()];
    for (const each of [one, two, deaf]) await each.getAccount();
    deaf.link.break('without messages');
    service.hold();
    const late = await begun(two.validatePurchase(CODE), deaf.validatePurchase(CODE));
    service.says = 'negative';
    const [refused] = await begun(one.validatePurchase(CODE, { fresh: true }));
    await service.release(2);
    expect(await refused).toBeNull();
    await service.release();
    expect(await Promise.all(late)).toEqual([null, null]);
    expect(shared.calls.filter((call) => call === 'write')).toHaveLength(2);
    await refund(one);
  });

  it('is remembered by the process itself against a row from before, once its no has expired', async () => {
    const { service, shared, joinTwo, refund, pass, during } = fleet();
    const [one] = await joinTwo();
    const rows = [...shared.rows];
    await refund(one);
    await pass(31 * SECOND);
    for (const row of rows) shared.rows.set(...row);
    service.says = 'outage';
    await expectError(during(one.validatePurchase(CODE)), 'service_unavailable');
  });
});

describe('a cut connection', () => {
  it('deletes nothing: what is kept is asked about when it is back, and serves if nobody can answer', async () => {
    const { service, shared, joinTwo, reconnect, expectSold, during } = fleet();
    const [one] = await joinTwo();
    reconnect();
    shared.calls.length = 0;
    for (let n = 0; n < 2; n++) await expectSold(one);
    expect(shared.calls).toEqual(['read']);
    expect(service.asked()).toBe(1);
    // A restart without persistence.
    shared.clear();
    reconnect();
    service.says = 'outage';
    await expectSold(one);
    service.says = 'negative';
    expect(await during(one.validatePurchase(CODE))).toBeNull();
  });

  it('is bridged by asking the shared cache before each answer is served', async () => {
    const { service, shared, joinTwo, expectSold } = fleet();
    const [one] = await joinTwo();
    one.link.break('without messages');
    shared.calls.length = 0;
    for (let n = 0; n < 3; n++) await expectSold(one);
    expect(shared.calls).toEqual(['read', 'read', 'read']);
    expect(service.asked()).toBe(1);
  });

  it('does not let the failure of an earlier call keep the new connection at rest', async () => {
    const { service, joinTwo, refund, pass, during } = fleet();
    const [one, two] = await joinTwo();
    two.link.break('cut');
    two.link.fault = 'frozen';
    const [waiting] = await begun(two.validatePurchase(OTHER));
    await pass(50);
    two.link.fault = 'cut';
    await refund(one);
    two.link.mend();
    await pass(60);
    service.says = 'outage';
    expect(await during(two.validatePurchase(CODE))).toBeNull();
    await during(waiting.catch(() => {}));
  });

  it('ends the second for which Redis is left alone when it is back', async () => {
    const { service, joinTwo, refund, during } = fleet();
    const [one, two] = await joinTwo();
    two.link.break('cut');
    await during(two.validatePurchase(OTHER));
    await refund(one);
    two.link.mend();
    service.says = 'outage';
    expect(await during(two.validatePurchase(CODE))).toBeNull();
  });

  it.each(['read', 'write'] as const)(
    'asks again where a no arrives while the answer to a %s is on the way',
    async (method) => {
      const { service, join, joinAndAsk, refund, pass, during } = fleet();
      const one = await joinAndAsk();
      if (method === 'write') await one.invalidate(CODE);
      const two = join();
      const call = two.link[method].bind(two.link) as (...given: unknown[]) => Promise<never>;
      vi.spyOn(two.link, method).mockImplementationOnce(async (...given: unknown[]) => {
        const reply = await call(...given);
        await new Promise((resolve) => setTimeout(resolve, 80));
        return reply;
      });
      const [slow] = await begun(two.validatePurchase(CODE));
      await pass(10);
      await refund(one);
      expect(await during(slow)).toBeNull();
      // Nothing of before is left in its own cache either.
      service.says = 'outage';
      expect(await during(two.validatePurchase(CODE))).toBeNull();
    },
  );

  it('lets a no count over an answer that was got while its row was on the way', async () => {
    const { service, joinTwo, refund, pass, during } = fleet();
    const [one, two] = await joinTwo();
    two.link.break('without messages');
    const read = two.link.read.bind(two.link);
    const reading = vi.spyOn(two.link, 'read').mockImplementationOnce(async (key) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return read(key);
    });
    const [slow] = await begun(two.validatePurchase(CODE));
    await pass(10);
    await two.validatePurchase(CODE, { fresh: true });
    await pass(10);
    await refund(one);
    service.says = 'outage';
    expect(await during(slow)).toBeNull();
    expect(reading).toHaveBeenCalledTimes(2);
  });
});

describe.each<Fault>(['cut', 'frozen', 'full', 'without publish'])(
  'a shared cache that is %s',
  (fault) => {
    it('leaves each process on its own: a refund counts after ttl and one visit, and later in no case', async () => {
      const { service, joinTwo, pass, during } = fleet();
      for (const idle of [5 * MINUTE, 65 * MINUTE]) {
        const [one] = await joinTwo();
        one.link.break(fault);
        await pass(2 * SECOND);
        const before = service.asked();
        expect(await during(one.validatePurchase(CODE))).toEqual(purchase);
        expect(service.asked()).toBe(before);
        service.says = 'negative';
        await pass(idle);
        const first = await during(one.validatePurchase(CODE));
        if (idle > HOUR) expect(first).toBeNull();
        await pass(SECOND);
        expect(await during(one.validatePurchase(CODE))).toBeNull();
        service.says = 'positive';
        one.link.mend();
        await pass(2 * MINUTE);
        await during(one.validatePurchase(CODE, { fresh: true }));
      }
    });

    it('is a warning with the reason, once', async () => {
      const { join, during, pass } = fleet();
      const warnings = collectWarnings();
      const one = join();
      await during(one.validatePurchase(OTHER));
      one.link.break(fault);
      for (let n = 0; n < 2; n++) {
        await during(one.invalidate(CODE).catch(() => {}));
        await pass(2 * SECOND);
      }
      expect(warnings.map(({ code }) => code)).toEqual(['MARKETGATE_CACHE_NOT_SHARED']);
      const { message } = warnings[0] ?? {};
      if (fault === 'frozen') expect(message).toContain(': it did not answer within 100 ms (');
      expect(message).not.toContain('is refused');
    });

    it('costs a visitor 100 ms at most, and is left alone for a second', async () => {
      const { shared, join, during, pass } = fleet();
      const one = join();
      await one.getAccount();
      one.link.break(fault);
      const begunAt = performance.now();
      expect(await during(one.validatePurchase(CODE))).toEqual(purchase);
      expect(performance.now() - begunAt).toBeLessThanOrEqual(210);
      shared.calls.length = 0;
      if (fault !== 'without publish') {
        await during(one.validatePurchase(OTHER));
        expect(shared.calls).toEqual([]);
      }
      one.link.mend();
      await pass(SECOND);
      await during(one.validatePurchase(`${OTHER}-2`));
      expect(shared.calls).toEqual(['read', 'write']);
    });
  },
);

describe('invalidate', () => {
  it.each([
    ['one code', [CODE]],
    ['everything', []],
  ] as const)(
    'of %s counts here at once and in every process that gets the message',
    async (_what, given) => {
      const { service, joinTwo, join } = fleet();
      const [one, two] = await joinTwo();
      await one.invalidate(...given);
      for (const each of [one, two]) expect(await cachedPurchase(each, CODE)).toBeUndefined();
      service.says = 'negative';
      for (const each of [two, one]) expect(await each.validatePurchase(CODE)).toBeNull();
      service.says = 'positive';
      if (given.length > 0) expect(await join().validatePurchase(CODE)).toBeNull();
    },
  );

  it.each([
    ['one code is about its noes too, and about no other code', [CODE.toUpperCase()], 3],
    ['everything is about noes too', [], 4],
  ] as const)('of %s', async (_what, given, asked) => {
    const { service, join, pass } = fleet();
    const [one, two] = [join(), join()];
    for (const each of [one, two]) await each.validatePurchase(OTHER);
    service.says = 'negative';
    for (const each of [one, two]) expect(await each.validatePurchase(CODE)).toBeNull();
    service.says = 'positive';
    await one.invalidate(...given);
    await pass(1);
    for (const each of [two, one]) expect(await each.validatePurchase(CODE)).toEqual(purchase);
    for (const each of [two, one]) await each.validatePurchase(OTHER);
    expect(service.asked()).toBe(asked);
  });

  it('of everything is about answers of every kind', async () => {
    const { service, join, pass } = fleet();
    const [one, two] = [join(), join()];
    for (const each of [one, two]) for (const [, ask] of KINDS) await ask(each);
    await one.invalidate();
    await pass(1);
    const before = service.asked('all');
    for (const [, ask] of KINDS) await ask(two);
    // The list answers for its items.
    expect(service.asked('all')).toBe(before + KINDS.length - 1);
  });

  it.each<Fault>(['cut', 'frozen', 'full', 'without publish'])(
    'rejects where the shared cache cannot be told (%s): this process has forgotten, nothing is sent later, and it can be called again',
    async (fault) => {
      const { shared, joinTwo, during, pass, expectRefused } = fleet();
      const [one, two] = await joinTwo();
      const rows = [...shared.rows];
      one.link.break(fault);
      await expectError(during(one.invalidate(CODE)), 'store_unavailable', 'call it again');
      expect(await cachedPurchase(one, CODE)).toBeUndefined();
      one.link.mend();
      for (const row of rows) shared.rows.set(...row);
      await pass(MINUTE);
      expect(shared.messages).toEqual([]);
      expect(await cachedPurchase(two, CODE)).toEqual(purchase);
      await one.invalidate(CODE);
      await expectRefused(two, one);
    },
  );

  it('makes a lookup ask three times at most', async () => {
    const { service, join } = fleet();
    const one = join();
    service.hold();
    const [call] = await begun(one.validatePurchase(CODE));
    const failure = expectError(call, 'service_unavailable', 'try again');
    for (let n = 0; n < 3; n++) {
      await one.invalidate(CODE);
      await service.release(n);
    }
    await failure;
    expect(service.asked()).toBe(3);
  });

  it('rejects after close()', async () => {
    const { keyApi } = await aloneWithAnswer();
    await keyApi.close();
    await expectError(keyApi.invalidate(CODE), 'service_unavailable', 'this client was closed');
  });
});

describe('a shared cache of another kind', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'row'],
    ['a row without a lease', { value: 'x', age: 0 }],
    ['a row without an age', { value: 'x', lease: '' }],
    ['a value that is no text', { value: 7, age: 0, lease: '' }],
  ])('that returns %s is left alone', async (_what, row) => {
    const { service, join } = fleet();
    const one = join();
    Object.assign(one.link, { read: async () => row });
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
  });

  it('an answer that took longer than two minutes is not stored: nobody remembers its lease', async () => {
    const { service, shared, join, pass } = fleet();
    const one = join({}, { timeout: 10 * MINUTE });
    service.hold();
    const [call] = await begun(one.validatePurchase(CODE));
    await pass(2 * MINUTE);
    await service.release();
    expect(await call).toEqual(purchase);
    expect(shared.rows.size).toBe(0);
  });

  it('one whose subscription is refused is subscribed to again at the next lookup', async () => {
    const { shared, join } = fleet();
    const one = join();
    shared.broken.add('subscribe');
    await one.validatePurchase(CODE);
    shared.broken.clear();
    await one.validatePurchase(OTHER);
    expect(shared.listeners).toBe(1);
    await one.close();
    await settle();
    expect(shared.listeners).toBe(0);
  });
});
