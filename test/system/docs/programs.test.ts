import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { forwardProxy } from '../../support/forward-proxy.js';
import { anyRedis, redisIsMissing } from '../../support/redis-server.js';
import { CHECKS } from './checks/pages.js';
import { filesOf } from './support/blocks.js';
import { expectAnswers } from './support/commands.js';
import { PAGES, readPage } from './support/pages.js';
import { endHost, runBlock, runNodeTests } from './support/run-block.js';
import { programOf, programsOf, writePrograms } from './support/workspace.js';

// The stores of a guide are tested with PostgreSQL, in test/check.
const pages = PAGES.filter((page) => !page.endsWith('/stores.md'));

const programs = pages.flatMap((page) => {
  const folder = writePrograms(page, 'run');
  const shown = filesOf(readPage(page));
  return [...programsOf(page)].map(([file, text]) => ({
    ...{ page, file, text, path: join(folder, programOf(file)) },
    name: `${basename(page)}: ${file}`,
    /** It is opened in a browser. */
    isServed: /= express\(\)[\s\S]*\blisten\(3000\)/.test(shown.get(file) ?? ''),
    /** Others import it, and it is run with them. */
    isModule: text === shown.get(file) && /^export /m.test(text),
    isForNodeTest: text.includes("'node:test'"),
    isForVitest: /\.test\.\w+$/.test(file) && !text.includes("'node:test'"),
  }));
});

it('every check has its program', () => {
  const names = new Set(programs.map(({ name }) => name));
  expect(Object.keys(CHECKS).filter((name) => !names.has(name))).toEqual([]);
});

it('every page with a program that listens names the URL to open', () => {
  const served = programs.filter(({ isServed }) => isServed);
  expect(served.length).toBeGreaterThan(15);
  const lacking = served.filter(({ page }) => !readPage(page).includes('http://localhost:3000'));
  expect(lacking).toEqual([]);
});

describe.concurrent('tests for node:test', { timeout: 300_000 }, () => {
  for (const { name, path, isForNodeTest } of programs) {
    if (!isForNodeTest) continue;
    it(`${name} pass`, async () => {
      expect(await runNodeTests(path)).toMatch(/^# pass [1-9]\d*\n# fail 0$/m);
    });
  }
});

// jest has its functions as globals. That it runs `import()` is a test of the packed tarball.
Object.assign(globalThis, { afterAll, beforeAll, describe, expect, it });

for (const { name, path, isForVitest } of programs) {
  if (isForVitest) describe(`the tests ${name}`, () => import(path));
}

/** The variables of a program besides those of every program. */
async function variablesOf(text: string): Promise<Record<string, string>> {
  if (text.includes('REDIS_URL')) return { REDIS_URL: await anyRedis() };
  if (!text.includes('MARKETPLACE_PROXY')) return {};
  const { url, close } = await forwardProxy();
  onTestFinished(close);
  return { MARKETPLACE_PROXY: url };
}

describe('the program', { timeout: 300_000 }, () => {
  afterAll(endHost);
  for (const { page, file, name, text, path, isServed, isModule, ...is } of programs) {
    if (is.isForNodeTest || is.isForVitest || (isModule && !(name in CHECKS))) continue;
    const check = CHECKS[name] ?? (async ({ printed }) => void (await printed()));
    const skip = text.includes('REDIS_URL') && redisIsMissing();
    it(`${name} does what the page says`, { skip }, async () =>
      runBlock(path, await variablesOf(text), async (running) => {
        // Its start page is no 404.
        if (isServed)
          expect((await running.get('/', { accept: 'text/html' })).status).toBeLessThan(404);
        await check(running);
        await expectAnswers(running, page, file);
      }),
    );
  }
});
