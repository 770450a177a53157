import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { testsOf } from './folders.mjs';

// The tests that have to notice a mutant of the folder that `run.mjs` is at.
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { projects: _projects, ...baseTest } = base.test;

export default defineConfig({
  resolve: {
    // Without the sweep for secrets: it looks at every answer, and has tests of its own.
    alias: [
      { find: /^marketgate\/sandbox$/, replacement: here('../../src/sandbox/index.ts') },
      ...base.resolve.alias.filter(({ find }) => !find.test('marketgate/sandbox')),
    ],
  },
  test: {
    ...baseTest,
    setupFiles: [here('../support/real-timers.ts'), here('../support/fixed-seed.ts')],
    root: here('../..'),
    ...testsOf(process.env.MARKETGATE_MUTATED ?? ''),
    reporters: [{}],
    // A test that hangs has noticed. It must do so before Stryker gives the whole run up, which costs a new process.
    testTimeout: 10_000,
    hookTimeout: 20_000,
  },
});
