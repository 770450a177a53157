// The packed tarball in empty projects with every version people run: `npm run matrix`, or `npm run matrix -- types
// bundles` for some of the tables. Installs from the registry, runs programs that do real work, writes RESULTS.md.
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mustRun, type Outcome, runProgram } from '../package/run-program.js';
import { findProgram } from '../support/programs.js';
import { startRedis } from '../support/redis-server.js';
import { blocksOf } from '../system/docs/support/blocks.js';
import {
  type App,
  BUNDLES,
  EXPRESS_5,
  FLOOR_NODE,
  FLOORS,
  NODES,
  type Packages,
  PROGRAMS,
  REDIS_SERVER,
  RESOLUTIONS,
  SETUPS,
  type Setup,
  TYPESCRIPTS,
  VALKEY_SERVER,
} from './axes.js';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
/** The guides whose programs need packages that the repository does not have. */
const GUIDES = ['testing.md', 'watching.md'];

const failures: string[] = [];
let good = 0;

/** The mark of a cell, from what its programs did. */
function mark(name: string, outcomes: readonly Outcome[]): string {
  const bad = outcomes
    .filter(({ code }) => code !== 0)
    .map(({ code, stdout, stderr }) => `${code}: ${stdout}${stderr}`.slice(0, 3000));
  if (bad.length === 0) good++;
  else failures.push([`### ${name}`, '```', ...bad, '```'].join('\n'));
  console.log(`${bad.length === 0 ? 'ok     ' : 'FAILED '}${name}`);
  return bad.length === 0 ? 'ok' : 'FAILED';
}

interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const workplace = await mkdtemp(join(tmpdir(), 'marketgate-versions-'));
/** For a program that installs or builds. */
const timeout = 600_000;
let projects = 0;

/** Builds and packs the repository as it is. Returns the path of the tarball. */
async function pack(): Promise<string> {
  await mustRun('npm', ['run', 'build'], { cwd: REPOSITORY, timeout });
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', workplace];
  return join(workplace, (await mustRun('npm', args, { cwd: REPOSITORY })).trim());
}

let tarball: Promise<string> | undefined;

/** An empty project with marketgate, Express, passport and these packages, and with the programs. Returns its path. */
async function makeProject(packages: Packages): Promise<string> {
  tarball ??= pack();
  const folder = join(workplace, `project-${++projects}`);
  await cp(join(HERE, 'programs'), join(folder, 'programs'), { recursive: true });
  const dependencies = { express: '5', passport: '0.7', 'express-session': '1', ...packages };
  const all = { ...dependencies, marketgate: `file:${await tarball}` };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ dependencies: all }));
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];
  await mustRun('npm', ['install', '--prefer-offline', ...quiet], { cwd: folder, timeout });
  return folder;
}

/** Writes the programs of the guides into the folder `guide` of a project. */
async function writeGuides(project: string): Promise<void> {
  for (const guide of GUIDES) {
    const page = await readFile(join(REPOSITORY, 'examples/guides', guide), 'utf8');
    for (const { file, text } of blocksOf(page)) {
      if (file === undefined) continue;
      const path = join(project, 'guide', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `${text}\n`, { flag: 'a' });
    }
  }
  await writeFile(join(project, 'guide/package.json'), '{ "type": "module" }');
}

/** Names and versions of packages, as in `express 5.3.0, passport 0.7.0`. */
async function titleOf(project: string, names: readonly string[]): Promise<string> {
  const titles = names.map(async (name) => {
    const file = join(project, 'node_modules', name, 'package.json');
    return `${name} ${JSON.parse(await readFile(file, 'utf8')).version}`;
  });
  return (await Promise.all(titles)).join(', ');
}

const nodes = new Map<string, string>();

async function nodeProgram(version: string): Promise<string> {
  const known = nodes.get(version);
  if (known !== undefined) return known;
  const args = ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'];
  const path = (await mustRun('npx', args, { cwd: workplace, timeout })).trim();
  nodes.set(version, path);
  return path;
}

/** A row: the title, and a cell for each Node. */
async function rowOf(
  title: string,
  run: (node: string) => Promise<Outcome[]>,
  versions: readonly string[] = NODES,
): Promise<string[]> {
  const row = [title];
  for (const version of versions) {
    row.push(mark(`${title}, Node ${version}`, await run(await nodeProgram(version))));
  }
  return row;
}

const headOf = (versions: readonly string[] = NODES) => [
  'with',
  ...versions.map((version) => `Node ${version}`),
];

/** Each setup on each Node, with a server of Redis or Valkey. */
async function setupsTable(
  title: string,
  setups: readonly Setup[],
  versions: readonly string[] = NODES,
  server = REDIS_SERVER,
): Promise<Table> {
  const program = findProgram(server);
  if (program === undefined) {
    return {
      title: `${title}: not run, there is no ${server} here`,
      head: headOf(versions),
      rows: [],
    };
  }
  // As in "Valkey server v=8.0.1 sha=…".
  const version = await mustRun(program, ['--version'], { cwd: workplace });
  const redis = await startRedis(program);
  const rows: string[][] = [];
  for (const { packages, client } of setups) {
    const cwd = await makeProject(packages);
    const name = await titleOf(cwd, ['express', 'passport', client]);
    const options = { cwd, env: { CLIENT: client, REDIS_URL: redis.url } };
    const run = async (node: string) => [
      await runProgram(node, ['programs/redis.mjs', 'import'], options),
      await runProgram(node, ['programs/redis.mjs', 'require'], options),
    ];
    rows.push(await rowOf(name, run, versions));
  }
  await redis.stop();
  const kind = version.replace(/ server v=(\S+).*/s, ' $1');
  return { title: `${title}, with ${kind}`, head: headOf(versions), rows };
}

