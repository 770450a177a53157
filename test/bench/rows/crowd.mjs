import { CUSTOMERS, codeOf } from '../fixtures/catalogue.mjs';
import { quantile } from '../harness/numbers.mjs';
import { startAll, withProcess } from '../harness/process.mjs';

const CROWD = 1000;
/** Each visitor has an address of their own, because the guess limit counts by address. */
const visitors = Array.from({ length: CROWD }, (_, i) => ({
  'x-purchase-code': codeOf(1_000_000 + i),
  'x-forwarded-for': `203.0.${i >> 8}.${i & 255}`,
}));
const customers = CUSTOMERS.map((code) => ({ 'x-purchase-code': code }));

export default {
  title: '1,000 new codes at once',
  about: `200 known customers a second go through a guard when 1,000 visitors come at once, each with a new code; the service allows 60
calls a minute. By hand: the same crowd at a route without a guard. What counts is how long the known customers wait.`,
  open: () =>
    startAll({
      service: 'fixtures/service.mjs',
      load: 'harness/load.mjs',
      crowd: 'harness/load.mjs',
    }),
  async measure({ side }, { service, load, crowd }) {
    await service.ask('allow');
    const options = { service: await service.ask('url') };
    return withProcess('subjects/crowd-server.mjs', options, async (server) => {
      const origin = await server.ask('url');
      const url = `${origin}/download`;
      await load.ask('send', { url, amount: 4000, headers: customers });
      await service.ask('allow', 60);
      const arriving = { url, headers: customers, perSecond: 200 };
      await load.ask('arrive', { ...arriving, seconds: 5 });
      const arrived = load.ask('arrive', { ...arriving, seconds: 5 });
      const rush = { amount: CROWD, connections: CROWD, headers: visitors };
      await crowd.ask('send', { url: side === 'byHand' ? `${origin}/bare` : url, ...rush });
      const first = (await arrived).filter(({ at }) => at < 1000).map(({ wait }) => wait);
      return { p99: quantile(first, 0.99), answer: true };
    });
  },
  metrics: [{ key: 'p99', title: 'p99 of known customers in the first second, ms', most: 2 }],
};
