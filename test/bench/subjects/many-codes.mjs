// A subject: the guard alone, whose cache holds as many codes as are wanted.
import { KeyApi, requirePurchase } from 'marketgate';
import { codeOf } from '../fixtures/catalogue.mjs';
import { atATime } from './at-a-time.mjs';
import { res } from './response.mjs';

/** Codes that come again and again, at random from all: more would not fit into a processor's cache either. */
const SAMPLE = 100_000;

const heap = async () => {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** @param {{ service: string, codes: number }} options */
export default async function makeGuarded({ service, codes }) {
  const cache = { max: codes + 1000, ttl: 3_600_000 };
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench', cache });
  const fill = (from, count) =>
    atATime(50, (i) => keyApi.validatePurchase(codeOf(from + i)))(count);
  // Connections, and code that is compiled, are there before it is counted.
  await fill(0, 1000);
  const before = await heap();
  await fill(1000, codes);
  const bytes = ((await heap()) - before) / codes;
  const sample = Array.from({ length: Math.min(codes, SAMPLE) }, () =>
    codeOf(1000 + Math.floor(Math.random() * codes)),
  );
  const guard = requirePurchase(keyApi, { item: 1042 });
  let passed = 0;
  const next = (error) => {
    if (error === undefined) passed++;
  };
  return {
    work(calls) {
      const before = passed;
      for (let i = 0; i < calls; i++) {
        guard({ headers: { 'x-purchase-code': sample[i % sample.length] } }, res, next);
      }
      // In the same turn: a hit waits for nothing.
      if (passed - before !== calls) throw new Error('not everybody was let in');
    },
    bytes: () => bytes,
    answer: () => true,
  };
}
