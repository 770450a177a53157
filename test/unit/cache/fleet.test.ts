import { describe, expect, it, vi } from 'vitest';
import { expectError } from '../../support/errors.js';
import { begun, cachedPurchase, settle } from '../../support/key-api-service.js';
import { collectWarnings } from '../../support/warnings.js';
import { CODE, KEY, purchase } from '../../support/wire.js';
import {
  type Fault,
  fleet,
  HOUR,
  KINDS,
  MINUTE,
  moveTimeByHand,
  OTHER,
  OTHER_KEY,
  type Process,
  SECOND,
} from './support.js';

// What a fleet promises that the model check does not show: what a lookup costs, and what each single fault does.

moveTimeByHand();

describe('processes use each other’s answers', () => {
  it.each(KINDS)(
    'one request is enough for all, and one more after invalidate(): %s',
    async (_kind, ask, value) => {
      const { service, join, pass } = fleet();
      const processes = [join(), join(), join()];
      const askAll = async () => {
        const answers = [];
        for (const each of processes) answers.push(await ask(each));
        expect(answers).toEqual(Array(3).fill(value));
        return answers;
      };
      const before = await askAll();
      expect(service.asked('all')).toBe(1);
      await processes[0]?.invalidate();
      await pass(1);
      for (const [n, answer] of (await askAll()).entries()) expect(answer).not.toBe(before[n]);
      expect(service.asked('all')).toBe(2);
    },
  );

  it('an answer costs a read and a write, in the next process a read, and then nothing', async () => {
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

  it('an answer is as old in each as its request, by clocks that are hours apart: the refresh comes at ttl, once for all', async () => {
    const { service, clock, join, joinAndAsk, during, pass } = fleet();
    const one = await joinAndAsk();
    await pass(4 * MINUTE);
    const other = await joinAndAsk({}, { clock: () => clock() + 23 * HOUR });
    await pass(MINUTE);
    service.says = 'negative';
    expect(await during(other.validatePurchase(CODE))).toEqual(purchase);
    await settle();
    for (const each of [other, one, join({}, { clock: () => clock() - 23 * HOUR })]) {
      expect(await during(each.validatePurchase(CODE))).toBeNull();
    }
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

  it('after a rotation of the key they begin anew, and what they hold stays', async () => {
    const { service, joinAndAsk, join } = fleet();
    let key = KEY;
    const one = await joinAndAsk({}, { apiKey: () => key });
    key = OTHER_KEY;
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
    await one.validatePurchase(OTHER);
    await join({}, { apiKey: OTHER_KEY }).validatePurchase(OTHER);
    expect(service.asked()).toBe(2);
  });
});

describe('a refund that one process hears', () => {
  it('counts at the next look in a process without messages, which asks the shared cache each time', async () => {
    const { service, shared, joinTwo, refund } = fleet();
    const [one, two] = await joinTwo();
    two.link.break('without messages');
    shared.calls.length = 0;
    for (let n = 0; n < 3; n++) expect(await two.validatePurchase(CODE)).toEqual(purchase);
    expect(shared.calls).toEqual(['read', 'read', 'read']);
    expect(service.asked()).toBe(1);
    await refund(one);
    expect(await two.validatePurchase(CODE)).toBeNull();
  });

  it('makes an answer in flight ask again, in each process, and keeps it out of the shared cache', async () => {
    const { service, shared, join } = fleet();
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
  });

  it('is remembered by the process itself against a row from before, once its no has expired', async () => {
    const { shared, joinTwo, refund, pass, during } = fleet();
    const [one] = await joinTwo();
    const rows = [...shared.rows];
    await refund(one);
    await pass(31 * SECOND);
    for (const row of rows) shared.rows.set(...row);
    await expectError(during(one.validatePurchase(CODE)), 'service_unavailable');
  });

  /** The next answer of the shared cache arrives after 80 ms. */
  function delay({ link }: Process, method: 'read' | 'write') {
    const call = link[method].bind(link) as (...given: unknown[]) => Promise<never>;
    vi.spyOn(link, method).mockImplementationOnce(async (...given: unknown[]) => {
      const reply = await call(...given);
      await new Promise((resolve) => setTimeout(resolve, 80));
      return reply;
    });
  }

  it.each(['read', 'write'] as const)(
    'counts where it arrives while the answer to a %s is on the way',
    async (method) => {
      const { join, joinAndAsk, refund, pass, during } = fleet();
      const one = await joinAndAsk();
      if (method === 'write') await one.invalidate(CODE);
      const two = join();
      delay(two, method);
      const [slow] = await begun(two.validatePurchase(CODE));
      await pass(10);
      await refund(one);
      // Nothing of before is left in its own cache either.
      for (const call of [slow, two.validatePurchase(CODE)]) expect(await during(call)).toBeNull();
    },
  );
});

describe('a cut connection', () => {
  it('deletes nothing: what is kept is asked about when it is back, and serves if nobody can answer', async () => {
    const { service, shared, joinTwo, during } = fleet();
    const [one] = await joinTwo();
    for (const isEmpty of [false, true]) {
      one.link.break('cut');
      one.link.mend();
      // A restart without persistence.
      if (isEmpty) shared.clear();
      if (isEmpty) service.says = 'outage';
      shared.calls.length = 0;
      for (let n = 0; n < 2; n++) {
        expect(await during(one.validatePurchase(CODE))).toEqual(purchase);
      }
      if (!isEmpty) expect([shared.calls, service.asked()]).toEqual([['read'], 1]);
    }
    service.says = 'negative';
    expect(await during(one.validatePurchase(CODE))).toBeNull();
  });

  it.each<Fault>(['cut', 'frozen'])(
    'is used again at once when it is back, whenever a call from before fails: %s',
    async (fault) => {
      const { joinTwo, refund, during } = fleet();
      const [one, two] = await joinTwo();
      two.link.break(fault);
      const [before] = await begun(two.validatePurchase(OTHER));
      if (fault === 'cut') await refund(one);
      two.link.break('cut');
      two.link.mend();
      await during(before as Promise<unknown>);
      if (fault === 'frozen') await refund(one);
      expect(await during(two.validatePurchase(CODE))).toBeNull();
    },
  );
});

describe('a shared cache', () => {
  it.each<Fault>(['cut', 'frozen', 'full'])(
    'that is %s leaves each process on its own: a refund counts after ttl and one visit, and later in no case',
    async (fault) => {
      const { service, join, pass, during } = fleet();
      const one = join();
      one.link.break(fault);
      for (const idle of [5 * MINUTE, 65 * MINUTE]) {
        service.says = 'positive';
        for (const options of [{ fresh: true }, {}]) {
          expect(await during(one.validatePurchase(CODE, options))).toEqual(purchase);
          await pass(2 * SECOND);
        }
        service.says = 'negative';
        await pass(idle);
        const first = await during(one.validatePurchase(CODE));
        if (idle > HOUR) expect(first).toBeNull();
        await pass(SECOND);
        expect(await during(one.validatePurchase(CODE))).toBeNull();
      }
      expect(service.asked()).toBe(4);
    },
  );

  it.each<Fault>(['frozen', 'full'])(
    'that is %s costs a visitor 100 ms at most, is left alone for a second, and is one warning with the reason',
    async (fault) => {
      const { shared, join, during, pass } = fleet();
      const warnings = collectWarnings();
      const one = join();
      await one.getAccount();
      one.link.break(fault);
      for (let n = 0; n < 2; n++) {
        const begunAt = performance.now();
        expect(await during(one.validatePurchase(`${OTHER}-${n}`))).toEqual(
          expect.objectContaining({ purchase_code: `${OTHER}-${n}` }),
        );
        expect(performance.now() - begunAt).toBeLessThanOrEqual(210);
        await during(one.invalidate(CODE).catch(() => {}));
        shared.calls.length = 0;
        await during(one.validatePurchase(OTHER));
        expect(shared.calls).toEqual([]);
        await pass(SECOND);
      }
      one.link.mend();
      await during(one.validatePurchase(CODE));
      expect(shared.calls).toEqual(['read', 'write']);
      expect(warnings.map(({ code }) => code)).toEqual(['MARKETGATE_CACHE_NOT_SHARED']);
      const { message } = warnings[0] ?? {};
      if (fault === 'frozen') expect(message).toContain(': it did not answer within 100 ms (');
      expect(message).not.toContain('is refused');
    },
  );

  it.each<Fault>(['cut', 'frozen', 'full', 'without publish'])(
    'that is %s makes invalidate reject: this process has forgotten, nothing is sent later, and it can be called again',
    async (fault) => {
      const { service, shared, joinTwo, during, pass } = fleet();
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
      service.says = 'negative';
      await one.invalidate(CODE);
      for (const each of [two, one]) expect(await each.validatePurchase(CODE)).toBeNull();
    },
  );
});

describe('invalidate', () => {
  it.each([
    ['one code in any spelling, and of no other', [CODE.toUpperCase()], 1],
    ['everything', [], 2],
  ] as const)('is about yes and no of %s, in each process', async (_what, given, asked) => {
    for (const [before, after] of [
      ['positive', 'negative'],
      ['negative', 'positive'],
    ] as const) {
      const { service, join, pass } = fleet();
      const both = [join(), join()] as const;
      for (const each of both) await each.validatePurchase(OTHER);
      service.says = before;
      for (const each of both) await each.validatePurchase(CODE);
      await both[0].invalidate(...given);
      for (const each of both) expect(await cachedPurchase(each, CODE)).toBeUndefined();
      await pass(1);
      const asks = service.asked();
      for (const each of both) await each.validatePurchase(OTHER);
      service.says = after;
      for (const each of both) {
        expect(await each.validatePurchase(CODE)).toEqual(after === 'positive' ? purchase : null);
      }
      expect(service.asked() - asks).toBe(asked);
    }
  });
});

describe('a shared cache of another kind', () => {
  it.each<[string, object]>([
    ['a row without a lease', { value: 'x', age: 0 }],
    ['a row without an age', { value: 'x', lease: '' }],
    ['a value that is no text', { value: 7, age: 0, lease: '' }],
  ])('that returns %s is left alone', async (_what, row) => {
    const { service, shared, join } = fleet();
    const one = join();
    Object.assign(one.link, { read: async () => row });
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect([service.asked(), shared.rows.size]).toEqual([1, 0]);
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

  it('one whose subscription is refused is subscribed to again at the next lookup, until close()', async () => {
    const { shared, join } = fleet();
    const one = join();
    for (const fault of ['without messages', undefined] as const) {
      one.link.fault = fault;
      await one.validatePurchase(fault ? CODE : OTHER);
      expect(shared.listeners.size).toBe(fault ? 0 : 1);
    }
    await one.close();
    await settle();
    expect(shared.listeners.size).toBe(0);
  });
});
