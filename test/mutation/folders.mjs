/**
 * What is mutated, and the tests that have to notice. A folder answers for itself: what only a far
 * suite would notice, a developer would not find either. Left out are tests that take seconds: Redis
 * that dies, long properties.
 */
const FOLDERS = {
  http: {
    include: [
      'test/unit/http/**/*.test.ts',
      'test/unit/deadline/*.test.ts',
      'test/unit/options/secrets.test.ts',
      // What a call's error says, and about which option.
      'test/unit/express/messages.test.ts',
      'test/unit/secrets/clients.test.ts',
      'test/unit/clients/key-api.test.ts',
      'test/unit/clients/login-api.test.ts',
    ],
  },
  passport: {
    include: [
      'test/unit/passport/**/*.test.ts',
      'test/unit/express/login.test.ts',
      'test/unit/express/messages.test.ts',
      'test/unit/express/warnings.test.ts',
      'test/unit/secrets/apps.test.ts',
    ],
    exclude: ['test/unit/passport/login-walk.test.ts'],
  },
  check: {
    include: [
      'test/unit/check/**/*.test.ts',
      'test/unit/express/guess-limit.test.ts',
      // The guards are the other face of the check.
      'test/unit/express/purchase-guard.test.ts',
      'test/unit/express/messages.test.ts',
    ],
  },
  express: {
    include: [
      'test/unit/express/**/*.test.ts',
      // What a login does with the session.
      'test/unit/passport/sessions.test.ts',
      'test/unit/passport/callback-throws.test.ts',
      'test/unit/passport/login-attempts.test.ts',
    ],
    exclude: ['test/unit/express/every-case.test.ts'],
  },
  stores: {
    mutate: ['src/stores/**/*.ts', '!src/stores/redis/**'],
    include: [
      'test/unit/stores/**/*.test.ts',
      'test/unit/express/guess-*.test.ts',
      'test/unit/check/guess-gate.test.ts',
      'test/unit/check/holder.test.ts',
      'test/unit/express/warnings.test.ts',
      'test/unit/express/messages.test.ts',
      // Which token is deleted, and under which name it was stored.
      'test/unit/express/login.test.ts',
      'test/unit/passport/login-attempts.test.ts',
    ],
    // But for what an error of Redis says.
    exclude: ['test/unit/stores/redis-client.test.ts'],
  },
  redis: {
    mutate: ['src/stores/redis/**/*.ts'],
    include: ['test/unit/stores/redis-*.test.ts', 'test/system/redis/*.test.ts'],
    exclude: ['test/system/redis/outage.test.ts'],
  },
  cache: {
    include: ['test/unit/cache/**/*.test.ts'],
    exclude: ['test/unit/cache/model.test.ts'],
  },
  clients: {
    mutate: ['src/clients/**/*.ts', 'src/model/**/*.ts'],
    include: [
      'test/unit/clients/**/*.test.ts',
      'test/unit/model/**/*.test.ts',
      // What it tells on the channels.
      'test/unit/diagnostics/**/*.test.ts',
      // That no error repeats a key or a code.
      'test/unit/secrets/clients.test.ts',
      // How the key API uses its caches: what it invalidates, shares and gets from a list.
      'test/unit/cache/**/*.test.ts',
    ],
    exclude: ['test/unit/cache/model.test.ts'],
  },
};

export const FOLDER_NAMES = Object.keys(FOLDERS);

export const mutated = (folder) => FOLDERS[folder].mutate ?? [`src/${folder}/**/*.ts`];

export function testsOf(folder) {
  const { include, exclude = [] } = FOLDERS[folder];
  return { include, exclude: [...exclude, 'node_modules/**'] };
}
