import { answerOf } from './measure-server.mjs';
import { median } from './numbers.mjs';
import { startProcess } from './process.mjs';

/**
 * CPU per request of a server in a fresh process that has a `url()` and a `bareUrl()`, and what the first
 * costs beyond the second, in microseconds and as a ratio: asked a little of each at a time, in random order, so that what else
 * the machine does meets both.
 */
export async function measurePairs(
  subject,
  options,
  { load, headers, warmUp = 3000, pairs = 30, amount = 400 },
) {
  const server = await startProcess(subject, options);
  try {
    const [url, bareUrl] = [await server.ask('url'), await server.ask('bareUrl')];
    const cost = async (of, many) => {
      const begun = await server.ask('cpu', 'minor');
      await load.ask('send', { url: of, amount: many, headers });
      return ((await server.ask('cpu', 'minor')) - begun) / many;
    };
    const before = await answerOf(url, headers[0]);
    await cost(bareUrl, warmUp);
    await cost(url, warmUp);
    const found = [];
    for (let pair = 0; pair < pairs; pair++) {
      const turns = Math.random() < 0.5 ? [bareUrl, url] : [url, bareUrl];
      const costs = new Map();
      for (const each of turns) costs.set(each, await cost(each, amount));
      const [cpu, bare] = [costs.get(url), costs.get(bareUrl)];
      found.push({ cpu, added: cpu - bare, times: cpu / bare });
    }
    const after = await answerOf(url, headers.at(-1));
    const medianOf = (name) => median(found.map((each) => each[name]));
    return {
      cpu: medianOf('cpu'),
      added: medianOf('added'),
      times: medianOf('times'),
      answer: [before, after],
    };
  } finally {
    await server.stop();
  }
}
