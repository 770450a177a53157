import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import type { Check, Checks } from './checks/check.js';
import { GUIDE_CHECKS, passes, prints } from './checks/guides.js';
import { README_CHECKS } from './checks/readme.js';
import { SHOP_CHECKS } from './checks/shops.js';
import { PAGES } from './support/pages.js';
import { runBlock } from './support/run-block.js';
import { programOf, programsOf, writePrograms } from './support/workspace.js';

const checks: Checks = { ...README_CHECKS, ...GUIDE_CHECKS, ...SHOP_CHECKS };
const programs = PAGES.flatMap((page) =>
  [...programsOf(page).keys()].map((file) => ({ page, file, name: `${page}: ${file}` })),
);

it('every program that is checked exists', () => {
  const names = new Set(programs.map(({ name }) => name));
  expect(Object.keys(checks).filter((name) => !names.has(name))).toEqual([]);
});

const folders = new Map(
  [...new Set(programs.map(({ page }) => page))].map((page) => [page, writePrograms(page, 'run')]),
);

/** A Redis that is not there skips, and says so. */
const skipped = ({ needsRedis }: Check): boolean => needsRedis === true && redisIsMissing();

describe.concurrent('the program', { timeout: 300_000 }, () => {
  for (const { page, file, name } of programs) {
    const folder = folders.get(page) ?? '';
    // Without a check, tests pass, and other programs end by themselves without a word, as those do that a
    // test's own code (`around`) checks.
    const given = checks[name] ?? (/\.test\.\w+$/.test(file) ? passes(1) : prints(''));
    const check = typeof given === 'function' ? { check: given } : given;
    it.skipIf(skipped(check))(`${name} does what the page says`, async () => {
      const { end, ...options } = (await check.prepare?.()) ?? { ...check.options };
      try {
        await runBlock(join(folder, programOf(file)), options, check.check);
      } finally {
        await (end as (() => Promise<void>) | undefined)?.();
      }
    });
  }
});
