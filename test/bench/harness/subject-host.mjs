// What runs in a process of `startProcess`: loads the subject and answers the calls.
import { setImmediate as turn } from 'node:timers/promises';

const [, , subject, options] = process.argv;

const toMicroseconds = ({ user, system }) => user + system;

/** What every subject can be asked beside its own functions. */
const common = {
  ready: () => true,
  /**
   * Microseconds of CPU, of all threads of this process, since it began. What was measured pays for its
   * garbage: all of it, or the young with `'minor'`, where little is measured at a time.
   */
  async cpu(type = 'major') {
    globalThis.gc({ type });
    await turn();
    return toMicroseconds(process.cpuUsage());
  },
  exit: () => process.exit(),
};

const { default: make } = await import(new URL(`../${subject}`, import.meta.url));
const own = await make(JSON.parse(options));

process.on('message', async ({ id, method, args }) => {
  try {
    const value = await (own[method] ?? common[method])(...args);
    process.send({ id, value });
  } catch (error) {
    process.send({ id, failure: error?.stack ?? String(error) });
  }
});
process.on('disconnect', () => process.exit());
