// Every version people run: `npm run matrix`. Installs the packed tarball in empty projects, from the
// registry, runs programs there that do real work, and writes RESULTS.md. Takes a while; not in `check`.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findServer, startRedis } from '../support/redis-server.js';
import { appsTable, bundlesTable, runtimesTable } from './apps.js';
import {
  FLOORS,
  FRAMEWORKS,
  NODES,
  RECORDERS,
  RESOLUTIONS,
  SERVER_CLIENTS,
  SERVERS,
  SESSIONS,
  SETUPS,
  type Setup,
  TOOLS,
  TYPED_EXPRESS,
  TYPESCRIPTS,
  UNDICIS,
} from './axes.js';
import { failoverTable } from './failover.js';
import { openapiTable } from './openapi.js';
import {
  type Matrix,
  makeProject,
  NODE_HEAD,
  nodeCells,
  nodeProgram,
  type Outcome,
  pack,
  run,
  versionOf,
} from './project.js';
import { FAILED, type Failure, NONE, OK, type Table, toMarkdown } from './results.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const failures: Failure[] = [];

/** One cell: what it was, shown as it comes, and kept with its output when it is broken. */
function cell(name: string, outcomes: readonly Outcome[]): string {
  const bad = outcomes.filter(({ ok }) => !ok);
  for (const { output } of bad) failures.push({ name, output });
  const mark = bad.length === 0 ? OK : FAILED;
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
    const project = await makeProject(matrix, setup.name, setup.packages, 'programs');
    const names = Object.keys(setup.packages);
    const versions = await Promise.all(names.map((name) => versionOf(project, name)));
    const title = names.map((name, i) => `${name} ${versions[i]}`).join(', ');
    const smoked = (node: string) => smoke(project, setup, node, url);
    rows.push([title, ...(await nodeCells(matrix, setup.name, smoked))]);
  }
  return { title: 'At run time: ES module and CommonJS', head: ['with', ...heads], rows };
}

/** Each client of Redis with each server. */
async function serversTable(matrix: Matrix): Promise<Table> {
  const node = await nodeProgram(NODES[0], matrix.workplace);
  const projects = new Map<Setup, string>();
  for (const setup of SERVER_CLIENTS) {
    const name = `server for ${setup.name}`;
    projects.set(setup, await makeProject(matrix, name, setup.packages, 'programs'));
  }
  const rows: string[][] = [];
  for (const name of SERVERS) {
    const program = findServer(name);
    if (program === undefined) {
      rows.push([name, ...SERVER_CLIENTS.map(() => 'not on this machine')]);
      continue;
    }
    const { output } = await run(program, ['--version'], { cwd: matrix.workplace });
    const server = await startRedis(undefined, program);
    try {
      // As in "Valkey server v=8.0.1 sha=…".
      const row = [output.replace(/ server v=(\S+).*/s, ' $1')];
      for (const [setup, project] of projects) {
        const outcomes = await smoke(project, setup, node, server.url);
        row.push(cell(`${row[0]}, ${setup.name}`, outcomes));
      }
      rows.push(row);
    } finally {
      await server.stop();
    }
  }
  const versions = [...projects].map(async ([{ client }, project]) => {
    return `${client} ${await versionOf(project, client)}`;
  });
  return { title: 'With a server', head: ['with', ...(await Promise.all(versions))], rows };
}

async function floorTable(matrix: Matrix, url: string): Promise<Table> {
  const node = await nodeProgram(FLOORS.node, matrix.workplace);
  const rows: string[][] = [];
  for (const setup of FLOORS.setups) {
    const project = await makeProject(matrix, setup.name, setup.packages, 'programs');
    const outcomes = await smoke(project, setup, node, url);
    rows.push([setup.name, cell(`the floor: ${setup.name}`, outcomes)]);
  }
  return { title: 'The oldest that are allowed', head: ['with', `Node ${FLOORS.node}`], rows };
}

/** A row for one program on each Node, from the oldest that it runs on. */
const programCells = (matrix: Matrix, name: string, project: string, program: string, oldest = 0) =>
  nodeCells(matrix, name, async (node, version) =>
    Number(version) < oldest
      ? NONE
      : [await run(node, [program], { cwd: join(project, 'programs') })],
  );

async function bareTable(matrix: Matrix): Promise<Table> {
  const project = await makeProject(matrix, 'bare', {}, 'programs', ['--omit=dev']);
  const cells = await programCells(matrix, 'without optional peers', project, 'bare.mjs');
  const rows = [['npm install --omit=dev', ...cells]];
  return { title: 'Without redis, ioredis and keyv', head: NODE_HEAD, rows };
}

