import { readdirSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where programs find this package as their own dependency, built from the current sources. */
    readonly builtPackage: string;
  }
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// With a dot, so that no other tool takes it for sources.
const FOLDER = join(ROOT, 'test/.built');

/**
 * Builds the package and the examples once, so that test processes run with plain `node`. The folder
 * belongs to this run: two runs at the same time do not share it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = join(FOLDER, `${process.pid}`);
  await removeAbandoned();
  await rm(folder, { recursive: true, force: true });
  await Promise.all([buildPackage(folder), buildExamples(folder)]);
  project.provide('builtPackage', folder);
  return () => rm(folder, { recursive: true, force: true });
}

/** As `npm run build` does it, without types. */
async function buildPackage(folder: string): Promise<void> {
  const installed = join(folder, 'node_modules/marketgate');
  await mkdir(installed, { recursive: true });
  for (const path of ['package.json', 'src/errors/pages', 'src/openapi.json']) {
    await cp(join(ROOT, path), join(installed, path), { recursive: true });
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
  await build({
    config: join(ROOT, 'tsup.config.ts'),
    outDir: join(installed, 'dist'),
    dts: false,
    treeshake: false,
    silent: true,
  });
}

/** The examples as JavaScript, with everything that lies next to them. */
async function buildExamples(folder: string): Promise<void> {
  const outDir = join(folder, 'examples');
  await cp(join(ROOT, 'examples'), outDir, {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  });
  await build({
    config: false,
    // A pattern has slashes, on Windows too.
    entry: [`${ROOT.replaceAll('\\', '/')}examples/**/*.ts`],
    outDir,
    bundle: false,
    format: 'esm',
    target: 'node20',
    silent: true,
  });
}

/** Removes the folders of runs that were killed. */
async function removeAbandoned(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  for (const pid of readdirSync(FOLDER)) {
    if (!isRunning(Number(pid))) await rm(join(FOLDER, pid), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
