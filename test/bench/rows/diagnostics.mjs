import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureWork } from '../harness/measure-work.mjs';
import { BUILT } from '../harness/prepare.mjs';
import { startProcess } from '../harness/process.mjs';

const [WITHOUT, SILENT, HEARD] = ['without the channels', 'nobody listens', 'somebody listens'];
const CPU = { name: 'cpu', title: 'CPU per guarded hit, µs', limit: WITHOUT };
const SILENCED = `${BUILT}-without-channels`;

/** The same build, in which whether anybody listens is not even asked. */
function copyWithoutChannels() {
  rmSync(SILENCED, { recursive: true, force: true });
  cpSync(BUILT, SILENCED, { recursive: true });
  let asked = 0;
  for (const name of readdirSync(join(SILENCED, 'dist')).filter((name) => name.endsWith('.cjs'))) {
    const file = join(SILENCED, 'dist', name);
    const code = readFileSync(file, 'utf8').replace(/\b\w+\.hasSubscribers\b/g, () => {
      asked++;
      return 'false';
    });
    writeFileSync(file, code);
  }
  if (asked === 0)
    throw new Error('diagnostics: nothing in the build asks whether anybody listens');
}

export default {
  name: 'diagnostics',
  title: 'What the diagnostics channels cost a guard',
  about: `The guard alone, without Express: 200 codes that the cache knows. The limit is the same build with
every \`hasSubscribers\` replaced by \`false\`.`,
  variants: {
    [WITHOUT]: { entry: join(SILENCED, 'dist/index.js') },
    [SILENT]: { entry: join(BUILT, 'dist/index.js') },
    [HEARD]: { entry: join(BUILT, 'dist/index.js'), isHeard: true },
  },
  async open() {
    copyWithoutChannels();
    const service = await startProcess('fixtures/service.mjs');
    return { service: await service.ask('url'), close: () => service.stop() };
  },
  measure: (options, { service }) =>
    measureWork(
      'subjects/guard-alone.mjs',
      { ...options, service },
      { warmUp: 300_000, calls: 600_000 },
    ),
  metrics: [CPU],
  goals: [
    { metric: CPU, variant: SILENT, most: 1.05, what: 'free when nobody listens: CPU of a hit' },
  ],
};
