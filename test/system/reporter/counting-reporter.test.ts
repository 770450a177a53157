import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';

const VITEST = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
const REPORTER = fileURLToPath(new URL('../../support/counting-reporter.ts', import.meta.url));

const GREEN = "test('one', () => {}); test('two', () => {});";
const REJECTION = "void Promise.reject(new Error('nobody waits for me'));";

/** One file for each way to fail outside a test, and one for a test that fails. */
const BROKEN = {
  'test.test.js': "test('no', () => { throw new Error('no'); });",
  'after-all.test.js': `${GREEN} afterAll(() => { throw new Error('hook'); });`,
  'before-all.test.js': `describe('s', () => {
    beforeAll(() => { throw new Error('hook'); });
    test('never runs', () => {});
  });`,
  'syntax.test.js': 'const = ;',
  'empty.test.js': '',
  'rejection.test.js': `${GREEN} ${REJECTION}`,
};

interface Suite {
  /** File name to content; `test` and friends are globals there. */
  readonly files: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Further lines of the vitest config's `test` section. */
  readonly config?: string;
  /** Whether the counts go to a file. */
  readonly counted?: boolean;
}

/** Runs vitest on a separate suite in a child process, as a developer or CI would. */
async function run({ files, env = {}, config = '', counted = false }: Suite) {
  const folder = await mkdtemp(join(tmpdir(), 'marketgate-reporter-'));
  try {
    const options = `globals: true, maxWorkers: 1, isolate: false, ${config}`;
    const reporters = `reporters: ['default', ${JSON.stringify(REPORTER)}]`;
    const contents = {
      ...files,
      'vitest.config.mjs': `export default { test: { ${reporters}, ${options} } };`,
    };
    for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text);
    const file = join(folder, 'counts.json');
    // The outer run's own switches must not reach the inner one.
    const clean = { CI: undefined, MARKETGATE_REQUIRE_ALL: undefined, VITEST: undefined };
    const { code, stdout, stderr } = await runProgram(
      process.execPath,
      [VITEST, 'run', '--root', folder],
      {
        cwd: folder,
        env: { ...clean, NO_COLOR: '1', MARKETGATE_COUNT_FILE: counted ? file : undefined, ...env },
      },
    );
    return {
      ...{ code, err: stderr, last: stdout.split('\n').at(-2) ?? '' },
      lines: (stdout + stderr).match(/^\d+ passed, \d+ failed$/gm) ?? [],
      counts: counted ? JSON.parse(await readFile(file, 'utf8')) : undefined,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe.concurrent('the last line of a run', () => {
  const IGNORED = { 'a.test.js': `${GREEN} ${REJECTION}` };
  const setup = (text: string): Suite => ({
    files: { 'a.test.js': GREEN, 'setup.mjs': `export default ${text};` },
    config: "globalSetup: './setup.mjs'",
  });

  it.each<[what: string, passed: number, failed: number, suite: Suite]>([
    [
      ...(['all green, with a skipped test on a developer machine', 2, 0] as const),
      { files: { 'a.test.js': `${GREEN} test.skip('later', () => {});` } },
    ],
    ['each way to fail counts once', 4, 6, { files: BROKEN }],
    [
      ...(['an unhandled rejection that the config says to ignore', 2, 1] as const),
      { files: IGNORED, config: 'dangerouslyIgnoreUnhandledErrors: true' },
    ],
    ['a global setup that throws', 0, 1, setup("() => { throw new Error('setup'); }")],
    [
      ...(['a global teardown that throws, after everything else was reported', 2, 1] as const),
      setup("() => () => { throw new Error('teardown'); }"),
    ],
    ['no test files', 0, 1, { files: {}, config: 'passWithNoTests: true' }],
  ])('%s', async (_what, passed, failed, suite) => {
    const { last, lines, code } = await run(suite);
    expect([last, code]).toEqual([`${passed} passed, ${failed} failed`, failed === 0 ? 0 : 1]);
    expect(lines).toEqual([last]);
  });
});

describe.concurrent('where every test must run', () => {
  const files = {
    'a.test.js': `${GREEN} describe('s', () => { test.skip('later', () => {}); });
      test.todo('some day'); test('not here', ({ skip }) => skip());`,
  };

  it('CI=1 fails on skips, and names them', async () => {
    const result = await run({ files, env: { CI: '1' } });
    expect([result.last, result.code]).toEqual(['2 passed, 3 failed', 1]);
    for (const skipped of ['s > later', 'some day', 'not here']) {
      expect(result.err).toContain(`a.test.js > ${skipped}`);
    }
  });

  it('MARKETGATE_REQUIRE_ALL=1 does too; MARKETGATE_COUNT_FILE takes the counts instead of the line', async () => {
    const result = await run({ files, env: { MARKETGATE_REQUIRE_ALL: '1' }, counted: true });
    expect(result.counts).toEqual({ passed: 2, failed: 3, skipped: 3 });
    expect([result.lines, result.code]).toEqual([[], 1]);
  });
});
