import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';
import { newPath } from '../../support/new-path.js';

const VITEST = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
const REPORTER = fileURLToPath(new URL('../../support/counting-reporter.ts', import.meta.url));

/** Runs vitest on one test file in a child process, as a developer or CI would. */
async function run(test: string, env: NodeJS.ProcessEnv = {}) {
  const file = newPath('a.test.js');
  const root = dirname(file);
  writeFileSync(file, test);
  const config = `export default { test: { globals: true, reporters: [${JSON.stringify(REPORTER)}] } };`;
  writeFileSync(join(root, 'vitest.config.mjs'), config);
  const none = { CI: undefined, MARKETGATE_REQUIRE_ALL: undefined, VITEST: undefined };
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [VITEST, 'run', '--root', root],
    { cwd: root, env: { ...none, MARKETGATE_COUNT_FILE: undefined, ...env } },
  );
  return { code, last: stdout.split('\n').at(-2), stderr };
}

const GREEN = "test('one', () => {}); test('later', { skip: true }, () => {});";
const RED =
  "test('no', () => { throw new Error('no'); }); Promise.reject(new Error('nobody waits'));";

describe('a run of the tests', () => {
  it('is green with a skipped test on a developer machine, and says what is missing', async () => {
    const env = { REDIS_SERVER: 'not-here', CHROMIUM_PATH: '/not/here' };
    const { stderr, ...outcome } = await run(GREEN, env);
    expect(outcome).toEqual({ code: 0, last: '1 passed, 0 failed' });
    expect(stderr).toContain('Tests were skipped without redis-server: "apt-get install redis');
    expect(stderr).toContain('Tests were skipped without Chromium: "apt-get install');
  });

  it('fails if a file does not compile', async () => {
    expect(await run('const = ;')).toMatchObject({ code: 1, last: '0 passed, 1 failed' });
  });

  it('counts in CI also what nobody waits for and each skipped test, names that, and can write to a file', async () => {
    const file = newPath('counts.json');
    const { code, stderr } = await run(GREEN + RED, { CI: '1', MARKETGATE_COUNT_FILE: file });
    expect(code).toBe(1);
    expect(stderr).toContain('a.test.js > later');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ passed: 1, failed: 3, skipped: 1 });
  });
});
