import { expect, it } from 'vitest';
import { settle } from '../../support/key-api-service.js';
import { CODE, KEY } from '../../support/wire.js';
import { fleet, HOUR, MINUTE, moveTimeByHand, OTHER, OTHER_KEY, type Process } from './support.js';

// "Under two at once … another process can go on serving an earlier yes: while the service answers, until `ttl` and one
// visit more, at most `ttl + staleWhileRevalidate`; in an outage, until `staleIfError`. Never longer." (contract, section 2)

moveTimeByHand();

const TTL = 5 * MINUTE;
type Fleet = ReturnType<typeof fleet>;

/** Brings a fleet to where one process has got the negative answer, and another one still has the positive one. */
const CASES: [string, (given: Fleet) => Promise<Process>][] = [
  [
    'the process with the negative answer ended before the shared cache took it',
    async ({ joinTwo, refund }) => {
      const [one, other] = await joinTwo();
      one.link.break('cut');
      await refund(one);
      await one.close();
      return other;
    },
  ],
  [
    'the tombstone was lost while the other process was cut off',
    async ({ shared, joinTwo, refund }) => {
      const [one, other] = await joinTwo();
      other.link.break('cut');
      await refund(one);
      await one.close();
      shared.rows.clear();
      other.link.mend();
      return other;
    },
  ],
  [
    'the other process started while the shared cache took no writes',
    async ({ joinAndAsk, join, service, refund }) => {
      const one = await joinAndAsk();
      one.link.break('read-only');
      await refund(one);
      await one.close();
      service.says = 'positive';
      const other = join();
      other.link.break('read-only');
      await other.validatePurchase(OTHER);
      return other;
    },
  ],
  [
    'the api_key was rotated without a secret',
    async ({ service, join, joinAndAsk, refund }) => {
      const other = await joinAndAsk();
      let key = KEY;
      const one = join({}, { apiKey: () => key });
      await one.validatePurchase(OTHER);
      key = OTHER_KEY;
      await refund(one);
      service.says = 'positive';
      return other;
    },
  ],
];

it.each(CASES)(
  '%s: the positive answer is served after ttl to one visitor at most, in an outage until staleIfError, and never longer',
  async (_name, begin) => {
    const once = fleet();
    const one = await begin(once);
    once.service.later(TTL, 'negative');
    await once.during(one.validatePurchase(CODE));
    await once.pass(1000);
    await once.expectRefused(one);

    const late = fleet();
    const other = await begin(late);
    late.service.later(TTL + HOUR);
    await late.expectRefused(other);

    const out = fleet();
    const last = await begin(out);
    out.service.later(24 * HOUR - 1, 'outage');
    await out.expectSold(last);
    out.service.later(1);
    await out.expectNone(last);
  },
);

it('an answer does not get younger when it is shared: it is served until ttl after its request', async () => {
  const given = fleet();
  const { service, shared, joinAndAsk, join, reconnect } = given;
  await joinAndAsk();
  for (let n = 0; n < 4; n++) {
    service.later(MINUTE, 'negative');
    await given.expectSold(await joinAndAsk());
    reconnect();
  }
  service.later(MINUTE);
  expect(shared.rows.size).toBe(1);
  await given.expectRefused(join());
});

it('an answer that was requested in the future, by the clock of a server that took over, is not served', async () => {
  const { service, server, joinAndAsk, join, reconnect, expectRefused } = fleet();
  await joinAndAsk();
  server.skew = -HOUR;
  reconnect();
  await settle();
  service.says = 'negative';
  await expectRefused(join());
});
