import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { missingPrograms } from './programs.js';

/**
 * Ends a run with the single line `N passed, N failed`. A run that fails for another reason than a test (a file that
 * does not compile, a hook that throws) has at least one failure, and in CI or with MARKETGATE_REQUIRE_ALL=1 every
 * skipped test is one. If tests were skipped, the lines above say what is missing, and how to get it.
 *
 * With MARKETGATE_COUNT_FILE the counts go to that file as JSON, so that an outer run can print one line for all of
 * its parts.
 */
export default class CountingReporter implements Reporter {
  readonly #counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #countFile = process.env.MARKETGATE_COUNT_FILE;
  readonly #requireAll = Boolean(process.env.CI) || process.env.MARKETGATE_REQUIRE_ALL === '1';

  onInit(): void {
    // Only here is it certain that nothing is printed later, and what the exit code is.
    process.on('exit', (code) => this.#finish(code));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const counts = this.#counts;
    counts.failed += unhandled.length;
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'pending') continue;
        counts[state] += 1;
        if (state !== 'skipped' || !this.#requireAll) continue;
        counts.failed += 1;
        console.error(`Every test must run here: ${module.relativeModuleId} > ${test.fullName}`);
      }
    }
  }

  #finish(code: number): void {
    const counts = this.#counts;
    if (counts.skipped > 0) {
      for (const each of missingPrograms()) console.error(`Tests were skipped without ${each}.`);
    }
    if (code !== 0) counts.failed = Math.max(counts.failed, 1);
    if (counts.failed > 0) process.exitCode = code || 1;
    if (this.#countFile) writeFileSync(this.#countFile, JSON.stringify(counts));
    else process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
  }
}
