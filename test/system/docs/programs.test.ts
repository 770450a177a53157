import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import type { Check, Checks } from './checks/check.js';
import { GUIDE_CHECKS, passes, prints } from './checks/guides.js';
import { README_CHECKS } from './checks/readme.js';
import { filesOf } from './support/blocks.js';
import { PAGES, readPage } from './support/pages.js';
import { endHost, runBlock } from './support/run-block.js';
import { programOf, programsOf, writePrograms } from './support/workspace.js';

const checks: Checks = { ...README_CHECKS, ...GUIDE_CHECKS };
const all = PAGES.flatMap((page) =>
  [...programsOf(page).keys()].map((file) => ({ page, file, name: `${page}: ${file}` })),
);

/** What others import runs with them; and a test in TypeScript is compiled (test/types). */
const isRunElsewhere = (page: string, file: string): boolean => {
  const text = programsOf(page).get(file) ?? '';
  const isModule = text === filesOf(readPage(page)).get(file) && /^export /m.test(text);
  return isModule || file === 'app.test.ts';
};
const programs = all.filter(
  ({ page, file, name }) => name in checks || !isRunElsewhere(page, file),
);

it('every program that is checked exists', () => {
  const names = new Set(programs.map(({ name }) => name));
  expect(Object.keys(checks).filter((name) => !names.has(name))).toEqual([]);
});

const folders = new Map(
  [...new Set(programs.map(({ page }) => page))].map((page) => [page, writePrograms(page, 'run')]),
);

/** A program that readers open in a browser. */
const isServed = (page: string, file: string): boolean =>
  /= express\(\)[\s\S]*\blisten\(3000\)/.test(filesOf(readPage(page)).get(file) ?? '');

it('every page with a program that listens names the URL to open', () => {
  const served = programs.filter(({ page, file }) => isServed(page, file));
  expect(served.length).toBeGreaterThan(15);
  const lacking = served.filter(({ page }) => !readPage(page).includes('http://localhost:3000'));
  expect(lacking).toEqual([]);
});

/** A Redis that is not there skips, and says so. */
const skipped = ({ needsRedis }: Check): boolean => needsRedis === true && redisIsMissing();

const isHosted = ({ page, file }: { page: string; file: string }): boolean =>
  isServed(page, file) && /\.(mjs|js|ts)$/.test(file);

/** Without a check, tests pass, and other programs end by themselves without a word. */
const checkOf = (file: string, name: string): Check => {
  const given = checks[name] ?? (/\.test\.\w+$/.test(file) ? passes(1) : prints(''));
  return typeof given === 'function' ? { check: given } : given;
};

describe.each([
  ['the program, which serves in one process with others:', true],
  ['the program, in a process of its own:', false],
])('%s', { timeout: 300_000 }, (_how, shared) => {
  afterAll(endHost);
  for (const { page, file, name } of programs.filter((each) => isHosted(each) === shared)) {
    const check = checkOf(file, name);
    const options = { skip: skipped(check), concurrent: !shared };
    it(`${name} does what the page says`, options, async () => {
      const { end, ...given } = (await check.prepare?.()) ?? { ...check.options };
      const run = { ...given, isHosted: shared };
      try {
        await runBlock(join(folders.get(page) ?? '', programOf(file)), run, async (running) => {
          // Its start page is no 404.
          const start = isServed(page, file) && (await running.get('/', { accept: 'text/html' }));
          if (start) expect(start.status).toBeLessThan(404);
          await check.check(running);
        });
      } finally {
        await (end as (() => Promise<void>) | undefined)?.();
      }
    });
  }
});
