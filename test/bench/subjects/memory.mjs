// A subject: what a process holds for many purchases that are kept.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { LRUCache } from 'lru-cache';
import { KeyApi } from 'marketgate';
import { codeOf, purchase } from '../fixtures/catalogue.mjs';

const ITEMS = 100;

const SIDES = {
  byHand() {
    const cache = new LRUCache({ max: 1_000_000, ttl: 3_600_000 });
    return (code, text) => cache.set(code, JSON.parse(text));
  },
  marketgate: async () => {
    let next = '';
    // Asked in this process: what a connection holds is the same however many purchases are kept.
    const server = createServer((req, res) => {
      req.resume().on('end', () => res.end(`{"status":"success","data":{"purchase":${next}}}`));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${server.address().port}`;
    const keyApi = new KeyApi({ baseUrl, apiKey: 'bench', cache: { max: 1_000_000 } });
    return (code, text) => {
      next = text;
      return keyApi.validatePurchase(code);
    };
  },
};

const heap = async () => {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** @param {{ side: keyof SIDES, purchases: number }} options */
export default async function makeHolder({ side, purchases }) {
  const hold = await SIDES[side]();
  const fill = async (from, count) => {
    for (let i = from; i < from + count; i++) {
      // A shop has few items, and many customers of each.
      await hold(codeOf(i), JSON.stringify(purchase(i, i % ITEMS)));
    }
  };
  return {
    /** Bytes for each purchase. */
    async bytes() {
      // What is made once is there before it is counted.
      await fill(1, 1000);
      const before = await heap();
      await fill(1_000_000, purchases);
      const after = await heap();
      // Nothing of it may be collected before that.
      globalThis.held = hold;
      return (after - before) / purchases;
    },
  };
}
