import { addCacheKeepingTests } from './cache-keeping-tests.js';
import { addInvalidationTests } from './invalidation-tests.js';
import { addLockTests } from './lock-tests.js';
import { addOrderTests } from './order-tests.js';
import type { AddCacheTest, SharedCacheSetup } from './shared-cache-setup.js';
import { checkRunner, type TestRunner } from './test-runner.js';

/**
 * The contract of a `SharedCache` as a suite of tests, for the authors of one. Runs under vitest,
 * jest, node:test or mocha:
 *
 * ```ts
 * import { describe, it } from 'vitest';
 * import { describeSharedCache } from 'marketgate/testing';
 *
 * describeSharedCache('MyCache', async () => {
 *   const [client, another] = await Promise.all([connect(), connect()]);
 *   return {
 *     cache: new MyCache(client),
 *     peer: new MyCache(another),
 *     close: () => Promise.all([client.end(), another.end()]),
 *   };
 * }, { describe, it });
 * ```
 *
 * Where the cache takes a clock, give `clock` and `advance` as well, and the suite never waits.
 *
 * @param name what the group of tests is called.
 * @param make makes the cache and its peer, anew for each test; they need not be empty.
 * @param runner the runner's `describe` and `it`.
 * @throws TypeError when `make` or `runner` is not usable.
 */
export function describeSharedCache(
  name: string,
  make: () => SharedCacheSetup | Promise<SharedCacheSetup>,
  runner: TestRunner,
): void {
  checkRunner('describeSharedCache', make, runner);
  const { describe, it } = runner;
  const add: AddCacheTest = (title, test) => {
    it(title, async () => {
      const setup = await make();
      try {
        await test(setup.cache, setup.peer ?? setup.cache, setup);
      } finally {
        await setup.close?.();
      }
    });
  };
  describe(name, () => {
    addCacheKeepingTests(add);
    addLockTests(add);
    addInvalidationTests(add);
    addOrderTests(add);
  });
}
