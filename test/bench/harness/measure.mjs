import { median } from './numbers.mjs';
import { withProcess } from './process.mjs';

/**
 * CPU for each call of a subject that works by itself, in microseconds. The subject has `work(calls)` and `answer()`.
 * Warmed up by calls and not by time, which a busy machine shortens.
 */
export function measureWork(subject, options, { warmUp, calls }) {
  return withProcess(subject, options, async (child) => {
    const answer = await child.ask('answer');
    await child.ask('work', warmUp);
    const begun = await child.ask('cpu');
    await child.ask('work', calls);
    return { cpu: ((await child.ask('cpu')) - begun) / calls, answer };
  });
}

/**
 * CPU for each request of a server that has a `byHandUrl()` and a `url()` in one process, in microseconds: asked a
 * little of each at a time, in random order, so that what else the machine does affects both.
 */
export function measurePairs(subject, options, { load, headers }) {
  const [warmUp, pairs, amount] = [3000, 30, 400];
  return withProcess(subject, options, async (server) => {
    const urls = { byHand: await server.ask('byHandUrl'), marketgate: await server.ask('url') };
    const cost = async (url, many) => {
      const begun = await server.ask('cpu', 'minor');
      await load.ask('send', { url, amount: many, headers });
      return ((await server.ask('cpu', 'minor')) - begun) / many;
    };
    for (const url of Object.values(urls)) await cost(url, warmUp);
    const found = { byHand: [], marketgate: [] };
    for (let pair = 0; pair < pairs; pair++) {
      const sides = Object.keys(urls);
      for (const side of Math.random() < 0.5 ? sides : sides.toReversed()) {
        found[side].push(await cost(urls[side], amount));
      }
    }
    const sampleOf = async (side) => ({
      cpu: median(found[side]),
      answer: await answerOf(urls[side], headers[0]),
    });
    return { byHand: await sampleOf('byHand'), marketgate: await sampleOf('marketgate') };
  });
}

async function answerOf(url, headers) {
  const response = await fetch(url, { headers: { ...headers, connection: 'close' } });
  return [response.status, await response.text()];
}
