/**
 * The functions of a test runner that a contract suite registers its tests with: `{ describe, it }`
 * of vitest, jest, node:test or mocha.
 */
export interface TestRunner {
  /** Opens a group of tests. */
  describe(name: string, body: () => void): unknown;
  /** Adds a test, which fails when the promise rejects. */
  it(name: string, body: () => Promise<void>): unknown;
  /** Accepted, so that a runner's functions can be passed on as imported. The suites use `node:assert`, which every runner understands. */
  expect?: unknown;
}

/** What the setup of every suite can have. */
export interface SuiteSetup {
  /** Releases what the test used. Awaited after the test, even if it fails. */
  close?(): unknown;
}

/** The most that one test takes, in milliseconds. Vitest, jest and node:test allow it by default, mocha only 2,000. */
const TEST_TIMEOUT = 5000;

/**
 * Opens a group of tests, each with a setup of its own, whose stores need not be empty.
 * @throws TypeError that names what is missing.
 */
export function suite<Setup extends SuiteSetup & { readonly store: object }>(
  owner: string,
  name: string,
  make: () => Setup | Promise<Setup>,
  runner: TestRunner,
  tests: Readonly<Record<string, (setup: Setup) => Promise<void>>>,
): void {
  const wrong = (what: string) => new TypeError(`marketgate/testing: ${what}`);
  if (typeof make !== 'function') throw wrong(`the 2nd argument of ${owner} must be a function`);
  if (typeof runner?.describe !== 'function' || typeof runner.it !== 'function')
    throw wrong(`the 3rd argument of ${owner} must have the runner's "describe" and "it"`);
  runner.describe(name, () => {
    for (const [title, test] of Object.entries(tests)) {
      runner.it(title, async function (this: { timeout?: unknown } | undefined) {
        if (typeof this?.timeout === 'function') this.timeout(TEST_TIMEOUT);
        const setup = await make();
        if (typeof Object(setup).store !== 'object')
          throw wrong(`the 2nd argument of ${owner} must give an object with "store"`);
        try {
          await test(setup);
        } finally {
          await setup.close?.();
        }
      });
    }
  });
}

/** The results of a number of calls that are made at once. */
export const atOnce = <T>(count: number, call: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => call(i)));
