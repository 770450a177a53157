import { defineConfig } from 'vitest/config';

const here = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^marketgate$/, replacement: here('./src/index.ts') },
      { find: /^marketgate\/keyv$/, replacement: here('./src/stores/keyv/index.ts') },
      { find: /^marketgate\/redis$/, replacement: here('./src/stores/redis/index.ts') },
      { find: /^marketgate\/sandbox$/, replacement: here('./src/sandbox/index.ts') },
      { find: /^marketgate\/testing$/, replacement: here('./src/testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/package/**', 'node_modules/**'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    reporters: ['default', './test/support/counting-reporter.ts'],
    coverage: { include: ['src/**'], reporter: ['text-summary', 'html'] },
  },
});
