import { startProcess } from './process.mjs';

/**
 * CPU per call of a subject that works by itself, in a fresh process, in microseconds. The subject has
 * `work(calls)` and `answer()`. Warmed up by calls and not by time, which a busy machine shortens.
 */
export async function measureWork(subject, options, { warmUp, calls }) {
  const child = await startProcess(subject, options);
  try {
    const answer = await child.ask('answer');
    await child.ask('work', warmUp);
    const begun = await child.ask('cpu');
    await child.ask('work', calls);
    const cpu = ((await child.ask('cpu')) - begun) / calls;
    return { cpu, answer };
  } finally {
    await child.stop();
  }
}
