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

/** What the setup of every suite can have. */
export interface SuiteSetup {
  /**
   * Advances the tested object and `clock` by this many milliseconds. Default: the suite waits, one to three
   * seconds in each of the few tests about time.
   */
  advance?(milliseconds: number): unknown;
  /** The tested object's current time in epoch milliseconds. Default `Date.now`. */
  clock?(): number;
  /** Releases what the test used. Awaited after the test, even if it fails. */
  close?(): unknown;
}

export const HOUR = 3_600_000;
/** A short lifetime in milliseconds. More than two seconds, because some backends count in whole ones. */
const SHORT = 2500;
/** The most that one test takes, in milliseconds. Vitest, jest and node:test allow it by default, mocha only 2,000. */
const TEST_TIMEOUT = 5000;
/** By how many milliseconds something can end too early, for such a backend. */
const EARLY = 1000;

/**
 * Opens a group of tests and passes `body` the function that adds one.
 *
 * @param tested names what is tested in the setup.
 * @param make makes the setup of each test; its stores need not be empty.
 * @throws TypeError that names what is missing.
 */
export function suite<Setup extends SuiteSetup>(
  owner: string,
  name: string,
  tested: keyof Setup & string,
  make: () => Setup | Promise<Setup>,
  runner: TestRunner,
  body: (add: (title: string, test: (setup: Setup) => Promise<void>) => void) => void,
): void {
  if (typeof make !== 'function') {
    throw new TypeError(`marketgate/testing: the 2nd argument of ${owner} must be a function`);
  }
  if (typeof runner?.describe !== 'function' || typeof runner.it !== 'function') {
    throw new TypeError(
      `marketgate/testing: the 3rd argument of ${owner} must have the runner's "describe" and "it"`,
    );
  }
  runner.describe(name, () =>
    body((title, test) => {
      runner.it(title, async function (this: { timeout?: unknown } | undefined): Promise<void> {
        if (typeof this?.timeout === 'function') this.timeout(TEST_TIMEOUT);
        const setup = await make();
        if (typeof Object(setup)[tested] !== 'object') {
          throw new TypeError(
            `marketgate/testing: the 2nd argument of ${owner} must give an object with "${tested}"`,
          );
        }
        try {
          await test(setup);
        } finally {
          await setup.close?.();
        }
      });
    }),
  );
}

/** The results of a number of calls that are made at once, in turn on each of the given objects. */
export const atOnce = <T, Result>(
  count: number,
  objects: readonly T[],
  call: (object: T, i: number) => Promise<Result>,
): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => call(objects[i % objects.length] as T, i)));

/** The lifetime that {@link letExpire} tests, in milliseconds. */
export const lifetimeIn = ({ advance }: SuiteSetup): number => (advance ? HOUR : SHORT);

/**
 * Lets a lifetime begin and pass, and fails unless `isOver` becomes true when it ends. Without `advance` it polls, and
 * returns as soon as `isOver`.
 */
export async function letExpire(
  { advance, clock = Date.now }: SuiteSetup,
  what: string,
  begin: () => Promise<unknown>,
  isOver: () => Promise<boolean>,
): Promise<void> {
  const [early, late] = [`${what} ended before its time`, `${what} did not end after its time`];
  // On a busy machine, a part of the lifetime is over when `begin` returns.
  const begun = clock();
  await begin();
  if (advance === undefined) {
    // Together less than five seconds, after which jest ends a test.
    const deadline = performance.now() + SHORT + 2000;
    while (!(await isOver())) {
      assert.ok(performance.now() < deadline, late);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.ok(clock() - begun > SHORT - EARLY, early);
    return;
  }
  await advance(HOUR - EARLY);
  assert.ok(!(await isOver()), early);
  await advance(EARLY);
  assert.ok(await isOver(), late);
}