async function dispatcherTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const { version, node } of UNDICIS) {
    const name = `undici ${version}`;
    const project = await makeProject(matrix, name, { undici: `^${version}` }, 'programs');
    const what = `dispatcher of ${name}`;
    const cells = await programCells(matrix, what, project, 'dispatcher.mjs', node);
    rows.push([`undici ${await versionOf(project, 'undici')}`, ...cells]);
  }
  return { title: 'Through a dispatcher, mocks among them', head: NODE_HEAD, rows };
}

async function typesTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const wanted of TYPESCRIPTS) {
    const row: string[] = [];
    for (const [express, packages] of Object.entries(TYPED_EXPRESS)) {
      const project = await typedProject(matrix, wanted, packages, express);
      row[0] ??= `TypeScript ${await versionOf(project, 'typescript')}`;
      for (const { module, resolution, programs } of RESOLUTIONS) {
        const name = `TypeScript ${wanted}, ${resolution}, Express ${express} types`;
        const files = programs.flatMap((folder) => [`${folder}/app.ts`, `${folder}/stores.ts`]);
        row.push(cell(name, [await compile(project, files, module, resolution)]));
      }
    }
    rows.push(row);
  }
  const columns = Object.keys(TYPED_EXPRESS).flatMap((express) =>
    RESOLUTIONS.map(({ resolution }) => `${resolution}, Express ${express}`),
  );
  return { title: 'For compilers: skipLibCheck false', head: ['with', ...columns], rows };
}

async function typedProject(
  matrix: Matrix,
  typescript: string,
  express: Readonly<Record<string, string>>,
  name: string,
): Promise<string> {
  const project = await makeProject(matrix, `types-${typescript}-express-${name}`, {
    ...{ typescript, '@types/passport': '^1', '@types/node': '^20' },
    ...{ redis: '^6', ioredis: '^6', keyv: '^5', ...express },
  });
  await cp(here('../package/consumers'), join(project, 'consumers'), { recursive: true });
  for (const folder of ['esm-ts', 'cjs-ts']) {
    await cp(here('./types/stores.ts'), join(project, 'consumers', folder, 'stores.ts'));
  }
  return project;
}

function compile(project: string, files: string[], module: string, resolution: string) {
  const switches = [
    ...['--noEmit', '--strict', '--skipLibCheck', 'false', '--types', 'node'],
    ...['--target', 'es2022', '--module', module, '--moduleResolution', resolution],
  ];
  const tsc = join(project, 'node_modules/.bin/tsc');
  return run(tsc, [...switches, ...files], { cwd: join(project, 'consumers') });
}

const workplace = await mkdtemp(join(tmpdir(), 'marketgate-matrix-'));
const redis = await startRedis();
try {
  const tarball = await pack(workplace);
  const wanted = process.argv.slice(2);
  const matrix = { workplace, tarball, cell };
  const all = {
    frameworks: () => appsTable(matrix, 'In a framework: guard, outage and login', FRAMEWORKS),
    sessions: () => appsTable(matrix, 'With a session', SESSIONS),
    tools: () => appsTable(matrix, 'With test tools and proxies', TOOLS),
    recorders: () => appsTable(matrix, 'No secret in traces and logs', RECORDERS),
    bundles: () => bundlesTable(matrix),
    runtimes: () => runtimesTable(matrix),
    failover: () => failoverTable(matrix),
    openapi: () => openapiTable(matrix),
    bare: () => bareTable(matrix),
    dispatcher: () => dispatcherTable(matrix),
    servers: () => serversTable(matrix),
    floor: () => floorTable(matrix, redis.url),
    types: () => typesTable(matrix),
    runtime: () => runtimeTable(matrix, redis.url),
  };
  const tables: Table[] = [];
  for (const [name, make] of Object.entries(all)) {
    if (wanted.length === 0 || wanted.includes(name)) tables.push(await make());
  }
  const text = toMarkdown(tables, failures);
  console.log(`\n${text}`);
  // A part of the matrix is no result of the whole.
  if (wanted.length === 0) await writeFile(here('./RESULTS.md'), text);
} finally {
  await redis.stop();
  await rm(workplace, { recursive: true, force: true });
}
process.exitCode = failures.length > 0 ? 1 : 0;
