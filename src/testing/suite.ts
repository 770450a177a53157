import assert from 'node:assert/strict';

/**
 * The functions of a test runner that a contract suite registers its tests with: `{ describe, it }`
 * of vitest, jest, node:test or mocha.
 */
export interface TestRunner {
  /** Opens a group of tests. */
  describe(name: string, body: () => void): unknown;
  /** Adds a test, which fails when the promise rejects. */
  it(name: string, body: () => Promise<void>): unknown;
  /**
   * Accepted, so that a runner's functions can be passed on as imported, but not used: the suites use
   * `node:assert`, which every runner understands.
   */
  expect?: unknown;
}

/** What every setup of a suite can have. */
export interface SuiteSetup {
  /**
   * Lets this many milliseconds pass at once, for the tested object and for `clock`. Default: the suite
   * waits, a second or two in each of the few tests about time.
   */
  advance?(milliseconds: number): unknown;
  /** The present as the tested object sees it, in epoch milliseconds. Default `Date.now`. */
  clock?(): number;
  /** Releases what was opened for the test. Awaited after it, also when it failed. */
  close?(): unknown;
}

export const HOUR = 3_600_000;

/** Milliseconds. More than a second, because some backends count in seconds. */
export const SHORT = 1500;

/** Milliseconds that a message may take and that a backend may expire too late. */
const LATEST = 3000;

/**
 * Opens the group of tests, and gives the function that adds one. Each test runs on a setup of its own.
 * @throws TypeError that names what is missing.
 */
export function suite<Setup extends SuiteSetup>(
  owner: string,
  name: string,
  make: () => Setup | Promise<Setup>,
  runner: TestRunner,
  body: (add: (title: string, test: (setup: Setup) => Promise<void>) => void) => void,
): void {
  if (typeof make !== 'function') {
    throw new TypeError(`marketgate/testing: the 2nd argument of ${owner} must be a function`);
  }
  for (const method of ['describe', 'it'] as const) {
    if (typeof (runner as Partial<TestRunner> | undefined)?.[method] !== 'function') {
      throw new TypeError(
        `marketgate/testing: the 3rd argument of ${owner} must have the runner's "${method}"`,
      );
    }
  }
  runner.describe(name, () =>
    body((title, test) => {
      runner.it(title, async () => {
        const setup = await make();
        try {
          await test(setup);
        } finally {
          await setup.close?.();
        }
      });
    }),
  );
}

/** Lets `milliseconds` pass until `isOver`, or fails with `complaint`. */
export async function pass(
  { advance }: SuiteSetup,
  milliseconds: number,
  isOver: () => Promise<boolean>,
  complaint: string,
): Promise<void> {
  if (advance === undefined) return poll(isOver, complaint, milliseconds + LATEST);
  await advance(milliseconds);
  assert.ok(await isOver(), complaint);
}

/** Waits until `isTrue`, or fails with `complaint`. */
export async function poll(
  isTrue: () => boolean | Promise<boolean>,
  complaint: string,
  longest = LATEST,
): Promise<void> {
  const last = performance.now() + longest;
  while (!(await isTrue())) {
    assert.ok(performance.now() < last, complaint);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
