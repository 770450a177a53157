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
  it.each([
    ['is green with a skipped test on a developer machine', 0, '1 passed, 0 failed', GREEN],
    ['counts failed tests and what nobody waits for', 1, '1 passed, 2 failed', GREEN + RED],
    ['fails if a file does not compile', 1, '0 passed, 1 failed', 'const = ;'],
  ])('%s: it ends with %d and "%s"', async (_what, code, last, test) => {
    expect(await run(test)).toMatchObject({ code, last });
  });

  it('fails for each skipped test in CI, names it, and writes its counts to MARKETGATE_COUNT_FILE', async () => {
    const file = newPath('counts.json');
    const env = { CI: '1', MARKETGATE_COUNT_FILE: file };
    const { code, stderr } = await run(GREEN, env);
    expect(code).toBe(1);
    expect(stderr).toContain('a.test.js > later');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ passed: 1, failed: 1, skipped: 1 });
  });

  it('says what is missing where tests were skipped, and how to get it', async () => {
    const { stderr } = await run(GREEN, { REDIS_SERVER: 'not-here', CHROMIUM_PATH: '/not/here' });
    expect(stderr).toContain('Tests were skipped without redis-server: "apt-get install redis');
    expect(stderr).toContain('Tests were skipped without Chromium: "apt-get install');
  });
});
