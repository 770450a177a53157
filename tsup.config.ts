import { readFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    sandbox: 'src/sandbox/index.ts',
    keyv: 'src/stores/keyv/index.ts',
    redis: 'src/stores/redis/index.ts',
    testing: 'src/testing/index.ts',
    cli: 'src/cli/main.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  // The command line has nothing to import.
  dts: {
    entry: {
      index: 'src/index.ts',
      sandbox: 'src/sandbox/index.ts',
      keyv: 'src/stores/keyv/index.ts',
      redis: 'src/stores/redis/index.ts',
      testing: 'src/testing/index.ts',
    },
  },
  clean: true,
  sourcemap: false,
  treeshake: true,
  // Without splitting every entry would carry its own copy of a shared class, and `instanceof`
  // would fail between `marketgate` and `marketgate/sandbox`.
  splitting: true,
  // Keeps `MarketgateError.name` and friends readable in the CommonJS build.
  keepNames: true,
  define: { __MARKETGATE_VERSION__: JSON.stringify(version) },
});
