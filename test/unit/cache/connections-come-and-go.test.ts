import { describe, expect, it, vi } from 'vitest';
import { begun, cachedPurchase, settle } from '../../support/key-api-service.js';
import { CODE, guess, item, purchase } from '../../support/wire.js';
import { fleet, HOUR, MINUTE, moveTimeByHand, SECOND } from './support.js';

// "A process that has missed messages asks the shared cache before it serves what it holds." (contract, section 2)

moveTimeByHand();

const FORGOTTEN = MINUTE;

describe('a process that has missed messages', () => {
  it('asks the shared cache before it serves what it holds, and the service only when that has nothing', async () => {
    const { service, shared, joinAndAsk, reconnect } = fleet();
    const one = await joinAndAsk();
    reconnect();
    expect(await cachedPurchase(one, CODE)).toBeUndefined();
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(await cachedPurchase(one, CODE)).toEqual(purchase);
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

  it('still has a positive answer that is later than the negative one that it missed', async () => {
    const { service, joinTwo, refund, during, pass } = fleet();
    const [one, other] = await joinTwo();
    other.link.break('cut');
    await refund(one);
    await pass(SECOND);
    service.says = 'positive';
    service.item = { ...item, version: 'bought again' };
    await during(other.validatePurchase(CODE, { fresh: true }));
    other.link.mend();
    await settle();
    service.says = 'outage';
    expect((await during(other.validatePurchase(CODE)))?.item.version).toBe('bought again');
  });

  it('asks it also before it serves what another lookup of its own has got meanwhile', async () => {
    const { service, joinTwo, during } = fleet();
    const [one, other] = await joinTwo();
    service.hold();
    const slow = other.validatePurchase(CODE, { fresh: true });
    await settle();
    const later = other.validatePurchase(CODE, { fresh: true });
    await settle();
    await service.release(1);
    expect(await later).toEqual(purchase);
    other.link.break('cut');
    service.says = 'negative';
    const refund = one.validatePurchase(CODE, { fresh: true });
    await settle();
    await service.release(2);
    // The check of the key.
    await service.release(3);
    expect(await during(refund)).toBeNull();
    other.link.mend();
    await settle();
    await service.release();
    expect(await during(slow)).toBeNull();
  });

  it('serves the later answer where that hides whether its own was invalidated', async () => {
    const { service, joinTwo, during, pass } = fleet();
    const [one, two] = await joinTwo();
    one.link.break('cut');
    service.hold();
    const asked = one.validatePurchase(CODE, { fresh: true });
    await pass(1);
    await two.invalidate(CODE);
    service.item = { ...item, version: 'later' };
    const later = two.validatePurchase(CODE);
    await settle();
    one.link.mend();
    await service.release(1);
    expect(await later).toMatchObject({ item: { version: 'later' } });
    await service.release();
    expect(await during(asked)).toMatchObject({ item: { version: 'later' } });
    expect(service.asked()).toBe(3);
  });

  it('asks the service once for each caller that passes fresh, also where later ones are answered first', async () => {
    const { service, joinAndAsk, during } = fleet();
    const one = await joinAndAsk();
    one.link.break('without messages');
    service.hold();
    const calls = [];
    for (let n = 0; n < 5; n++) {
      calls.push(one.validatePurchase(n % 2 ? CODE : CODE.toUpperCase(), { fresh: true }));
      await settle();
    }
    for (const n of [4, 3, 2, 1, 0]) await service.release(n);
    expect(service.asked()).toBe(6);
    expect(await during(Promise.all(calls))).not.toContain(null);
  });

  it('has missed one when it cannot be opened', async () => {
    const { service, shared, joinTwo, expectSold, expectRefused } = fleet();
    const [one, other] = await joinTwo();
    await one.invalidate('another-purchase-code');
    const [message = ''] = shared.messages;
    await shared.publish(`${message.slice(0, -4)}AAAA`);
    for (const each of [one, other]) expect(await cachedPurchase(each, CODE)).toBeUndefined();
    expect(service.asked()).toBe(1);
    await expectSold(one, other);
    expect(service.asked()).toBe(1);
    shared.rows.clear();
    await shared.publish(`${message.slice(0, -4)}AAAA`);
    await expectRefused(one);
  });

  it('goes on asking until messages arrive for certain, also after one that cannot be opened', async () => {
    const { shared, join } = fleet();
    const one = join();
    const subscribe = vi.spyOn(one.link, 'subscribe');
    await one.validatePurchase(CODE);
    await one.invalidate('another-purchase-code');
    const [onMessage, onListening] = subscribe.mock.calls[0] ?? [];
    onListening?.(false);
    onMessage?.(`${shared.messages[0]?.slice(0, -4)}AAAA`);
    for (let n = 0; n < 2; n++) {
      expect(await cachedPurchase(one, CODE)).toBeUndefined();
      expect(await one.validatePurchase(CODE)).toEqual(purchase);
    }
    onListening?.(true);
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(await cachedPurchase(one, CODE)).toEqual(purchase);
  });

  it('while its first subscription was refused, listens with the next lookup', async () => {
    const { shared, join, joinAndAsk, refund } = fleet();
    const late = join();
    late.link.break('without messages');
    await late.validatePurchase(CODE);
    late.link.mend();
    await late.validatePurchase(CODE);
    expect(await cachedPurchase(late, CODE)).toEqual(purchase);
    expect(shared.listeners).toBe(1);
    await refund(await joinAndAsk());
    expect(await cachedPurchase(late, CODE)).toBeUndefined();
  });

  it.each([
    ['was cut off', 'cut', CODE],
    ['was cut off', 'cut', undefined],
    ['gets no messages', 'without messages', CODE],
    ['gets no messages', 'without messages', undefined],
  ] as const)(
    'does not serve an answer that was in flight meanwhile, and invalidated: it %s (%s, %s)',
    async (_how, fault, code) => {
      const { service, join, during } = fleet();
      const [one, two] = [join(), join()];
      for (const each of [one, two]) await each.getAccount();
      one.link.break(fault);
      service.hold();
      const [late] = await begun(one.validatePurchase(CODE));
      await two.invalidate(code);
      if (fault === 'cut') one.link.mend();
      service.says = 'negative';
      await service.release();
      expect(await during(late)).toBeNull();
    },
  );
});

it.each([0, 5])(
  'a process that is cut off again before it has asked the shared cache asks the service, also after %d calls that failed',
  async (calls) => {
    const { service, joinTwo, refund, expectRefused, during } = fleet();
    const [one, two] = await joinTwo();
    one.link.break('cut');
    await refund(two);
    one.link.mend();
    await settle();
    one.link.break('cut');
    for (let n = 0; n < calls; n++) await during(one.validatePurchase(guess(n)));
    await expectRefused(one);
    // And that is kept.
    service.says = 'outage';
    expect(await during(one.validatePurchase(CODE))).toBeNull();
  },
);

it('a negative answer of a process that knows only the earlier clock of a server that took over counts too', async () => {
  const { server, joinTwo, join, reconnect, refund, expectNone, pass } = fleet();
  const both = await joinTwo();
  server.skew = -HOUR;
  reconnect();
  await settle();
  const late = join();
  await refund(late);
  await pass(FORGOTTEN);
  await expectNone(...both, late, join());
});

it('after a failover to a clock that is behind, a caller that passes fresh still gets its own answer', async () => {
  const { service, server, join, joinAndAsk, pass, reconnect } = fleet();
  const one = await joinAndAsk();
  server.skew = -5 * MINUTE;
  reconnect();
  await pass(1000);
  // It knows only the clock that is behind, so the earlier request of the other one counts as later.
  const two = join();
  await two.getAccount();
  service.hold();
  const calls: ReturnType<typeof one.validatePurchase>[] = [];
  for (const [n, each] of [one, two].entries()) {
    service.item = { ...item, version: `${n}` };
    calls.push(each.validatePurchase(CODE, { fresh: true }));
    await settle();
  }
  await service.release(0);
  await service.release();
  const versions = (await Promise.all(calls)).map((found) => found?.item.version);
  expect(versions).toEqual(['0', '1']);
});

describe('an answer that was requested before the shared cache could be read', () => {
  /** A process that starts cut off and asks at once, after another has got an answer. The connection comes before its answer. */
  async function askedTooSoon(says: 'positive' | 'negative') {
    const { service, joinAndAsk, join, pass, during, ...rest } = fleet();
    const other = await joinAndAsk();
    await pass(SECOND);
    const late = join();
    late.link.break('cut');
    service.hold();
    service.says = says;
    service.item = { ...item, version: 'later' };
    const asked = late.validatePurchase(CODE, { fresh: true });
    await pass(200);
    late.link.mend();
    await pass(SECOND);
    return { service, late, other, asked, during, pass, ...rest };
  }

  it('is what a caller that passes fresh gets, and not an earlier one of another process', async () => {
    const { service, asked, during } = await askedTooSoon('positive');
    await service.release();
    expect((await during(asked))?.item.version).toBe('later');
  });

  it('is so too where another lookup has found that earlier one meanwhile', async () => {
    const { service, late, asked, during } = await askedTooSoon('positive');
    expect(await during(late.validatePurchase(CODE.toUpperCase()))).toEqual(purchase);
    await service.release();
    expect((await during(asked))?.item.version).toBe('later');
  });

  it('is not lost, if it is negative, where another lookup has found that earlier one meanwhile', async () => {
    const { service, late, other, asked, during, pass, expectNone } =
      await askedTooSoon('negative');
    expect(await during(late.validatePurchase(CODE.toUpperCase()))).toEqual(purchase);
    await service.release();
    expect(await during(asked)).toBeNull();
    // Until the others are told.
    await pass(3 * SECOND);
    await expectNone(late, other);
  });
});
