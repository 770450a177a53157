import { defineConfig } from 'vitest/config';
import own from '../../../../vitest.config.js';

/** For test files out of the documentation: one is named by its path. */
export default defineConfig({
  resolve: own.resolve ?? {},
  test: {
    include: ['test/system/docs/.blocks/run/*/*.vitest.test.*'],
    reporters: ['default'],
    testTimeout: 20_000,
  },
});
