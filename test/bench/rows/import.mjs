import { startProcess } from '../harness/process.mjs';

const THREE = ['zod', 'lru-cache', 'passport-oauth2'];
const [IMPORTED, REQUIRED] = ['zod, lru-cache, passport-oauth2', 'the same three, require'];
const OURS = ['marketgate', 'marketgate, require'];

const limits = {
  [IMPORTED]: IMPORTED,
  marketgate: IMPORTED,
  'marketgate/redis': IMPORTED,
  'marketgate/keyv': IMPORTED,
  'marketgate/testing': IMPORTED,
  'marketgate/sandbox': IMPORTED,
  [REQUIRED]: REQUIRED,
  'marketgate, require': REQUIRED,
};
const CPU = { name: 'cpu', title: 'CPU to load, ms', limits };
const RSS = { name: 'rss', title: 'resident memory, MB', limits };

export default {
  name: 'import',
  title: 'Loading the package',
  about: `What each entry adds to a process that has loaded Express: the CPU of the import, and the memory
that is resident after it. The limit are three of marketgate's own dependencies, alone.`,
  rounds: 11,
  variants: {
    [IMPORTED]: { modules: THREE },
    marketgate: { modules: ['marketgate'] },
    'marketgate/redis': { modules: ['marketgate/redis'] },
    'marketgate/keyv': { modules: ['marketgate/keyv'] },
    'marketgate/testing': { modules: ['marketgate/testing'] },
    'marketgate/sandbox': { modules: ['marketgate/sandbox'] },
    [REQUIRED]: { modules: THREE, isRequired: true },
    'marketgate, require': { modules: ['marketgate'], isRequired: true },
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
  notes: `What marketgate adds to the three, by a clock around each file that is loaded: two thirds are its own
files (compiling them, and making the schemas of the answers), one third ipaddr.js, cookie and what Node loads for
them. The schemas could wait for the first client, but a process that loads marketgate makes one.`,
  goals: OURS.map((variant) => ({
    metric: CPU,
    variant,
    most: 1.15,
    what: `loading ${variant}, to zod, lru-cache and passport-oauth2 alone`,
  })),
};
