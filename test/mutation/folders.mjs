/**
 * What is mutated, and the tests that have to notice. A folder answers for itself: what only a far
 * suite would notice, a developer would not find either. Left out are suites that take seconds for
 * one test: whole fleets, Chromium, Redis that dies.
 */
const FOLDERS = {
  'login-api': { include: ['test/login-api/**/*.test.ts'] },
  passport: {
    include: ['test/passport/**/*.test.ts'],
    exclude: [
      'test/passport/login.browser.test.ts',
      'test/passport/login-walk.test.ts',
      'test/passport/hostile-input.test.ts',
    ],
  },
  express: {
    include: ['test/express/**/*.test.ts'],
    exclude: ['test/express/every-case.test.ts', 'test/express/guard-hit.test.ts'],
  },
  stores: {
    mutate: ['src/stores/**/*.ts', '!src/stores/redis/**'],
    include: ['test/stores/**/*.test.ts', 'test/express/guess-*.test.ts'],
    exclude: [
      'test/stores/describe-*.test.ts',
      'test/stores/node-test.test.ts',
      'test/stores/keyv-postgres.test.ts',
      'test/stores/redis-*.test.ts',
    ],
  },
  redis: {
    mutate: ['src/stores/redis/**/*.ts'],
    include: ['test/stores/redis-*.test.ts'],
    exclude: ['test/stores/redis-outage.test.ts'],
  },
  'key-api': {
    include: [
      'test/key-api/**/*.test.ts',
      'test/shape/**/*.test.ts',
      // What it tells on the channels, and when it raises the alarm.
      'test/diagnostics/**/*.test.ts',
    ],
    exclude: ['test/key-api/cache/unreliable-day.test.ts'],
  },
};

export const FOLDER_NAMES = Object.keys(FOLDERS);

/** The files that Stryker mutates for one folder. */
export const mutated = (folder) => FOLDERS[folder].mutate ?? [`src/${folder}/**/*.ts`];

/** The `include` and `exclude` of vitest for one folder. */
export function testsOf(folder) {
  const { include, exclude = [] } = FOLDERS[folder];
  return { include, exclude: [...exclude, 'node_modules/**'] };
}
