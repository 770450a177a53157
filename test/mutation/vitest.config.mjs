import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import base from '../../vitest.config.ts';
import { testsOf } from './folders.mjs';

/** A run ends with the first test that fails, so those that start no server come first. */
class QuickFirst extends BaseSequencer {
  async sort(files) {
    const cost = ({ moduleId }) => {
      const text = readFileSync(moduleId, 'utf8');
      const starts = /supertest|listen\(|openShop|startUpstream|serving\(|startRedis/.test(text);
      return (starts ? 1e6 : 0) + text.length;
    };
    return [...files].sort((a, b) => cost(a) - cost(b));
  }
}

// The tests that have to notice a mutant of the folder that `run.mjs` is at. They run again and again,
// so there is no report of each run, and no second try: a test that fails only now and then would
// count as one that noticed.
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { projects: _projects, ...baseTest } = base.test;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^marketgate\/sandbox$/, replacement: here('../../src/sandbox/index.ts') },
      ...base.resolve.alias.filter(({ find }) => !find.test('marketgate/sandbox')),
    ],
  },
  test: {
    ...baseTest,
    // Without the sweep for secrets: it looks at every answer, and has tests of its own.
    setupFiles: [here('../support/real-timers.ts'), here('../support/fixed-seed.ts')],
    root: here('../..'),
    ...testsOf(process.env.MARKETGATE_MUTATED ?? ''),
    sequence: { sequencer: QuickFirst },
    reporters: [{}],
    retry: 0,
    // Test files of one run share what they import: that is most of what a run costs. Each run begins
    // anew, so that no mutant is left over from another.
    isolate: false,
    // A test that hangs has noticed. It must do so well before Stryker gives the whole run up, which
    // costs a new process.
    testTimeout: 10_000,
    hookTimeout: 20_000,
  },
});
