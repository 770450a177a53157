import { startProcess } from '../harness/process.mjs';

const BASE = 'express and passport';
const REQUIRED = 'express and passport, require';
const APP = ['express', 'passport'];

const limits = {
  marketgate: BASE,
  'marketgate/sandbox': BASE,
  'marketgate, require': REQUIRED,
};
const CPU = { name: 'cpu', title: 'CPU to load, ms', limits };
const RSS = { name: 'rss', title: 'resident memory, MB', limits };

export default {
  name: 'import',
  title: 'Loading the package',
  about: `What loading an entry costs a process that loads express and passport as well.`,
  rounds: 11,
  variants: {
    [BASE]: { modules: APP },
    marketgate: { modules: [...APP, 'marketgate'] },
    'marketgate/sandbox': { modules: [...APP, 'marketgate/sandbox'] },
    [REQUIRED]: { modules: APP, isRequired: true },
    'marketgate, require': { modules: [...APP, 'marketgate'], isRequired: true },
  },
  async measure(options) {
    const child = await startProcess('subjects/import.mjs', options);
    try {
      return await child.ask('load');
    } finally {
      await child.stop();
    }
  },
  metrics: [CPU, RSS],
  goals: ['marketgate', 'marketgate, require'].map((variant) => ({
    metric: CPU,
    variant,
    most: 1.4,
    what: `${variant}, to express and passport alone`,
  })),
};
