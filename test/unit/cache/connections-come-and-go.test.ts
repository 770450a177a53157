import { describe, expect, it } from 'vitest';
import { begun, settle } from '../../support/key-api-service.js';
import { CODE, guess, item, purchase } from '../../support/wire.js';
import { fleet, MINUTE, moveTimeByHand } from './support.js';

// Contract, section 2: "A process that has missed messages asks the shared cache before it serves what it holds."

moveTimeByHand();

describe('a process that was cut off, or gets no messages', () => {
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

  it('knows of a negative answer from a lookup with `fresh` that failed', async () => {
    const { service, join, joinAndAsk, during } = fleet();
    const one = await joinAndAsk();
    const two = join();
    await two.getAccount();
    one.link.break('without messages');
    service.says = 'negative';
    expect(await two.validatePurchase(CODE, { fresh: true })).toBeNull();
    service.says = 'outage';
    for (const options of [{ fresh: true }, {}]) {
      if (!options.fresh) one.link.break('cut');
      const error = await during(one.validatePurchase(CODE, options)).catch((each) => each);
      expect([null, 'service_unavailable']).toContain(error?.code ?? error);
    }
  });
});

it('while the shared cache is down, a stale answer is served at once, and refreshed in the background', async () => {
  const { service, joinAndAsk } = fleet();
  const one = await joinAndAsk();
  one.link.break('cut');
  // The shared cache is left alone after some failures.
  for (let n = 0; n < 6; n++) await one.validatePurchase(guess(n));
  service.later(6 * MINUTE);
  service.hold();
  expect(one.peekPurchase(CODE)).toEqual(purchase);
  expect(await one.validatePurchase(CODE)).toEqual(purchase);
  await service.release();
});

it('after a failover to a clock that is behind, the process that knows the earlier clock goes on by that', async () => {
  const { service, server, join, joinAndAsk, during, pass } = fleet();
  const one = join();
  await one.getAccount();
  const two = await joinAndAsk();
  await pass(1000);
  service.hold();
  const [late] = await begun(two.validatePurchase(CODE, { fresh: true }));
  server.skew = -5 * MINUTE;
  for (const each of [one, two]) each.link.reconnect();
  await pass(10);
  await one.invalidate(CODE);
  service.says = 'negative';
  await service.release();
  expect(await during(late)).toBeNull();
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
