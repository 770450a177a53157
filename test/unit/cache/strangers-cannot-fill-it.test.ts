import { expect, it } from 'vitest';
import { begun } from '../../support/key-api-service.js';
import { CODE, guess } from '../../support/wire.js';
import { fleet, HOUR, MINUTE, moveTimeByHand, SECOND } from './support.js';

// "A no about a code that nobody had a yes for is shared for `invalidTtl`, not longer: strangers cannot fill Redis."
// (contract, section 2)

moveTimeByHand();

type Fleet = ReturnType<typeof fleet>;

/** Whole seconds, because the clock can have moved on a little since a row was written. */
const livesOf = ({ shared, clock }: Fleet): number[] =>
  [...shared.rows.values()].map(({ expiresAt }) => Math.ceil((expiresAt - clock()) / SECOND));

it('a negative answer without a known positive one is stored for invalidTtl, however often it is requested; a tombstone for longer', async () => {
  const given = fleet();
  const { service, shared, join } = given;
  service.says = 'negative';
  const one = join();
  for (let n = 0; n < 3; n++) {
    expect(await one.validatePurchase(guess(1), { fresh: true })).toBeNull();
    expect(livesOf(given)).toEqual([30]);
  }
  shared.rows.clear();
  service.says = 'positive';
  await one.validatePurchase(CODE);
  await given.refund(one);
  expect(livesOf(given)).toEqual([(24 * HOUR) / SECOND]);
});

it('more unsent ones than a process keeps become one invalidation of everything: the refund among them counts', async () => {
  const given = fleet();
  const { service, shared, joinTwo, join, refund, pass, expectNone } = given;
  const [one, other] = await joinTwo();
  one.link.break('cut');
  await refund(one);
  for (let n = 0; n < 1100; n++) {
    const [asked] = await begun(one.validatePurchase(guess(n)));
    await given.during(asked);
  }
  one.link.mend();
  await pass(10 * SECOND);
  expect(shared.messages.length).toBeLessThan(200);
  service.says = 'outage';
  await expectNone(one, other, join());
});

it('while the shared cache is full, a thousand wrong codes cost no customer the last positive answer', async () => {
  const { service, joinTwo, expectSold, pass } = fleet();
  const [one, other] = await joinTwo();
  one.link.break('full');
  service.says = 'negative';
  await Promise.all(Array.from({ length: 1100 }, (_, n) => one.validatePurchase(guess(n))));
  // Nothing about them is left to send.
  await pass(10 * SECOND);
  service.later(6 * MINUTE, 'outage');
  await expectSold(one, other);
});
