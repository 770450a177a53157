import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';

const PAGE = fileURLToPath(new URL('../../examples/guides/why.md', import.meta.url));

/** How far a number of the README may be off before it is untrue: releases of others move it. */
const TOLERANCE = 0.15;

type Packages = Record<string, { dependencies?: Record<string, string> }>;

const modules = join(inject('projects').express5, 'node_modules');
const packages = (
  JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as { packages: Packages }
).packages;

/** The folders that a project with these packages has in its `node_modules`. */
function withDependencies(names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const add = (name: string, from: string): void => {
    const nested = `${from}/node_modules/${name}`;
    const folder = from !== '' && nested in packages ? nested : `node_modules/${name}`;
    if (found.has(folder) || !(folder in packages)) return;
    found.add(folder);
    for (const dependency of Object.keys(packages[folder]?.dependencies ?? {})) {
      add(dependency, folder);
    }
  };
  for (const name of names) add(name, '');
  return found;
}

function bytesOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name === 'node_modules') continue;
    bytes += entry.isDirectory() ? bytesOf(path) : existsSync(path) ? statSync(path).size : 0;
  }
  return bytes;
}

it('the page tells the size and the number of packages as they are', () => {
  const all = withDependencies(['marketgate', 'express', 'passport']);
  const megabytes = (folders: Iterable<string>): number =>
    [...folders].reduce((sum, folder) => sum + bytesOf(join(modules, '..', folder)), 0) / 1e6;
  const measured = {
    'kB packed': statSync(inject('tarball')).size / 1e3,
    'MB unpacked': megabytes(['node_modules/marketgate']),
    packages: all.size,
    MB: megabytes(all),
    'without it': withDependencies(['express', 'passport']).size,
  };

  const [, text = ''] =
    /<!-- size -->\n([\s\S]*?)<!-- \/size -->/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const told = [...text.matchAll(/\d+(?:\.\d+)?/g)]
    .map(Number)
    // "Express 5" is no measure.
    .filter((_number, index) => index !== 2);

  const wrong = Object.entries(measured).filter(
    ([, number], index) => Math.abs((told[index] ?? 0) - number) > number * TOLERANCE,
  );
  expect(wrong, `measured: ${JSON.stringify(measured)}`).toEqual([]);
  expect(told).toHaveLength(Object.keys(measured).length);
});
