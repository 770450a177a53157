import { startProcess } from '../harness/process.mjs';

const HOLDS = {
  'the codes alone': 'keys',
  'objects as parsed': 'parsed',
  'JSON as text': 'text',
  keyv: 'keyv',
  marketgate: 'marketgate',
};
const of = (items, suffix) =>
  Object.fromEntries(
    Object.entries(HOLDS).map(([name, holder]) => [`${name}, ${suffix}`, { holder, items }]),
  );
const PURCHASES = 10_000;
const [SHARED, DISTINCT] = ['500 items', 'an item each'];

const BYTES = {
  name: 'bytes',
  title: 'bytes per purchase',
  limits: Object.fromEntries(
    [SHARED, DISTINCT].flatMap((suffix) =>
      Object.keys(HOLDS).map((name) => [`${name}, ${suffix}`, `objects as parsed, ${suffix}`]),
    ),
  ),
};

export default {
  name: 'memory',
  title: 'Memory of a cached purchase',
  about: `Heap that 10,000 more purchases take: of 500 items, and each of an item of its own.`,
  variants: { ...of(500, SHARED), ...of(10_000_000, DISTINCT) },
  groupOf: (name) => name,
  async measure(options) {
    const child = await startProcess('subjects/memory.mjs', { purchases: PURCHASES, ...options });
    try {
      return { bytes: await child.ask('bytes'), answer: true };
    } finally {
      await child.stop();
    }
  },
  metrics: [BYTES],
  goals: [
    {
      metric: BYTES,
      variant: `marketgate, ${DISTINCT}`,
      most: 1.1,
      what: 'an item each, to the parsed objects',
    },
    {
      metric: BYTES,
      variant: `marketgate, ${SHARED}`,
      most: 600,
      isAbsolute: true,
      what: 'of 500 items, bytes per purchase',
    },
  ],
};
