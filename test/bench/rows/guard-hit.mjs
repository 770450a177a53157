import { measurePairs } from '../harness/measure-pairs.mjs';
import { startProcess } from '../harness/process.mjs';
import { CODES } from '../subjects/guard-server.mjs';

const BY_HAND = 'hand-written, with the same headers';
const CPU = { name: 'cpu', title: 'CPU per request, µs', limit: BY_HAND };
const ADDED = { name: 'added', title: 'added by the guard, µs' };

export default {
  name: 'guard-hit',
  title: 'Guard on a cache hit, Express 5',
  about: `A customer comes back with a code that the cache knows. The limit asks an \`LRUCache\` and sets the two headers that keep
the file out of shared caches, as marketgate does; keyv sets none. In one process, with the guard and without it in turn.`,
  variants: {
    'bare Express': { guard: 'bare' },
    [BY_HAND]: { guard: 'hand-written-private' },
    marketgate: { guard: 'marketgate' },
    keyv: { guard: 'keyv' },
  },
  /** The service, and the load generator. */
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    const load = await startProcess('harness/load.mjs');
    return {
      load,
      service: await service.ask('url'),
      close: () => Promise.all([service.stop(), load.stop()]),
    };
  },
  measure(options, { load, service }) {
    const all = { express: 'express', service, codes: CODES, ...options };
    const headers = CODES.map((code) => ({ 'x-purchase-code': code }));
    return measurePairs('subjects/guard-server.mjs', all, { load, headers });
  },
  metrics: [CPU, ADDED],
  goals: [
    {
      metric: CPU,
      variant: 'marketgate',
      most: 1.08,
      what: 'CPU of a request, to the same by hand',
    },
  ],
};
