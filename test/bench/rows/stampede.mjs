import { median } from '../harness/numbers.mjs';
import { startProcess } from '../harness/process.mjs';

const P99 = { name: 'p99', title: 'p99 of the wait, ms', limit: 'hand-written in-flight map' };
const STAMPEDES = 21;

export default {
  name: 'stampede',
  title: '1,000 callers for one cold code',
  about: `1,000 callers in one process want the same code at the same moment, and nobody knows it; the
service answers after 20 ms. The limit is an \`LRUCache\` with a map of what is under way. A sample is the
middle of ${STAMPEDES} stampedes, each for another code; each must have made exactly one call.`,
  variants: {
    'hand-written in-flight map': { cache: 'in-flight map' },
    marketgate: { cache: 'marketgate' },
    'lru-cache fetch': { cache: 'lru-cache fetch' },
    bentocache: { cache: 'bentocache' },
    cacheable: { cache: 'cacheable' },
  },
  async open() {
    const service = await startProcess('fixtures/service.mjs', { latency: 20 });
    return { service, url: await service.ask('url'), close: () => service.stop() };
  },
  async measure(options, { service, url }) {
    const child = await startProcess('subjects/stampede.mjs', { ...options, service: url });
    try {
      for (let i = 0; i < 8; i++) await child.ask('p99', i);
      await service.ask('asked');
      const waits = [];
      for (let i = 0; i < STAMPEDES; i++) waits.push(await child.ask('p99', 100 + i));
      return { p99: median(waits), answer: await service.ask('asked') };
    } finally {
      await child.stop();
    }
  },
  metrics: [P99],
  goals: [
    {
      metric: P99,
      variant: 'marketgate',
      most: 1.1,
      what: 'p99, to the hand-written in-flight map',
    },
  ],
};
