import { measureWork } from '../harness/measure-work.mjs';
import { startProcess } from '../harness/process.mjs';

const CPU = { name: 'cpu', title: 'CPU per call, µs', limit: 'undici Pool.request' };

const MANY = { warmUp: 6000, calls: 12_000 };
const FEW = { warmUp: 1000, calls: 2000 };

export default {
  name: 'cold-call',
  title: 'One call to the service',
  about: `A purchase code is asked about, 50 calls at a time, keep-alive, 1.7 KB of JSON. The limit parses the JSON, and has no
deadline, no cap on the size, and nothing judged; marketgate has, and keeps the answer.`,
  variants: {
    'undici Pool.request': { caller: 'undici' },
    marketgate: { caller: 'marketgate' },
    envato: { caller: 'envato', isSlow: true },
    fetch: { caller: 'fetch', isSlow: true },
    axios: { caller: 'axios', isSlow: true },
  },
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    return { service: await service.ask('url'), close: () => service.stop() };
  },
  measure: (options, { service }) =>
    measureWork('subjects/cold-call.mjs', { service, ...options }, options.isSlow ? FEW : MANY),
  metrics: [CPU],
  goals: [{ metric: CPU, variant: 'marketgate', limit: 'fetch', most: 0.5, what: 'to `fetch`' }],
};
