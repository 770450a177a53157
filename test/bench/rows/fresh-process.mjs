import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { codeOf } from '../fixtures/catalogue.mjs';
import { startAll } from '../harness/process.mjs';

export default {
  title: 'Loading, and the first answer of a fresh process',
  about: `From the start of a process to its first answer of a service in another one, as in a serverless function. By hand: undici and
zod, with a schema of the answer.`,
  rounds: 15,
  open: () => startAll({ service: 'fixtures/service.mjs' }),
  async measure({ side }, { service }) {
    const url = await service.ask('url');
    // The service's own first answer is nobody's.
    await fetch(`${url}/api/account/details`).then((response) => response.text());
    const program = new URL(`../subjects/fresh/${side}.mjs`, import.meta.url);
    const begun = performance.now();
    const child = spawn(process.execPath, [fileURLToPath(program), url, codeOf(1)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    let wall;
    child.stdout.once('data', () => {
      wall = performance.now() - begun;
    });
    return { ...JSON.parse(await text(child.stdout)), wall };
  },
  metrics: [
    { key: 'load', title: 'CPU until it is loaded, ms', most: 1 },
    { key: 'wall', title: 'from the start to the answer, ms', most: 1 },
    { key: 'rss', title: 'resident memory then, MB' },
  ],
};
