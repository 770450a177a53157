import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Runs after the build, on the packed tarball: `npm run check` does both in that order.
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/package/**/*.test.ts'],
    globalSetup: './test/package/pack-and-install.ts',
    // A compiler takes long on a busy machine.
    testTimeout: 240_000,
    // More compilers and servers at once would only slow each other down.
    maxConcurrency: 3,
    reporters: ['default', './test/support/counting-reporter.ts'],
  },
});
