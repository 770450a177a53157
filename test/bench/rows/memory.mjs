import { startProcess } from '../harness/process.mjs';

const PURCHASES = 10_000;
const BYTES = { name: 'bytes', title: 'bytes per purchase', limit: 'objects as parsed' };

export default {
  name: 'memory',
  title: 'Memory of a cached purchase',
  about: `Heap that 10,000 more purchases take, of 100 items.`,
  variants: {
    'objects as parsed': { holder: 'parsed' },
    keyv: { holder: 'keyv' },
    marketgate: { holder: 'marketgate' },
  },
  async measure(options) {
    const child = await startProcess('subjects/memory.mjs', { purchases: PURCHASES, ...options });
    try {
      return { bytes: await child.ask('bytes'), answer: true };
    } finally {
      await child.stop();
    }
  },
  metrics: [BYTES],
  goals: [{ metric: BYTES, variant: 'marketgate', most: 0.6, what: 'to the parsed objects' }],
};
