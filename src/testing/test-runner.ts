/**
 * The functions of a test runner that a contract suite registers its tests with: `{ describe, it }`
 * of vitest, jest, node:test or mocha.
 */
export interface TestRunner {
  /** Opens a group of tests. */
  describe(name: string, body: () => void): unknown;
  /** Adds a test: it fails when the promise rejects. */
  it(name: string, body: () => Promise<void>): unknown;
  /**
   * Taken, so that what a test file imports can be handed over whole, but not used: the suites use
   * `node:assert`, which every runner understands and node:test has no other of.
   */
  expect?: unknown;
}

const OWNER = 'marketgate/testing';

/** @throws TypeError that names what is missing. */
export function checkRunner(suite: string, make: unknown, runner: TestRunner): void {
  if (typeof make !== 'function') {
    throw new TypeError(`${OWNER}: the 2nd argument of ${suite} must be a function`);
  }
  for (const name of ['describe', 'it'] as const) {
    if (typeof (runner as Partial<TestRunner> | undefined)?.[name] !== 'function') {
      throw new TypeError(
        `${OWNER}: the 3rd argument of ${suite} must have the runner's "${name}"`,
      );
    }
  }
}
