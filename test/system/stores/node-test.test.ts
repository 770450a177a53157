import { expect, it } from 'vitest';
import { runFixture } from '../run-fixture.js';

it('the contract suite under node:test passes a good store, and says in words why a broken one fails', async () => {
  const suite = new URL('./fixtures/node-test-suite.js', import.meta.url);
  const { code, stdout } = await runFixture(suite, ['--test', '--test-reporter', 'tap'], []);
  expect(stdout).toMatch(/^ok 1 - MemoryTokenStore$/m);
  expect(stdout).toMatch(/^not ok 2 - DeletesNothing$/m);
  expect(stdout).toMatch(/^ +not ok \d+ - replaces, deletes and keeps a token again/m);
  expect(stdout).toContain('after delete: get must give undefined');
  expect(code).toBe(1);
});
