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

it.each([
  ['ttl and staleWhileRevalidate', 60, 40, 30, 90],
  ['staleIfError', 60, 40, 300, 300],
  ['ttl', 60, 40, 0, 60],
])(
  'a tombstone is stored for as long as a positive answer can be served: until %s',
  async (_until, ttl, stale, ifError, life) => {
    const given = fleet();
    const one = await given.joinAndAsk({
      ttl: ttl * SECOND,
      staleWhileRevalidate: stale * SECOND,
      staleIfError: ifError * SECOND,
    });
    await given.refund(one);
    expect(livesOf(given)).toEqual([life]);
  },
);

it('a negative answer about what only another process had a positive one for is a tombstone too', async () => {
  const given = fleet();
  await given.joinAndAsk();
  await given.refund(given.join());
  expect(livesOf(given)).toEqual([(24 * HOUR) / SECOND]);
});

it.each([
  ['a positive one', 'positive', 300],
  ['a negative one', 'negative', 30],
] as const)(
  'an answer that opens no door is stored for its own ttl: %s',
  async (_what, says, life) => {
    const given = fleet();
    given.service.says = says;
    await given.join().listItems();
    expect(livesOf(given)).toEqual([life]);
  },
);

it('wrong codes cost no refund its place among those that are sent again after a failover', async () => {
  const { shared, service, joinTwo, join, refund, reconnect, expectNone, pass } = fleet();
  const [one] = await joinTwo();
  const [older = []] = [...shared.rows];
  await refund(one);
  for (let n = 0; n < 250; n++) await one.validatePurchase(guess(n));
  shared.rows.set(...(older as [string, never]));
  reconnect();
  await pass(MINUTE);
  service.says = 'outage';
  await expectNone(join());
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
