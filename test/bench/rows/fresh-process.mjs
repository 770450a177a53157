import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { codeOf } from '../fixtures/catalogue.mjs';
import { startProcess } from '../harness/process.mjs';

const [BY_HAND, REQUIRED] = ['undici and zod, by hand', 'undici and zod, require'];

const limits = {
  [BY_HAND]: BY_HAND,
  marketgate: BY_HAND,
  fetch: BY_HAND,
  [REQUIRED]: REQUIRED,
  'marketgate, require': REQUIRED,
};
const WALL = { name: 'wall', title: 'from its start to its answer, ms', limits };
const CPU = { name: 'cpu', title: 'CPU until then, ms', limits };
const RSS = { name: 'rss', title: 'resident memory then, MB', limits };

export default {
  name: 'fresh-process',
  title: 'First answer of a fresh process',
  about: `From the start of a process to its first answer of a service in another one, as in a serverless function. The limit
loads undici and zod, and parses the answer with a schema of its own. 15 rounds.`,
  rounds: 15,
  variants: {
    [BY_HAND]: 'undici-zod.mjs',
    marketgate: 'marketgate.mjs',
    fetch: 'fetch.mjs',
    [REQUIRED]: 'undici-zod.cjs',
    'marketgate, require': 'marketgate.cjs',
  },
  async open() {
    const service = await startProcess('fixtures/service.mjs');
    const url = await service.ask('url');
    // The service's own first answer is nobody's.
    await fetch(`${url}/api/account/details`).then((response) => response.text());
    return { url, close: () => service.stop() };
  },
  async measure(program, { url }) {
    const path = fileURLToPath(new URL(`../subjects/fresh/${program}`, import.meta.url));
    const begun = performance.now();
    const child = spawn(process.execPath, [path, url, codeOf(1)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    let wall;
    child.stdout.once('data', () => {
      wall = performance.now() - begun;
    });
    const sample = JSON.parse(await text(child.stdout));
    return { wall, ...sample };
  },
  metrics: [WALL, CPU, RSS],
  goals: ['marketgate', 'marketgate, require'].map((variant) => ({
    metric: WALL,
    variant,
    most: 1,
    what: `${variant}, to undici and zod by hand`,
  })),
};
