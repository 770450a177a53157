import { describe, expect, it } from 'vitest';
import { runFixture } from '../run-fixture.js';

/** Runs the suite as the author of a store would. */
const runNodeTest = (env?: NodeJS.ProcessEnv) => {
  const suite = new URL('./fixtures/node-test-suite.js', import.meta.url);
  return runFixture(suite, ['--test', '--test-reporter', 'tap'], [], env);
};

describe.concurrent('the contract suite under node:test', () => {
  it('passes a good store', async () => {
    const { code, stdout } = await runNodeTest();
    expect(stdout).toContain('a store under node:test');
    expect(stdout).toMatch(/^ +ok \d+ - gives back exactly what was set$/m);
    expect(stdout).toMatch(/^# fail 0$/m);
    expect(code).toBe(0);
  });

  it('fails a broken one, and says in words why', async () => {
    const { code, stdout } = await runNodeTest({ BROKEN_STORE: '1' });
    expect(stdout).toMatch(/^ +not ok \d+ - replaces, deletes and keeps a token again/m);
    expect(stdout).toContain('after delete: get must give undefined');
    expect(code).toBe(1);
  });
});
