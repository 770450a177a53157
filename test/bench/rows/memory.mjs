import { withProcess } from '../harness/process.mjs';

export default {
  title: 'Memory of a cached purchase',
  about:
    'Heap that 10,000 more purchases take, of 100 items. By hand: the parsed objects in an `LRUCache`.',
  measure: (options) =>
    withProcess('subjects/memory.mjs', { purchases: 10_000, ...options }, async (child) => ({
      bytes: await child.ask('bytes'),
      answer: true,
    })),
  metrics: [{ key: 'bytes', title: 'bytes of a purchase', most: 0.6 }],
};
