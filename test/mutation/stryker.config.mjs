import { mutated } from './folders.mjs';

// One folder of src at a time, which `run.mjs` names. https://stryker-mutator.io/docs/stryker-js
const folder = process.env.MARKETGATE_MUTATED;

export default {
  mutate: mutated(folder),
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.mjs', related: false },
  coverageAnalysis: 'perTest',
  incremental: true,
  incrementalFile: `reports/mutation/${folder}.incremental.json`,
  reporters: ['progress-append-only', 'json', 'html'],
  jsonReporter: { fileName: `reports/mutation/${folder}.json` },
  htmlReporter: { fileName: `reports/mutation/${folder}.html` },
  concurrency: 2,
  timeoutMS: 60_000,
  timeoutFactor: 2,
  dryRunTimeoutMinutes: 10,
  ignorePatterns: ['/dist', '/coverage', '/reports', '/docs', '/examples', '/test/package'],
  allowConsoleColors: false,
};
