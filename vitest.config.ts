import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The longest files of test/system: a core would idle at the end if they began last. */
const FIRST = [
  ...['docs/programs', 'browser/login-attacks', 'redis/outage', 'redis/subscription'],
  ...['browser/login', 'examples/fleet', 'examples/browser'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      FIRST.findIndex((name) => moduleId.endsWith(`/system/${name}.test.ts`)) >>> 0;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^marketgate$/, replacement: here('./src/index.ts') },
      { find: /^marketgate\/keyv$/, replacement: here('./src/stores/keyv.ts') },
      { find: /^marketgate\/redis$/, replacement: here('./src/stores/redis/index.ts') },
      // The sandbox, with its secrets known to the sweep of setupFiles.
      {
        find: /^(marketgate\/sandbox|(\.\.\/)+src\/sandbox\/index\.js)$/,
        replacement: here('./test/support/secrets/watch/sandbox.ts'),
      },
      { find: /^marketgate\/testing$/, replacement: here('./src/testing/index.ts') },
    ],
  },
  test: {
    projects: [
      // No process, no browser, no Redis: seconds for all of them.
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'] },
      },
      // Real Redis, Chromium, child processes, the examples, the documentation.
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          globalSetup: ['./test/support/built-package.ts'],
        },
      },
      // What takes seconds: a compiler, a PostgreSQL, another vitest, the models with more runs. For `npm run check`.
      {
        extends: true,
        test: {
          name: 'check',
          include: ['test/check/*.test.ts', 'test/unit/{cache,passport}/model.test.ts'],
          env: { MODEL_RUNS: '400', FUZZ_CASES: '800' },
        },
      },
    ],
    // Only a test that hangs should meet these: a busy machine can be many times slower.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 40_000, interval: 20 } },
    // All cores are busy, though a test waits: for a timeout of the package, or another process. vitest would leave one idle.
    maxWorkers: availableParallelism() + 1,
    // The files of one worker share what they import, and one Redis and one Chromium.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    setupFiles: [
      './test/support/secrets/setup.ts',
      './test/support/real-timers.ts',
      './test/support/fixed-seed.ts',
    ],
    reporters: ['default', './test/support/counting-reporter.ts'],
    coverage: { include: ['src/**'], reporter: ['text-summary', 'html'] },
  },
});
