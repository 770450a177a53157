import { measureWork } from '../harness/measure.mjs';
import { startAll } from '../harness/process.mjs';

export default {
  title: 'A new code',
  about: `Codes that no cache knows, 50 calls at a time, keep-alive, 1.7 KB of JSON. By hand: \`fetch\` with the same POST, and nothing
judged. marketgate also has a deadline, a limit of bytes, checks the answer, and keeps it.`,
  open: () => startAll({ service: 'fixtures/service.mjs' }),
  async measure({ side }, { service }) {
    const options = { side, service: await service.ask('url') };
    return measureWork('subjects/new-code.mjs', options, { warmUp: 6000, calls: 6000 });
  },
  metrics: [{ key: 'cpu', title: 'CPU of a call, µs', most: 0.5 }],
};
