import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../support/pages.js';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

interface Ended {
  readonly failed: Error | null;
  readonly output: string;
}

/** Runs a documented test file under vitest, in a process of its own. */
async function underVitest(file: string, tests: number): Promise<void> {
  // Without one vitest takes that of the repository.
  writeFileSync(join(dirname(file), 'vitest.config.mjs'), 'export default {};\n');
  const { failed, output } = await new Promise<Ended>((resolve) => {
    execFile(
      process.execPath,
      [VITEST, 'run', '--root', dirname(file), file],
      { timeout: 50_000, env: { ...process.env, NO_COLOR: '1' } },
      (error, out, err) => resolve({ failed: error, output: out + err }),
    );
  });
  expect(failed, output).toBeNull();
  expect(output).toContain(`Tests  ${tests} passed (${tests})`);
}

/** Programs that are tests, and need another runner than node. */
export const RUN_ELSEWHERE: Readonly<Record<string, (file: string) => Promise<void>>> = {
  'examples/guides/testing.md: app.vitest.test.js': (file) => underVitest(file, 3),
};
