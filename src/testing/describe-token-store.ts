import { addClaimTests } from './claim-tests.js';
import { checkRunner, type TestRunner } from './test-runner.js';
import { addExpiryTests } from './token-expiry-tests.js';
import { addKeepingTests } from './token-keeping-tests.js';
import type { AddTest, TokenStoreSetup } from './token-store-setup.js';
import { addUserIdTests } from './user-id-tests.js';

/**
 * The contract of a `TokenStore` as a suite of tests, for the authors of one. Runs under vitest, jest,
 * node:test or mocha:
 *
 * ```ts
 * import { describe, it } from 'node:test';
 * import { describeTokenStore } from 'marketgate/testing';
 *
 * describeTokenStore('MyTokenStore', async () => {
 *   const client = await connect();
 *   return { store: new MyTokenStore(client), close: () => client.end() };
 * }, { describe, it });
 * ```
 *
 * Where the store takes a clock, give `clock` and `advance` as well, and the suite never waits.
 * Otherwise the few tests about time take a second or two each.
 *
 * @param name what the group of tests is called.
 * @param make makes the store, anew for each test; it need not be empty.
 * @param runner the runner's `describe` and `it`.
 * @throws TypeError when `make` or `runner` is not usable.
 */
export function describeTokenStore(
  name: string,
  make: () => TokenStoreSetup | Promise<TokenStoreSetup>,
  runner: TestRunner,
): void {
  checkRunner('describeTokenStore', make, runner);
  const { describe, it } = runner;
  const add: AddTest = (title, test) => {
    it(title, async () => {
      const setup = await make();
      try {
        await test(setup);
      } finally {
        await setup.close?.();
      }
    });
  };
  describe(name, () => {
    addKeepingTests(add);
    addUserIdTests(add);
    addExpiryTests(add);
    addClaimTests(add);
  });
}
