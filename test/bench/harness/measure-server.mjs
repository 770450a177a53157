import { startProcess } from './process.mjs';

/**
 * CPU per request of a server in a fresh process, in microseconds. The subject has `url()`; its answer
 * is looked at before and after.
 */
export async function measureServer(
  subject,
  options,
  { load, headers, connections, warmUp = 4000, amount = 6000 },
) {
  const server = await startProcess(subject, options);
  try {
    const url = await server.ask('url');
    const before = await answerOf(url, headers?.[0]);
    await load.ask('send', { url, amount: warmUp, headers, connections });
    const begun = await server.ask('cpu');
    await load.ask('send', { url, amount, headers, connections });
    const cpu = ((await server.ask('cpu')) - begun) / amount;
    const after = await answerOf(url, headers?.at(-1));
    return { cpu, answer: [before, after] };
  } finally {
    await server.stop();
  }
}

/** The status and the text of an answer. */
export async function answerOf(url, headers = {}) {
  const response = await fetch(url, { headers: { ...headers, connection: 'close' } });
  return [response.status, await response.text()];
}
