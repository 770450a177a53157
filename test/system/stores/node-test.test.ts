import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';

const FIXTURE = fileURLToPath(new URL('./fixtures/node-test-suite.js', import.meta.url));
// Next to the built package, where its imports are found.
const FOLDER = inject('builtPackage');
const SUITE = join(FOLDER, 'node-test-suite.js');

beforeAll(() => copyFileSync(FIXTURE, SUITE));

/** Runs the fixture as the author of a store would. */
const runNodeTest = (env?: NodeJS.ProcessEnv) =>
  runProgram(process.execPath, ['--test', '--test-reporter', 'tap', SUITE], { cwd: FOLDER, env });

describe('the contract suite under node:test', () => {
  it('passes a good store', async () => {
    const { code, stdout } = await runNodeTest();
    expect(stdout).toContain('a store under node:test');
    expect(stdout).toMatch(/^ +ok \d+ - gives back exactly what was set$/m);
    expect(stdout).toMatch(/^# fail 0$/m);
    expect(code).toBe(0);
  });

  it('fails a broken one, and says in words why', async () => {
    const { code, stdout } = await runNodeTest({ BROKEN_STORE: '1' });
    expect(stdout).toMatch(/^ +not ok \d+ - grants the first claim of each name, and no other/m);
    expect(stdout).toContain('the second claim must give false');
    expect(code).toBe(1);
  });
});
