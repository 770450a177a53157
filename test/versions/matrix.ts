// Every version people run: `npm run matrix`. Installs the packed tarball in empty projects, from the
// registry, runs programs there that do real work, and writes RESULTS.md. Takes a while; not in `check`.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../support/redis-server.js';
import { appsTable, bundlesTable, runtimesTable } from './apps.js';
import {
  FLOORS,
  FRAMEWORKS,
  NODES,
  RECORDERS,
  RESOLUTIONS,
  SESSIONS,
  SETUPS,
  type Setup,
  TOOLS,
  TYPED_EXPRESS,
  TYPESCRIPTS,
  UNDICIS,
} from './axes.js';
import { failoverTable } from './failover.js';
import { makeProject, nodeProgram, type Outcome, pack, run, versionOf } from './project.js';
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

async function smokeProject(workplace: string, tarball: string, setup: Setup): Promise<string> {
  const project = await makeProject(workplace, setup.name, {
    marketgate: tarball,
    ...setup.packages,
  });
  await cp(here('./programs'), join(project, 'programs'), { recursive: true });
  return project;
}

async function runtimeTable(workplace: string, tarball: string, url: string): Promise<Table> {
  const nodes = await Promise.all(NODES.map((version) => nodeProgram(version, workplace)));
  const heads = await Promise.all(
    nodes.map(async (node) => (await run(node, ['--version'], { cwd: workplace })).output),
  );
  const rows: string[][] = [];
  for (const setup of SETUPS) {
    const project = await smokeProject(workplace, tarball, setup);
    const names = Object.keys(setup.packages);
    const versions = await Promise.all(names.map((name) => versionOf(project, name)));
    const row = [names.map((name, i) => `${name} ${versions[i]}`).join(', ')];
    for (const [i, node] of nodes.entries()) {
      const outcomes = await smoke(project, setup, node, url);
      row.push(cell(`${setup.name}, Node ${heads[i]}`, outcomes));
    }
    rows.push(row);
  }
  return { title: 'At run time: ES module and CommonJS', head: ['with', ...heads], rows };
}

async function floorTable(workplace: string, tarball: string, url: string): Promise<Table> {
  const node = await nodeProgram(FLOORS.node, workplace);
  const rows: string[][] = [];
  for (const setup of FLOORS.setups) {
    const project = await smokeProject(workplace, tarball, setup);
    const outcomes = await smoke(project, setup, node, url);
    rows.push([setup.name, cell(`the floor: ${setup.name}`, outcomes)]);
  }
  return { title: 'The oldest that are allowed', head: ['with', `Node ${FLOORS.node}`], rows };
}

async function bareTable(workplace: string, tarball: string): Promise<Table> {
  const packages = { marketgate: tarball, express: '^5', passport: '^0.7' };
  const project = await makeProject(workplace, 'bare', packages, ['--omit=dev']);
  await cp(here('./programs'), join(project, 'programs'), { recursive: true });
  const row = ['npm install --omit=dev'];
  for (const version of NODES) {
    const node = await nodeProgram(version, workplace);
    const outcome = await run(node, ['bare.mjs'], { cwd: join(project, 'programs') });
    row.push(cell(`without optional peers, Node ${version}`, [outcome]));
  }
  const head = ['with', ...NODES.map((version) => `Node ${version}`)];
  return { title: 'Without redis, ioredis and keyv', head, rows: [row] };
}

async function dispatcherTable(workplace: string, tarball: string): Promise<Table> {
  const rows: string[][] = [];
  for (const { version, node: oldest } of UNDICIS) {
    const packages = {
      marketgate: tarball,
      express: '^5',
      passport: '^0.7',
      undici: `^${version}`,
    };
    const project = await makeProject(workplace, `undici ${version}`, packages);
    await cp(here('./programs'), join(project, 'programs'), { recursive: true });
    const row = [`undici ${await versionOf(project, 'undici')}`];
    for (const wanted of NODES) {
      if (Number(wanted) < oldest) {
        row.push(NONE);
        continue;
      }
      const node = await nodeProgram(wanted, workplace);
      const outcome = await run(node, ['dispatcher.mjs'], { cwd: join(project, 'programs') });
      row.push(cell(`dispatcher of undici ${version}, Node ${wanted}`, [outcome]));
    }
    rows.push(row);
  }
  const head = ['with', ...NODES.map((version) => `Node ${version}`)];
  return { title: 'Through a dispatcher, mocks among them', head, rows };
}

async function typesTable(workplace: string, tarball: string): Promise<Table> {
  const rows: string[][] = [];
  for (const wanted of TYPESCRIPTS) {
    const row: string[] = [];
    for (const [express, packages] of Object.entries(TYPED_EXPRESS)) {
      const project = await typedProject(workplace, tarball, wanted, packages, express);
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
  workplace: string,
  tarball: string,
  typescript: string,
  express: Readonly<Record<string, string>>,
  name: string,
): Promise<string> {
  const project = await makeProject(workplace, `types-${typescript}-express-${name}`, {
    ...{ marketgate: tarball, typescript, passport: '^0.7', '@types/passport': '^1' },
    ...{ '@types/node': '^20', redis: '^6', ioredis: '^6', keyv: '^5', ...express },
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
    bare: () => bareTable(workplace, tarball),
    dispatcher: () => dispatcherTable(workplace, tarball),
    floor: () => floorTable(workplace, tarball, redis.url),
    types: () => typesTable(workplace, tarball),
    runtime: () => runtimeTable(workplace, tarball, redis.url),
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
