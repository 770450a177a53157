import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));

let built: Promise<string> | undefined;

/** worker.ts as one JavaScript module: built once, since each process would compile all of src. */
export function builtWorker(): Promise<string> {
  built ??= buildWorker();
  return built;
}

async function buildWorker(): Promise<string> {
  const outDir = await mkdtemp(join(tmpdir(), 'marketgate-fleet-'));
  try {
    await build({
      ...{ entry: [WORKER], outDir, config: false, format: 'esm', target: 'node20' },
      ...{ dts: false, silent: true, splitting: false, skipNodeModulesBundle: true },
    });
    return await readFile(join(outDir, 'worker.js'), 'utf8');
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}
