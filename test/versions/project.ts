import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mustRun, runProgram } from '../package/run-program.js';
import { NODES, type Packages } from './axes.js';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const QUIET = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error', '--ignore-scripts'];

/** What a program that ran to its end left behind. */
export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

/** What the tables of the matrix have in common. */
export interface Matrix {
  /** A folder for projects. */
  readonly workplace: string;
  /** The packed package. */
  readonly tarball: string;
  /** The mark of one cell, from what its programs did. */
  cell(name: string, outcomes: readonly Outcome[]): string;
}

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Runs a program to its end, with a deadline: what keeps a process alive is a fault too. */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<Outcome> {
  const ended = await runProgram(command, args, { timeout: 180_000, ...options });
  const end = ended.code === 'timeout' ? 'It did not end in time.\n' : '';
  return { ok: ended.code === 0, output: `${end}${ended.stdout}${ended.stderr}`.trim() };
}

/** Builds and packs what is in the repository now, beside its `dist`, which is left alone. */
export async function pack(workplace: string): Promise<string> {
  const folder = join(workplace, 'package');
  await mkdir(folder);
  const own = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'];
  await Promise.all(own.map((file) => cp(join(REPOSITORY, file), join(folder, file))));
  // In the repository, because the build loads what it has made, with its dependencies.
  const built = join(REPOSITORY, 'test/.built/matrix');
  const build = ['--no', '--', 'tsup', '--out-dir', built];
  await mustRun('npx', build, { cwd: REPOSITORY, timeout: 600_000 });
  await cp(built, join(folder, 'dist'), { recursive: true });
  await rm(built, { recursive: true });
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', workplace];
  const [{ filename }] = JSON.parse(await mustRun('npm', args, { cwd: folder }));
  return join(workplace, filename);
}

/**
 * A project with marketgate from the tarball, Express, passport and these packages from the registry, and with
 * `programs`. Returns its path.
 */
export async function makeProject(
  { workplace, tarball }: Matrix,
  name: string,
  packages: Packages,
): Promise<string> {
  const folder = join(workplace, name.toLowerCase().replace(/[^a-z0-9]+/g, '-'));
  await mkdir(folder);
  const dependencies = { marketgate: tarball, express: '^5', passport: '^0.7', ...packages };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const install = ['install', '--prefer-offline', ...QUIET];
  await mustRun('npm', install, { cwd: folder, timeout: 600_000 });
  const programs = fileURLToPath(new URL('./programs', import.meta.url));
  await cp(programs, join(folder, 'programs'), { recursive: true });
  return folder;
}

export async function versionOf(project: string, name: string): Promise<string> {
  const file = join(project, 'node_modules', name, 'package.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}

/** Names and versions of packages, as in `express 5.3.0, passport 0.7.0`. */
export async function titleOf(project: string, names: readonly string[]): Promise<string> {
  const versions = names.map(async (name) => `${name} ${await versionOf(project, name)}`);
  return (await Promise.all(versions)).join(', ');
}

export async function nodeProgram(version: string, cwd: string): Promise<string> {
  const ask = ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'];
  const output = await mustRun('npx', ask, { cwd, timeout: 600_000 });
  return output.split('\n').find((line) => line.startsWith('/')) ?? 'node';
}

/** The head of a table with a column for each Node. */
export const NODE_HEAD = ['with', ...NODES.map((version) => `Node ${version}`)];

/** The cells of a row of it. `run` gives what the programs did, or why they do not run. */
export async function nodeCells(
  { workplace, cell }: Matrix,
  name: string,
  run: (node: string, version: (typeof NODES)[number]) => Promise<Outcome[] | string>,
): Promise<string[]> {
  const cells: string[] = [];
  for (const version of NODES) {
    const found = await run(await nodeProgram(version, workplace), version);
    cells.push(typeof found === 'string' ? found : cell(`${name}, Node ${version}`, found));
  }
  return cells;
}
