// Every version people run: `npm run matrix`. Installs the packed tarball in empty projects, from the
// registry, runs programs there that do real work, and writes RESULTS.md. Takes a while; not in `check`.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findServer, startRedis } from '../support/redis-server.js';
import { appsTable, bundlesTable, runtimesTable } from './apps.js';
import {
  APPS,
  FLOORS,
  NODES,
  RESOLUTIONS,
  SERVER_CLIENTS,
  SERVERS,
  SETUPS,
  type Setup,
  TYPESCRIPTS,
} from './axes.js';
import { failoverTable } from './failover.js';
import {
  type Matrix,
  makeProject,
  nodeCells,
  nodeProgram,
  type Outcome,
  pack,
  run,
  type Table,
  titleOf,
  versionOf,
} from './project.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The marks of a cell. Anything else in its place is why there is none. */
const OK = 'ok';
const FAILED = 'FAILED';

/** Cells that are broken, with what their programs printed first. */
const failures: string[] = [];
const cells = { all: 0, good: 0 };

/** One cell, shown as it comes. */
function cell(name: string, outcomes: readonly Outcome[]): string {
  const bad = outcomes.filter(({ ok }) => !ok);
  for (const { output } of bad) {
    const lines = output.split('\n').slice(0, 20);
    failures.push([`### ${name}`, '', '```', ...lines, '```'].join('\n'));
  }
  const mark = bad.length === 0 ? OK : FAILED;
  cells.all++;
  if (mark === OK) cells.good++;
  console.log(`${mark.padEnd(7)}${name}`);
  return mark;
}

/** Both programs of a setup on one Node: the ES module and CommonJS. */
async function smoke(project: string, setup: Setup, node: string, url: string): Promise<Outcome[]> {
  const env = { CLIENT: setup.client, REDIS_URL: url };
  const outcomes: Outcome[] = [];
  for (const program of ['smoke.mjs', 'smoke.cjs']) {
    const outcome = await run(node, [program], { cwd: join(project, 'programs'), env });
    outcomes.push({ ...outcome, output: `${program}: ${outcome.output}` });
  }
  return outcomes;
}

async function runtimeTable(matrix: Matrix, url: string): Promise<Table> {
  const heads: string[] = [];
  for (const version of NODES) {
    const node = await nodeProgram(version, matrix.workplace);
    heads.push((await run(node, ['--version'], { cwd: matrix.workplace })).output);
  }
  const rows: string[][] = [];
  for (const setup of SETUPS) {
    const project = await makeProject(matrix, setup.name, setup.packages);
    const title = await titleOf(project, Object.keys(setup.packages));
    const smoked = (node: string) => smoke(project, setup, node, url);
    rows.push([title, ...(await nodeCells(matrix, setup.name, smoked))]);
  }
  return { title: 'At run time: ES module and CommonJS', head: ['with', ...heads], rows };
}

/** Each client of Redis with each server. */
async function serversTable(matrix: Matrix): Promise<Table> {
  const node = await nodeProgram(NODES[0], matrix.workplace);
  const projects = new Map<Setup, string>();
  const head = ['with'];
  for (const setup of SERVER_CLIENTS) {
    const project = await makeProject(matrix, `server for ${setup.name}`, setup.packages);
    projects.set(setup, project);
    head.push(await titleOf(project, [setup.client]));
  }
  const rows: string[][] = [];
  for (const name of SERVERS) {
    const program = findServer(name);
    if (program === undefined) {
      rows.push([name, ...SERVER_CLIENTS.map(() => 'not on this machine')]);
      continue;
    }
    const { output } = await run(program, ['--version'], { cwd: matrix.workplace });
    // As in "Valkey server v=8.0.1 sha=…".
    const row = [output.replace(/ server v=(\S+).*/s, ' $1')];
    const server = await startRedis(undefined, program);
    for (const [setup, project] of projects) {
      const outcomes = await smoke(project, setup, node, server.url);
      row.push(cell(`${row[0]}, ${setup.name}`, outcomes));
    }
    await server.stop();
    rows.push(row);
  }
  return { title: 'With a server', head, rows };
}

