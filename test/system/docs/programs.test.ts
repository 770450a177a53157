import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import type { Check, Checks } from './checks/check.js';
import { GUIDE_CHECKS } from './checks/guides.js';
import { README_CHECKS } from './checks/readme.js';
import { filesOf } from './support/blocks.js';
import { expectAnswers } from './support/commands.js';
import { PAGES, readPage } from './support/pages.js';
import { endHost, runBlock, runNodeTests } from './support/run-block.js';
import { programOf, programsOf, writePrograms } from './support/workspace.js';

const checks: Checks = { ...README_CHECKS, ...GUIDE_CHECKS };

const programs = PAGES.flatMap((page) => {
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
  expect(Object.keys(checks).filter((name) => !names.has(name))).toEqual([]);
});

it('every page with a program that listens names the URL to open', () => {
  const served = programs.filter(({ isServed }) => isServed);
  expect(served.length).toBeGreaterThan(15);
  const lacking = served.filter(({ page }) => !readPage(page).includes('http://localhost:3000'));
  expect(lacking).toEqual([]);
});

/** PGlite keeps a timer of ten seconds. Optimising its WebAssembly takes longer than what these programs do with it. */
const PGLITE = ['--test-force-exit', '--liftoff-only'];

describe.concurrent('tests for node:test', { timeout: 300_000 }, () => {
  for (const { name, text, path, isForNodeTest } of programs) {
    if (!isForNodeTest) continue;
    it(`${name} pass`, async () => {
      const flags = text.includes('pglite') ? PGLITE : [];
      expect(await runNodeTests(path, flags)).toMatch(/^# pass [1-9]\d*\n# fail 0$/m);
    });
  }
});

// jest has its functions as globals. That it runs `import()` is a test of the packed tarball.
Object.assign(globalThis, { afterAll, beforeAll, describe, expect, it });

for (const { name, path, isForVitest } of programs) {
  if (isForVitest) describe(`the tests ${name}`, () => import(path));
}

describe('the program', { timeout: 300_000 }, () => {
  afterAll(endHost);
  for (const { page, file, name, path, isServed, isModule, ...is } of programs) {
    if (is.isForNodeTest || is.isForVitest || (isModule && !(name in checks))) continue;
    const given = checks[name] ?? (async ({ printed }) => void (await printed()));
    const check: Check = typeof given === 'function' ? { check: given } : given;
    const skip = check.needsRedis === true && redisIsMissing();
    it(`${name} does what the page says`, { skip }, () =>
      runBlock(path, check.env ?? (() => ({})), async (running) => {
        // Its start page is no 404.
        if (isServed)
          expect((await running.get('/', { accept: 'text/html' })).status).toBeLessThan(404);
        await check.check(running);
        await expectAnswers(running, page, file);
      }),
    );
  }
});
