import { codeOf } from '../fixtures/catalogue.mjs';
import { quantile } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';
import { CODES } from '../subjects/guard-server.mjs';

const CROWD = 1000;
const A_MINUTE = 60;
const SECONDS = 10;
const PER_SECOND = 200;
const [BARE, COLD] = ['a crowd at a route without a guard', 'a crowd of cold codes'];

/** Each visitor has an address of their own, or the guess limit would let them in one after the other. */
const visitors = Array.from({ length: CROWD }, (_, i) => ({
  'x-purchase-code': codeOf(1_000_000 + i),
  'x-forwarded-for': `203.0.${i >> 8}.${i & 255}`,
}));
const customers = CODES.map((code) => ({ 'x-purchase-code': code }));

const FIRST = { name: 'first', title: 'p99 in the first second, ms' };
const CPU = { name: 'cpu', title: 'CPU for the crowd, ms' };
const p99 = (waits) =>
  quantile(
    waits.map(({ wait }) => wait),
    0.99,
  );

export default {
  name: 'crowd',
  title: `${CROWD.toLocaleString('en')} cold codes at once`,
  about: `200 known customers a second go through a guard when 1,000 visitors come, each with a code that nobody knows; the service
allows 60 calls a minute. The p99 is the customers'. The limit is the same crowd at a route without a guard. Three rounds.`,
  rounds: 3,
  variants: { [BARE]: { path: '/bare' }, [COLD]: { path: '/download' } },
  groupOf: (name) => name,
  async open() {
    const [service, load, crowd] = await Promise.all(
      ['fixtures/service.mjs', 'harness/load.mjs', 'harness/load.mjs'].map((subject) =>
        startProcess(subject),
      ),
    );
    return {
      service,
      load,
      crowd,
      close: () => Promise.all([service, load, crowd].map((each) => each.stop())),
    };
  },
  async measure({ path }, { service, load, crowd }) {
    await service.ask('allow');
    const url = await service.ask('url');
    const server = await startProcess('subjects/crowd-server.mjs', { service: url });
    try {
      const address = await server.ask('url');
      const arrive = (seconds) => {
        const options = { headers: customers, perSecond: PER_SECOND, seconds };
        return load.ask('arrive', { url: `${address}/download`, ...options });
      };
      await load.ask('send', { url: `${address}/download`, amount: 4000, headers: customers });
      await service.ask('allow', A_MINUTE);
      await service.ask('asked');
      await arrive(SECONDS);
      await crowd.ask('gather', { url: address, amount: CROWD });
      const begun = await server.ask('cpu');
      const arrived = arrive(SECONDS);
      await crowd.ask('rush', { url: `${address}${path}`, headers: visitors });
      const cpu = ((await server.ask('cpu', 'minor')) - begun) / 1000;
      const during = await arrived;
      return {
        first: p99(during.filter(({ at }) => at < 1000)),
        cpu,
        calls: await service.ask('asked'),
        // Those whom the service answered, and nobody else, were let in.
        answer: CROWD - (await server.ask('refused')),
      };
    } finally {
      await server.stop();
    }
  },
  metrics: [FIRST, CPU, { name: 'calls', title: 'requests to the service' }],
  goals: [
    {
      metric: FIRST,
      variant: COLD,
      limit: BARE,
      most: 2,
      what: 'p99 of known customers in the first second, to the crowd at a route without a guard',
    },
  ],
};
