import { join } from 'node:path';
import { measureWork } from '../harness/measure-work.mjs';
import { BUILT } from '../harness/prepare.mjs';
import { startProcess } from '../harness/process.mjs';

const [WITHOUT, WITH] = ['without holder', 'with a known holder'];
const CPU = { name: 'cpu', title: 'CPU per guarded hit, µs', limit: WITHOUT };

export default {
  name: 'holder',
  title: 'What one code, one customer costs a guard',
  about: `The guard alone, without Express: 200 codes that the cache knows, each with the account that holds it.`,
  variants: { [WITHOUT]: { isHeld: false }, [WITH]: { isHeld: true } },
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    return { service: await service.ask('url'), close: () => service.stop() };
  },
  measure: (options, { service }) =>
    measureWork(
      'subjects/guard-alone.mjs',
      { ...options, service, entry: join(BUILT, 'dist/index.js') },
      { warmUp: 300_000, calls: 600_000 },
    ),
  notes: `The difference is 0.17 µs: the app's function for the account, the check of what it gives, the code in lower case,
and one look each into a \`Map\` and a \`Set\`. No store and no clock is asked.`,
  metrics: [CPU],
  goals: [{ metric: CPU, variant: WITH, most: 1.2, what: 'CPU of a hit with a known holder' }],
};
