import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('./fixtures/node-test-suite.js', import.meta.url));
// Next to the built package, where its imports are found.
const SUITE = join(inject('builtPackage'), 'node-test-suite.js');

beforeAll(() => copyFileSync(FIXTURE, SUITE));

/** Runs the fixture as the author of a store would. */
function runNodeTest(env: Record<string, string>): Promise<{ code: unknown; out: string }> {
  const args = ['--test', '--test-reporter', 'tap', SUITE];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { ...process.env, ...env } }, (error, out) =>
      resolve({ code: error?.code ?? 0, out }),
    );
  });
}

describe('the contract suite under node:test', () => {
  it('passes a good store', async () => {
    const { code, out } = await runNodeTest({});
    expect(out).toContain('a store under node:test');
    expect(out).toMatch(/^ +ok \d+ - gives back exactly what was set$/m);
    expect(out).toMatch(/^# fail 0$/m);
    expect(code).toBe(0);
  });

  it('fails a broken one, and says in words why', async () => {
    const { code, out } = await runNodeTest({ BROKEN_STORE: '1' });
    expect(out).toMatch(/^ +not ok \d+ - grants the first claim of each name, and no other/m);
    expect(out).toContain('the second claim must give false');
    expect(code).toBe(1);
  });
});
