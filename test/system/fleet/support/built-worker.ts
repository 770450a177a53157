import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

let built: Promise<string> | undefined;

/** The path of worker.ts as JavaScript: built once, since each process would compile all of src. */
export function builtWorker(): Promise<string> {
  built ??= buildWorker();
  return built;
}

async function buildWorker(): Promise<string> {
  // Below node_modules, where its imports are found.
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const outDir = mkdtempSync(join(cache, 'marketgate-fleet-'));
  process.once('exit', () => rmSync(outDir, { recursive: true, force: true }));
  await build({
    ...{ entry: [join(ROOT, 'test/system/fleet/support/worker.ts')], outDir },
    ...{ config: false, format: 'esm', target: 'node20', dts: false, silent: true },
    ...{ splitting: false, skipNodeModulesBundle: true },
  });
  return join(outDir, 'worker.js');
}
