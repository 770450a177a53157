import { expect, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';
import { ROOT } from './support/pages.js';

it('every public thing is documented, and typedoc has nothing to say', {
  timeout: 300_000,
}, async () => {
  const typedoc = `${ROOT}node_modules/typedoc/bin/typedoc`;
  const { code, stdout, stderr } = await runProgram(process.execPath, [typedoc, '--emit', 'none'], {
    ...{ cwd: ROOT, env: { NO_COLOR: '1' }, timeout: 290_000 },
  });
  const output = stdout + stderr;
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/\[(warning|error)\]/);
});
