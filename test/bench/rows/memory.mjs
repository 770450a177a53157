import { startProcess } from '../harness/process.mjs';

const PURCHASES = 10_000;
const BYTES = { name: 'bytes', title: 'bytes per purchase', limit: 'objects as parsed' };

export default {
  name: 'memory',
  title: 'Memory of a cached purchase',
  about: `Heap that 10,000 more purchases take, each of an item of its own.`,
  variants: {
    'the codes alone': { holder: 'keys' },
    'objects as parsed': { holder: 'parsed' },
    'JSON as text': { holder: 'text' },
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
  goals: [{ metric: BYTES, variant: 'marketgate', most: 1.1, what: 'to the parsed objects' }],
};
