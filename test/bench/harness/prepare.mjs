import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BENCH = fileURLToPath(new URL('..', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MODULES = join(BENCH, 'node_modules');

/** The package as it is built here: where its own dependencies are found in the repository's modules. */
export const BUILT = join(ROOT, 'node_modules/.cache/marketgate-bench');

const run = (program, args, cwd) =>
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

/** Installs what the package is compared with, if it is not there as the lockfile has it. */
export function installPeers() {
  const lockfile = readFileSync(join(BENCH, 'package-lock.json'), 'utf8');
  const stamp = join(MODULES, '.installed-lock.json');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockfile) return;
  console.log('Installing what marketgate is compared with …');
  run('npm', ['ci', '--no-audit', '--no-fund'], BENCH);
  writeFileSync(stamp, lockfile);
}

/** Builds the package as users get it, and leaves `dist` alone. Subjects import it by its name. */
export function buildPackage() {
  console.log('Building marketgate …');
  rmSync(BUILT, { recursive: true, force: true });
  mkdirSync(BUILT, { recursive: true });
  run('npx', ['--no-install', 'tsup', '--out-dir', join(BUILT, 'dist')], ROOT);
  const link = join(MODULES, 'marketgate');
  rmSync(link, { recursive: true, force: true });
  symlinkSync(BUILT, link);
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE']) {
    copyFileSync(join(ROOT, file), join(BUILT, file));
  }
}
