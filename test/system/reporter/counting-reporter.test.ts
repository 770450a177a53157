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

describe('a run of the tests', () => {
  it.each([
    ['all green, with a skipped test on a developer machine', 0, '1 passed, 0 failed', GREEN],
    ['a test fails', 1, '0 passed, 1 failed', "test('no', () => { throw new Error('no'); });"],
    ['a hook fails', 1, '1 passed, 1 failed', `${GREEN} afterAll(() => { throw new Error(); });`],
    [
      'nobody waits for a rejection',
      1,
      '1 passed, 1 failed',
      `${GREEN} Promise.reject(new Error());`,
    ],
    ['a file does not compile', 1, '0 passed, 1 failed', 'const = ;'],
    ['a file has no test', 1, '0 passed, 1 failed', ''],
  ])('%s: it ends with %d and "%s"', async (_what, code, last, test) => {
    expect(await run(test)).toMatchObject({ code, last });
  });

  it('fails for each skipped test in CI, and names it', async () => {
    const { code, last, stderr } = await run(GREEN, { CI: '1' });
    expect([code, last]).toEqual([1, '1 passed, 1 failed']);
    expect(stderr).toContain('a.test.js > later');
  });

  it('writes its counts to MARKETGATE_COUNT_FILE', async () => {
    const file = newPath('counts.json');
    await run(GREEN, { MARKETGATE_COUNT_FILE: file });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ passed: 1, failed: 0, skipped: 1 });
  });
});
