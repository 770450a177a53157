import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'tsup';
import { expect, inject, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';

const APP = `import { MarketgateError } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
console.log(typeof MarketgateError, typeof createSandbox);
`;

it("the package loads in an app's bundle of ES modules, where there is no __dirname", async () => {
  const folder = join(inject('builtPackage'), 'bundled');
  const [entry, tsconfig] = [join(folder, 'app.js'), join(folder, 'tsconfig.json')];
  mkdirSync(folder);
  writeFileSync(entry, APP);
  // Without the paths of this repository, which lead to the sources.
  writeFileSync(tsconfig, '{}');
  const js =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    ...{ config: false, entry: [entry], tsconfig, outDir: folder, silent: true },
    ...{ format: 'esm', platform: 'node', noExternal: [/.*/], banner: { js } },
    outExtension: () => ({ js: '.mjs' }),
  });
  const program = join(folder, 'app.mjs');
  const outcome = await runProgram(process.execPath, [program], { cwd: folder });
  expect(outcome).toEqual({ code: 0, stdout: 'function function\n', stderr: '' });
});