async function floorTable(matrix: Matrix, url: string): Promise<Table> {
  const node = await nodeProgram(FLOORS.node, matrix.workplace);
  const rows: string[][] = [];
  for (const setup of FLOORS.setups) {
    const project = await makeProject(matrix, setup.name, setup.packages);
    const outcomes = await smoke(project, setup, node, url);
    rows.push([setup.name, cell(`the floor: ${setup.name}`, outcomes)]);
  }
  return { title: 'The oldest that are allowed', head: ['with', `Node ${FLOORS.node}`], rows };
}

async function typesTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  const head = ['with'];
  for (const express of ['4', '5']) {
    head.push(...RESOLUTIONS.map(({ resolution }) => `${resolution}, Express ${express}`));
  }
  for (const typescript of TYPESCRIPTS) {
    const row: string[] = [];
    for (const express of ['4', '5']) {
      const project = await makeProject(matrix, `types-${typescript}-express-${express}`, {
        ...{ typescript, '@types/passport': '^1', '@types/node': '^20' },
        ...{ redis: '^6', ioredis: '^6', keyv: '^5' },
        ...{ express: `^${express}`, '@types/express': `^${express}` },
      });
      row[0] ??= `TypeScript ${await versionOf(project, 'typescript')}`;
      const consumers = join(project, 'consumers');
      await cp(here('../package/consumers'), consumers, { recursive: true });
      for (const { module, resolution, programs } of RESOLUTIONS) {
        const files = programs.flatMap((folder) => [`${folder}/app.ts`, `${folder}/stores.ts`]);
        for (const folder of programs) {
          await cp(here('./types/stores.ts'), join(consumers, folder, 'stores.ts'));
        }
        const switches = [
          ...['--noEmit', '--strict', '--skipLibCheck', 'false', '--types', 'node'],
          ...['--target', 'es2022', '--module', module, '--moduleResolution', resolution],
        ];
        const tsc = join(project, 'node_modules/.bin/tsc');
        const outcome = await run(tsc, [...switches, ...files], { cwd: consumers });
        row.push(cell(`TypeScript ${typescript}, ${resolution}, Express ${express}`, [outcome]));
      }
    }
    rows.push(row);
  }
  return { title: 'For compilers: skipLibCheck false', head, rows };
}

/** The matrix as a page, without the paths of the machine that it ran on. */
function toMarkdown(tables: readonly Table[]): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  const texts = tables.map(({ title, head, rows }) =>
    [`## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'),
  );
  return [
    '# Versions',
    'Written by `npm run matrix`: the packed tarball in empty projects. Each cell does real work, see `programs/`, `types/` and the guides.',
    `${cells.good} of ${cells.all} cells are ok.`,
    ...texts,
    ...(failures.length > 0 ? ['## What failed', ...failures] : []),
  ]
    .join('\n\n')
    .replaceAll(/(\/[\w.-]+)+\/marketgate-matrix-\w+/g, '…')
    .concat('\n');
}

const workplace = await mkdtemp(join(tmpdir(), 'marketgate-matrix-'));
const redis = await startRedis();
try {
  const matrix = { workplace, tarball: await pack(workplace), cell };
  const apps = Object.entries(APPS).map(
    ([word, { title, apps }]) => [word, () => appsTable(matrix, title, apps)] as const,
  );
  const all: Record<string, () => Promise<Table>> = {
    ...Object.fromEntries(apps),
    bundles: () => bundlesTable(matrix),
    runtimes: () => runtimesTable(matrix),
    failover: () => failoverTable(matrix),
    servers: () => serversTable(matrix),
    floor: () => floorTable(matrix, redis.url),
    types: () => typesTable(matrix),
    runtime: () => runtimeTable(matrix, redis.url),
  };
  const wanted = process.argv.slice(2);
  const tables: Table[] = [];
  for (const [name, make] of Object.entries(all)) {
    if (wanted.length === 0 || wanted.includes(name)) tables.push(await make());
  }
  const text = toMarkdown(tables);
  console.log(`\n${text}`);
  // A part of the matrix is no result of the whole.
  if (wanted.length === 0) await writeFile(here('./RESULTS.md'), text);
} finally {
  await redis.stop();
  await rm(workplace, { recursive: true, force: true });
}
process.exitCode = failures.length > 0 ? 1 : 0;
