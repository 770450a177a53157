import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocksOf } from '../system/docs/support/blocks.js';
import { type App, BUNDLES, type Packages, RUNTIMES } from './axes.js';
import {
  type Matrix,
  makeProject,
  NODE_HEAD,
  nodeCells,
  run,
  type Table,
  titleOf,
} from './project.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The guides whose programs the matrix tries, also those that other tests cannot run. */
const GUIDES = ['auth-js.md', 'better-auth.md', 'frameworks.md', 'testing.md', 'watching.md'];

/** A project with the programs of `programs/` and of the guides, and the title of its row. */
async function appProject(matrix: Matrix, name: string, packages: Packages) {
  const project = await makeProject(matrix, name, packages);
  for (const guide of GUIDES) {
    const page = await readFile(here(`../../examples/guides/${guide}`), 'utf8');
    for (const { file, text } of blocksOf(page)) {
      if (file === undefined) continue;
      const path = join(project, 'guide', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `${text}\n`, { flag: 'a' });
    }
  }
  await writeFile(join(project, 'guide/package.json'), '{ "type": "module" }');
  const first = Object.keys(packages).slice(0, 1);
  const title = first.length > 0 ? `${name} (${await titleOf(project, first)})` : name;
  return { project, title };
}

export async function appsTable(
  matrix: Matrix,
  title: string,
  apps: readonly App[],
): Promise<Table> {
  const rows: string[][] = [];
  for (const { name, command, packages, not } of apps) {
    const { project, title } = await appProject(matrix, name, packages);
    const [program = '', ...args] = command.split(' ');
    const runOn = (node: string) =>
      run(node, [join('programs', program), ...args], { cwd: project });
    const cells = await nodeCells(
      matrix,
      name,
      async (node, version) => not[version] ?? [await runOn(node)],
    );
    rows.push([title, ...cells]);
  }
  return { title, head: NODE_HEAD, rows };
}

/** Bundles of the Express program, which run where no package is installed. */
export async function bundlesTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const { name, packages, build, start } of BUNDLES) {
    const { project, title } = await appProject(matrix, name, packages);
    await cp(here('./bundles'), project, { recursive: true });
    const path = `${join(project, 'node_modules/.bin')}:${process.env.PATH}`;
    const built = await run('sh', ['-ec', build], { cwd: project, env: { PATH: path } });
    const alone = join(matrix.workplace, `alone ${name}`);
    await cp(join(project, 'out'), alone, { recursive: true });
    const runOn = (node: string) => run(node, [start], { cwd: alone });
    rows.push([
      title,
      ...(await nodeCells(matrix, name, async (node) => [built, await runOn(node)])),
    ]);
  }
  return { title: 'In a bundle', head: NODE_HEAD, rows };
}

/** Bun and Deno: the Express program as it is and with `fetch`, and a server of their own. */
export async function runtimesTable(matrix: Matrix): Promise<Table> {
  const rows: string[][] = [];
  for (const { name, install, command, page } of RUNTIMES) {
    const { project, title } = await appProject(matrix, `runtime ${name}`, { [name]: '*' });
    if (install !== undefined) await run(process.execPath, [install], { cwd: project });
    const row = [title];
    const [program = '', ...args] = command.split(' ');
    const tried: [what: string, app: string[], env: NodeJS.ProcessEnv][] = [
      ['Express', ['express.mjs'], {}],
      ['Express, option `fetch`', ['express.mjs'], { MARKETGATE_FETCH: '1' }],
      ['own server', ['page.mjs', page], {}],
    ];
    for (const [what, app, env] of tried) {
      const bin = join(project, 'node_modules/.bin', program);
      const outcome = await run(bin, [...args, ...app], { cwd: join(project, 'programs'), env });
      row.push(matrix.cell(`${name}, ${what}`, [outcome]));
    }
    rows.push(row);
  }
  const head = ['with', 'Express', 'Express, option `fetch`', '`checkPurchase` in its own server'];
  return { title: 'Other runtimes', head, rows };
}
