import { execFile } from 'node:child_process';
import { expect, it } from 'vitest';
import { ROOT } from './support/pages.js';

it('every public thing is documented, and typedoc has nothing to say', {
  timeout: 120_000,
}, async () => {
  const typedoc = `${ROOT}node_modules/typedoc/bin/typedoc`;
  const { failed, output } = await new Promise<{ failed: Error | null; output: string }>(
    (resolve) => {
      execFile(
        process.execPath,
        [typedoc, '--emit', 'none'],
        { cwd: ROOT, env: { ...process.env, NO_COLOR: '1' } },
        (error, out, err) => resolve({ failed: error, output: out + err }),
      );
    },
  );
  expect(failed, output).toBeNull();
  expect(output).not.toMatch(/\[(warning|error)\]/);
});
