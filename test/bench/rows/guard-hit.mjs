import { CUSTOMERS } from '../fixtures/catalogue.mjs';
import { measurePairs } from '../harness/measure.mjs';
import { startAll } from '../harness/process.mjs';

export default {
  title: 'Guard on a cache hit',
  about: `Express 5: a customer comes back with a code that the cache knows. By hand: an \`LRUCache\`, and the three headers that keep
the file out of shared caches.`,
  open: () => startAll({ service: 'fixtures/service.mjs', load: 'harness/load.mjs' }),
  async measureBoth(_options, { load, service }) {
    const options = { service: await service.ask('url') };
    const headers = CUSTOMERS.map((code) => ({ 'x-purchase-code': code }));
    return measurePairs('subjects/guard-server.mjs', options, { load, headers });
  },
  metrics: [{ key: 'cpu', title: 'CPU of a request, µs', most: 1.15 }],
};
