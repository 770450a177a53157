import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const HOST = fileURLToPath(new URL('./subject-host.mjs', import.meta.url));

/**
 * Starts a fresh process for one subject: a module whose default export makes an object of functions
 * out of the options. They are called from here by messages.
 *
 * @param {string} subject its path below `test/bench`.
 * @param {unknown} options plain data for it.
 */
export async function startProcess(subject, options = {}) {
  const child = fork(HOST, [subject, JSON.stringify(options)], {
    execArgv: ['--expose-gc', ...(process.env.BENCH_NODE_FLAGS?.split(' ') ?? [])],
    // Express and others are slower, and chattier, without it.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const calls = new Map();
  let last = 0;
  const failAll = (error) => {
    for (const { reject } of calls.values()) reject(error);
    calls.clear();
  };
  child.on('message', ({ id, value, failure }) => {
    const call = calls.get(id);
    calls.delete(id);
    if (failure === undefined) call?.resolve(value);
    else call?.reject(new Error(`${subject}: ${failure}`));
  });
  child.on('exit', (code, signal) =>
    failAll(new Error(`${subject} ended early: ${code ?? signal}`)),
  );
  const ask = (method, ...args) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      calls.set(id, { resolve, reject });
      child.send({ id, method, args });
    });
  await ask('ready');
  return {
    ask,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.send({ id: 0, method: 'exit', args: [] });
      await ended;
    },
  };
}

/** Runs something with a fresh process for one subject, which then ends. */
export async function withProcess(subject, options, run) {
  const child = await startProcess(subject, options);
  try {
    return await run(child);
  } finally {
    await child.stop();
  }
}

/** Starts processes for several subjects; for the `open` of a row. */
export async function startAll(subjects) {
  const entries = Object.entries(subjects).map(async ([name, subject]) => [
    name,
    await startProcess(subject),
  ]);
  const all = Object.fromEntries(await Promise.all(entries));
  return { ...all, close: () => Promise.all(Object.values(all).map((each) => each.stop())) };
}
