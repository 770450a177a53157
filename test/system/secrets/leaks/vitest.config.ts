import { fileURLToPath } from 'node:url';
import { defineConfig, mergeConfig } from 'vitest/config';
import base from '../../../../vitest.config.js';

// A run of its own, whose tests leak on purpose: sweep.test.ts looks at what becomes of them.
const { projects: _all, ...test } = base.test ?? {};
export default mergeConfig(
  { ...base, test },
  defineConfig({
    test: {
      root: fileURLToPath(new URL('../../../..', import.meta.url)),
      include: ['test/system/secrets/leaks/*.planted.ts'],
    },
  }),
);
