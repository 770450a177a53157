import { writeFileSync } from 'node:fs';
import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestSuite,
  Vitest,
} from 'vitest/node';

/** What a run came to. `failed` holds more than tests: see {@link CountingReporter}. */
interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Ends a run with the single line `N passed, N failed`, which vitest's own closing lines are not.
 *
 * A red run never says "0 failed": besides tests it counts every file or suite that failed outside
 * its tests (it does not compile, a `beforeAll` threw), every unhandled error, a run without any
 * test, and, where all must run (CI or MARKETGATE_REQUIRE_ALL=1), every skipped test.
 *
 * With MARKETGATE_COUNT_FILE the counts go to that file as JSON and the line is left out, so that
 * an outer run can print one line for all of its parts.
 */
export default class CountingReporter implements Reporter {
  #counts: Counts | undefined;
  #brokenAtClose = 0;
  readonly #countFile = process.env.MARKETGATE_COUNT_FILE;
  readonly #requireAll = Boolean(process.env.CI) || process.env.MARKETGATE_REQUIRE_ALL === '1';

  onInit({ logger }: Vitest): void {
    // A global teardown that throws reaches no reporter event and leaves the exit code 0: vitest
    // only logs it.
    const error = logger.error.bind(logger);
    logger.error = (...parts: unknown[]) => {
      if (parts[0] === 'error during close') this.#brokenAtClose += 1;
      error(...parts);
    };
    // Coverage thresholds, closing and other reporters come after the last
    // reporter event; only here is it certain that nothing is printed later and what the exit code is.
    process.on('exit', (code) => this.#finish(code));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const counts: Counts = { passed: 0, failed: unhandled.length, skipped: 0 };
    const notRun: string[] = [];
    for (const module of modules) {
      counts.failed += brokenOutsideTests(module);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') counts.passed += 1;
        else if (state === 'skipped') {
          counts.skipped += 1;
          notRun.push(nameOf(test));
        } else counts.failed += 1;
      }
    }
    if (counts.passed + counts.failed + counts.skipped === 0) {
      counts.failed = 1;
      console.error('No test was run.');
    }
    if (this.#requireAll && notRun.length > 0) {
      counts.failed += notRun.length;
      console.error(`Every test must run here, but ${notRun.length} did not:`);
      for (const name of notRun) console.error(`  - ${name}`);
    }
    this.#counts = counts;
  }

  #finish(code: number): void {
    const counts = this.#counts ?? { passed: 0, failed: 1, skipped: 0 };
    counts.failed += this.#brokenAtClose;
    if (code !== 0 && counts.failed === 0) counts.failed = 1;
    if (counts.failed > 0 && code === 0) process.exitCode = 1;
    if (this.#countFile) writeFileSync(this.#countFile, JSON.stringify(counts));
    else process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
  }
}

/** How many times the file itself or a suite in it went wrong, not counting its tests. */
function brokenOutsideTests(module: TestModule): number {
  const parts: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  const broken = parts.filter((part) => part.errors().length > 0).length;
  if (broken > 0 || module.ok()) return broken;
  // Failed without saying where: still one failure, unless a failed test accounts for it.
  const failedTests = [...module.children.allTests('failed')];
  return failedTests.length === 0 ? 1 : 0;
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}
