import { posix } from 'node:path';

/**
 * What is mutated, and the folders of test/unit that have to notice. A folder answers for itself and for what stands
 * on it: what only a far suite would notice, a developer would not find either.
 */
const FOLDERS = {
  http: { tests: ['http', 'deadline', 'clients', 'secrets'] },
  passport: { tests: ['passport', 'options', 'secrets'] },
  check: { tests: ['check', 'express', 'options'] },
  express: { tests: ['express', 'passport', 'options'] },
  stores: {
    mutate: ['src/stores/**/*.ts', '!src/stores/redis/**'],
    tests: ['stores', 'check', 'express', 'options', 'passport'],
  },
  redis: {
    mutate: ['src/stores/redis/**/*.ts'],
    tests: ['stores', '../system/redis'],
  },
  cache: { tests: ['cache'] },
  guess: { tests: ['guess', 'express', 'stores', 'options'] },
  web: { tests: ['web', 'express', 'passport'] },
  clients: {
    mutate: ['src/clients/**/*.ts', 'src/model/**/*.ts'],
    tests: ['clients', 'model', 'diagnostics', 'secrets', 'cache'],
  },
};

/** Tests that take seconds: a Redis that is killed, a browser's random walk, every case of a table. */
const SLOW = ['test/unit/**/{every-case,login-walk}.test.ts', 'test/system/redis/outage.test.ts'];

export const FOLDER_NAMES = Object.keys(FOLDERS);

export const mutated = (folder) => FOLDERS[folder].mutate ?? [`src/${folder}/**/*.ts`];

export const testsOf = (folder) => ({
  include: FOLDERS[folder].tests.map((tests) => `${posix.join('test/unit', tests)}/**/*.test.ts`),
  exclude: [...SLOW, 'node_modules/**'],
});
