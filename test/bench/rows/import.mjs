import { startProcess } from '../harness/process.mjs';

const BASE = 'express and passport';
const REQUIRED = 'express and passport, require';
const APP = ['express', 'passport'];

const CPU = { name: 'cpu', limits: { marketgate: BASE, 'marketgate, require': REQUIRED } };

export default {
  name: 'import',
  title: 'Loading the package',
  about: 'The CPU to load it in a process that loads express and passport as well. 11 rounds.',
  rounds: 11,
  variants: {
    [BASE]: { modules: APP },
    marketgate: { modules: [...APP, 'marketgate'] },
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
  goals: ['marketgate', 'marketgate, require'].map((variant) => ({
    metric: CPU,
    variant,
    most: 1.4,
    what: `${variant}, to express and passport alone`,
  })),
};