/** Each app on each Node: `prepare` makes what runs in its project, and says in which folder. */
async function appsTable<A extends App>(
  title: string,
  apps: readonly A[],
  prepare: (app: A, project: string) => Promise<{ cwd: string; args: string[] }>,
): Promise<Table> {
  const rows: string[][] = [];
  for (const app of apps) {
    const project = await makeProject(app.packages);
    const name = `${app.name} (${await titleOf(project, Object.keys(app.packages).slice(0, 1))})`;
    const { cwd, args } = await prepare(app, project);
    rows.push(await rowOf(name, async (node) => [await runProgram(node, args, { cwd })]));
  }
  return { title, head: headOf(), rows };
}

const programsTable = () =>
  appsTable('NestJS, and the recipes of the guides', PROGRAMS, async ({ command }, project) => {
    await writeGuides(project);
    return { cwd: project, args: command.split(' ') };
  });

/** Bundles of the Express program, which run where no package is installed. */
const bundlesTable = () =>
  appsTable('In a bundle', BUNDLES, async ({ build, start }, project) => {
    const PATH = `${join(project, 'node_modules/.bin')}:${process.env.PATH}`;
    await mustRun('sh', ['-ec', build], { cwd: project, env: { PATH }, timeout });
    const alone = join(workplace, `bundle-${projects}`);
    await cp(join(project, 'out'), alone, { recursive: true });
    return { cwd: alone, args: [start] };
  });

async function typesTable(): Promise<Table> {
  const rows: string[][] = [];
  for (const typescript of TYPESCRIPTS) {
    for (const express of ['4', '5']) {
      const project = await makeProject({
        ...{ typescript, express, '@types/express': express, '@types/express-session': '1' },
        ...{ '@types/passport': '1', '@types/node': '20' },
      });
      await cp(join(REPOSITORY, 'test/package/consumers'), project, { recursive: true });
      const title = await titleOf(project, ['typescript', 'express']);
      const row = [title];
      for (const { module, resolution, folders } of RESOLUTIONS) {
        if (resolution === 'node10' && !title.startsWith('typescript 5')) {
          row.push('TypeScript deprecates it');
          continue;
        }
        const switches = [
          ...['--noEmit', '--strict', '--skipLibCheck', 'false', '--types', 'node'],
          ...['--target', 'es2022', '--module', module, '--moduleResolution', resolution],
          '--esModuleInterop',
        ];
        const files = folders.map((folder) => `${folder}/app.ts`);
        const tsc = join(project, 'node_modules/.bin/tsc');
        const outcome = await runProgram(tsc, [...switches, ...files], { cwd: project, timeout });
        row.push(mark(`${title}, ${resolution}`, [outcome]));
      }
      rows.push(row);
    }
  }
  const head = ['with', ...RESOLUTIONS.map(({ resolution }) => resolution)];
  return { title: 'Compilers, with skipLibCheck false', head, rows };
}

const TABLES = {
  nodes: () => setupsTable('Node × Express × Redis client', SETUPS),
  valkey: () => setupsTable('Redis clients', EXPRESS_5, ['24'], VALKEY_SERVER),
  floors: () => setupsTable('The oldest that are allowed', FLOORS, [FLOOR_NODE]),
  programs: programsTable,
  bundles: bundlesTable,
  types: typesTable,
};

/** The matrix as a page. */
function toMarkdown(tables: readonly Table[]): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  const texts = tables.map(({ title, head, rows }) =>
    [`## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'),
  );
  const page = [
    '# Versions',
    'Written by `npm run matrix`: the packed tarball in empty projects. Each cell does real work: `programs`, the guides.',
    `${good} of ${good + failures.length} cells are ok.`,
    ...texts,
    ...(failures.length > 0 ? ['## What failed', ...failures] : []),
  ].join('\n\n');
  return `${page.replaceAll(workplace, '.').replaceAll(REPOSITORY, './')}\n`;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(TABLES, name));
if (unknown.length > 0) {
  throw new Error(`unknown: ${unknown.join(', ')}; there are ${Object.keys(TABLES).join(', ')}`);
}
try {
  const tables: Table[] = [];
  for (const [name, make] of Object.entries(TABLES)) {
    if (wanted.length === 0 || wanted.includes(name)) tables.push(await make());
  }
  const page = toMarkdown(tables);
  console.log(`\n${page}`);
  // A part of the matrix is no result of the whole.
  if (wanted.length === 0) await writeFile(join(HERE, 'RESULTS.md'), page);
} finally {
  await rm(workplace, { recursive: true, force: true });
}
process.exitCode = failures.length > 0 ? 1 : 0;
