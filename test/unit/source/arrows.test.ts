import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

/** The floors of src, from the uppermost to the ground: each may use those below it in this list, and none above. */
const ORDER = `cli testing passport express sandbox check clients stores cache guess http web model
  lru.ts redact.ts site.ts html.ts seal.ts store-guard.ts diagnostics.ts deadline.ts options.ts
  errors.ts help.ts version.ts`.split(/\s+/);

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(SRC, name));
const nameOf = (path: string): string => relative(SRC, path).split(sep).join('/');

/** The files of `src` that one imports or exports from, also by `import()` and for types alone. */
function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, to = '']) =>
    join(dirname(path), to.replace(/\.js$/, '.ts')),
  );
}

const IMPORTS = new Map(FILES.map((path) => [path, importsOf(path)]));

describe('the arrows between the files of src', () => {
  it('lead to files of src, but for the shop that the demo starts', () => {
    const arrows = [...IMPORTS].flatMap(([path, imports]) => imports.map((to) => [path, to]));
    expect(arrows.length).toBeGreaterThan(FILES.length);
    const others = arrows.filter(([, to = '']) => !IMPORTS.has(to) && !to.endsWith('.json'));
    expect(others.map((arrow) => arrow.map(nameOf))).toEqual([
      ['cli/demo.ts', '../examples/shop/start.ts'],
    ]);
  });

  it('run one way between the folders', () => {
    const against: string[] = [];
    for (const [path, imports] of IMPORTS) {
      const [from = '', file] = nameOf(path).split('/');
      // The entries at the top only list what is exported.
      if (file === undefined && !ORDER.includes(from)) continue;
      expect(ORDER).toContain(from);
      for (const to of imports) {
        const [folder = ''] = nameOf(to).split('/');
        if (ORDER.includes(folder) && ORDER.indexOf(folder) < ORDER.indexOf(from)) {
          against.push(`${nameOf(path)} -> ${nameOf(to)}`);
        }
      }
    }
    expect(against).toEqual([]);
  });

  it('make no circle', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const follow = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) {
        circles.push([...way.slice(way.indexOf(path)), path].map(nameOf).join(' -> '));
        return;
      }
      if (done.has(path)) return;
      for (const to of IMPORTS.get(path) ?? []) follow(to, [...way, path]);
      done.add(path);
    };
    for (const path of FILES) follow(path, []);
    expect(circles).toEqual([]);
  });
});
