import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const VITEST = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
const REPORTER = fileURLToPath(new URL('../../support/counting-reporter.ts', import.meta.url));

const GREEN = "test('one', () => {}); test('two', () => {});";

interface Suite {
  /** File name to content; `test` and friends are globals there. */
  files: Record<string, string>;
  env?: Record<string, string>;
  /** Further lines of the vitest config's `test` section. */
  config?: string;
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'marketgate-reporter-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs vitest on a suite of its own in a child process, as a developer or CI would. */
async function run({ files, env = {}, config = '' }: Suite) {
  const options = `globals: true, reporters: ['default', ${JSON.stringify(REPORTER)}], ${config}`;
  await writeFile(join(folder, 'vitest.config.mjs'), `export default { test: { ${options} } };`);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);

  // The outer run's own switches must not reach the inner one.
  const { CI, MARKETGATE_REQUIRE_ALL, MARKETGATE_COUNT_FILE, VITEST: _, ...clean } = process.env;
  const args = [VITEST, 'run', '--root', folder];
  return new Promise<{ code: number | null; last: string; out: string; err: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      args,
      { env: { ...clean, NO_COLOR: '1', ...env } },
      (_error, out, err) => {
        const last = out.split('\n').at(-2) ?? '';
        resolve({ code: child.exitCode, last, out, err });
      },
    );
  });
}

const linesWithCounts = (out: string) => out.match(/^\d+ passed, \d+ failed$/gm) ?? [];

describe('the last line of a run', () => {
  const cases: { what: string; suite: Suite; last: string; code: number }[] = [
    {
      what: 'all green',
      suite: { files: { 'a.test.js': GREEN } },
      last: '2 passed, 0 failed',
      code: 0,
    },
    {
      what: 'a failing test',
      suite: { files: { 'a.test.js': `${GREEN} test('no', () => { throw new Error('no'); });` } },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a failing afterAll, when all tests passed',
      suite: {
        files: { 'a.test.js': `${GREEN} afterAll(() => { throw new Error('hook'); });` },
      },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a failing beforeAll inside a suite, which keeps its tests from running',
      suite: {
        files: {
          'a.test.js': `${GREEN} describe('s', () => {
            beforeAll(() => { throw new Error('hook'); });
            test('never runs', () => {});
          });`,
        },
      },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a file that does not compile, beside a green one',
      suite: { files: { 'a.test.js': GREEN, 'b.test.js': 'const = ;' } },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'an unhandled rejection, when all tests passed',
      suite: {
        files: { 'a.test.js': `${GREEN} void Promise.reject(new Error('nobody waits for me'));` },
      },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'an unhandled rejection that the config says to ignore',
      suite: {
        files: { 'a.test.js': `${GREEN} void Promise.reject(new Error('nobody waits for me'));` },
        config: 'dangerouslyIgnoreUnhandledErrors: true',
      },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a global setup that throws',
      suite: {
        files: {
          'a.test.js': GREEN,
          'setup.mjs': "export default () => { throw new Error('setup'); };",
        },
        config: "globalSetup: './setup.mjs'",
      },
      last: '0 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a global teardown that throws, after everything else was reported',
      suite: {
        files: {
          'a.test.js': GREEN,
          'setup.mjs': "export default () => () => { throw new Error('teardown'); };",
        },
        config: "globalSetup: './setup.mjs'",
      },
      last: '2 passed, 1 failed',
      code: 1,
    },
    { what: 'no test files', suite: { files: {} }, last: '0 passed, 1 failed', code: 1 },
    {
      what: 'no test files, where vitest itself would let it pass',
      suite: { files: {}, config: 'passWithNoTests: true' },
      last: '0 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a file without a test',
      suite: { files: { 'a.test.js': GREEN, 'b.test.js': '' } },
      last: '2 passed, 1 failed',
      code: 1,
    },
    {
      what: 'a skipped test on a developer machine',
      suite: { files: { 'a.test.js': `${GREEN} test.skip('later', () => {});` } },
      last: '2 passed, 0 failed',
      code: 0,
    },
  ];

  it.each(cases)('$what: "$last"', async ({ suite, last, code }) => {
    const result = await run(suite);
    expect({ last: result.last, code: result.code }).toEqual({ last, code });
    expect(linesWithCounts(result.out + result.err)).toEqual([last]);
  });
});

describe('where every test must run', () => {
  const files = {
    'a.test.js': `${GREEN} describe('s', () => { test.skip('later', () => {}); });
      test.todo('some day'); test('not here', ({ skip }) => skip());`,
  };

  it.each(['CI', 'MARKETGATE_REQUIRE_ALL'])('%s=1 fails on skips', async (name) => {
    const env = { [name]: '1' };
    const result = await run({ files, env });
    expect({ last: result.last, code: result.code }).toEqual({
      last: '2 passed, 3 failed',
      code: 1,
    });
    for (const skipped of [
      'a.test.js > s > later',
      'a.test.js > some day',
      'a.test.js > not here',
    ]) {
      expect(result.err).toContain(skipped);
    }
  });
});

describe('MARKETGATE_COUNT_FILE', () => {
  it('takes the counts, and the line is not printed', async () => {
    const countFile = join(folder, 'counts.json');
    const files = {
      'a.test.js': `${GREEN} test.skip('later', () => {}); test('no', () => { throw 1; });`,
    };
    const result = await run({ files, env: { MARKETGATE_COUNT_FILE: countFile } });
    expect(JSON.parse(await readFile(countFile, 'utf8'))).toEqual({
      passed: 2,
      failed: 1,
      skipped: 1,
    });
    expect(linesWithCounts(result.out + result.err)).toEqual([]);
    expect(result.code).toBe(1);
  });
});
