import { defineConfig } from 'vitest/config';

const here = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^marketgate$/, replacement: here('./src/index.ts') },
      { find: /^marketgate\/keyv$/, replacement: here('./src/stores/keyv/index.ts') },
      { find: /^marketgate\/redis$/, replacement: here('./src/stores/redis/index.ts') },
      // The sandbox, with its secrets known to the sweep of setupFiles.
      {
        find: /^(marketgate\/sandbox|(\.\.\/)+src\/sandbox\/index\.js)$/,
        replacement: here('./test/secrets/watch/sandbox.ts'),
      },
      { find: /^marketgate\/testing$/, replacement: here('./src/testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // The benches have a node_modules of their own, with other people's tests.
    exclude: ['test/package/**', 'test/bench/**', '**/node_modules/**'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    setupFiles: ['./test/secrets/setup.ts'],
    reporters: ['default', './test/support/counting-reporter.ts'],
    coverage: { include: ['src/**'], reporter: ['text-summary', 'html'] },
  },
});
