import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { mustRun } from './run-program.js';

const OPTIONAL = ['redis', 'ioredis', 'keyv'];

let project: string;

/** A project where all optional peers can be loaded, so that one that is loaded is seen. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'marketgate-lazy-'));
  const modules = join(project, 'node_modules');
  await cp(join(inject('projects').express5, 'node_modules'), modules, {
    recursive: true,
    verbatimSymlinks: true,
  });
  for (const name of OPTIONAL) {
    await mkdir(join(modules, name), { recursive: true });
    await writeFile(
      join(modules, name, 'package.json'),
      JSON.stringify({ name, main: 'main.cjs' }),
    );
    await writeFile(join(modules, name, 'main.cjs'), 'module.exports = {};');
  }
});

afterAll(() => rm(project, { recursive: true, force: true }));

/** The files that a program loaded, as paths below the project; V8 itself keeps the list. */
async function filesLoadedBy(program: string, type: 'module' | 'commonjs'): Promise<string[]> {
  const coverage = join(project, `coverage-${type}-${program.length}`);
  await mustRun(process.execPath, [`--input-type=${type}`, '--eval', program], {
    cwd: project,
    env: { NODE_V8_COVERAGE: coverage },
  });
  const loaded = new Set<string>();
  for (const file of await readdir(coverage)) {
    const { result } = JSON.parse(await readFile(join(coverage, file), 'utf8')) as {
      result: { url: string }[];
    };
    for (const { url } of result) {
      const [, inside] = url.split('/node_modules/');
      if (inside !== undefined) loaded.add(url.slice(url.indexOf('/node_modules/') + 14));
    }
  }
  return [...loaded];
}

/** What only a call needs. */
const ON_FIRST_USE = /^undici\//;

describe('loading marketgate', () => {
  it.each([
    { type: 'module', program: "await import('marketgate');", entry: 'marketgate/dist/index.js' },
    { type: 'commonjs', program: "require('marketgate');", entry: 'marketgate/dist/index.cjs' },
  ] as const)(
    'as $type loads no optional peer, no sandbox, and nothing that waits for its first use',
    async ({ type, program, entry }) => {
      const loaded = await filesLoadedBy(program, type);
      expect(loaded).toContain(entry);
      const unwanted =
        /^(redis|@redis|ioredis|keyv|@keyv)\/|^marketgate\/dist\/(sandbox|redis|keyv|testing)\./;
      const isUnwanted = (file: string) => unwanted.test(file) || ON_FIRST_USE.test(file);
      expect(loaded.filter(isUnwanted)).toEqual([]);
    },
  );

  it('would be seen to load one, if it did', async () => {
    const program = "require('marketgate'); require('redis'); require('keyv'); require('undici');";
    const loaded = await filesLoadedBy(program, 'commonjs');
    expect(loaded).toEqual(expect.arrayContaining(['redis/main.cjs', 'keyv/main.cjs']));
    expect(loaded.filter((file) => ON_FIRST_USE.test(file))).not.toEqual([]);
  });
});
