import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../package/run-program.js';
import { newPath } from '../support/new-path.js';

const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const REPORTER = fileURLToPath(new URL('../support/counting-reporter.ts', import.meta.url));

/** Runs vitest on test files in a child process, as a developer or CI would. */
async function run(tests: readonly string[], env: NodeJS.ProcessEnv) {
  const config = newPath('vitest.config.mjs');
  const cwd = dirname(config);
  const test = { globals: true, reporters: [REPORTER], maxWorkers: 1, isolate: false };
  writeFileSync(config, `export default ${JSON.stringify({ test })};`);
  for (const [i, text] of tests.entries()) writeFileSync(join(cwd, `${i}.test.js`), text);
  const none = { CI: undefined, MARKETGATE_REQUIRE_ALL: undefined, VITEST: undefined };
  const all = { ...none, MARKETGATE_COUNT_FILE: undefined, ...env };
  const args = [VITEST, 'run', '--root', cwd];
  const { code, stdout, stderr } = await runProgram(process.execPath, args, { cwd, env: all });
  return { code, last: stdout.split('\n').at(-2), stderr };
}

const GREEN = "test('one', () => {}); test('later', { skip: true }, () => {});";
const RED =
  "test('no', () => { throw new Error('no'); }); Promise.reject(new Error('nobody waits'));";

describe('a run of the tests', () => {
  it('allows skipped tests on a developer machine and says what is missing, but no file that does not compile', async () => {
    const env = { REDIS_SERVER: 'not-here', CHROMIUM_PATH: '/not/here' };
    const { stderr, ...outcome } = await run([GREEN, 'const = ;'], env);
    expect(outcome).toEqual({ code: 1, last: '1 passed, 1 failed' });
    expect(stderr).toContain('Tests were skipped without redis-server: "apt-get install redis');
    expect(stderr).toContain('Tests were skipped without Chromium: "apt-get install');
  });

  it('counts in CI also what nobody waits for and each skipped test, names that, and can write to a file', async () => {
    const file = newPath('counts.json');
    const { code, stderr } = await run([GREEN + RED], { CI: '1', MARKETGATE_COUNT_FILE: file });
    expect(code).toBe(1);
    expect(stderr).toContain('0.test.js > later');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ passed: 1, failed: 3, skipped: 1 });
  });
});
