import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

/** The floors of src, from the uppermost to the ground: each may use those below it in this list, and none above. */
const ORDER = `cli testing passport express sandbox check clients stores cache guess http web model
  lru.ts redact.ts site.ts html.ts seal.ts store-guard.ts diagnostics.ts deadline.ts options.ts
  errors.ts help.ts version.ts`.split(/\s+/);

/** Each file of `src`, with those that it imports or exports from, also by `import()` and for types alone. */
const IMPORTS = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const text = readFileSync(join(SRC, name), 'utf8');
      const imports = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g)].map(
        ([, to = '']) => relative(SRC, join(SRC, dirname(name), `${to}.ts`)),
      );
      return [name, imports];
    }),
);
const floorOf = (file: string): string => file.split(sep)[0] ?? '';

describe('the arrows between the files of src', () => {
  it('run one way between the folders', () => {
    const against: string[] = [];
    for (const [file, imports] of IMPORTS) {
      const from = floorOf(file);
      // The entries at the top only list what is exported.
      if (from === file && !ORDER.includes(from)) continue;
      expect(ORDER).toContain(from);
      for (const to of imports) {
        const floor = ORDER.indexOf(floorOf(to));
        if (floor !== -1 && floor < ORDER.indexOf(from)) against.push(`${file} -> ${to}`);
      }
    }
    expect(against).toEqual([]);
    expect([...IMPORTS.values()].flat().length).toBeGreaterThan(IMPORTS.size);
  });

  it('make no circle', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const follow = (file: string, way: readonly string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' -> '));
      if (done.has(file) || way.includes(file)) return;
      for (const to of IMPORTS.get(file) ?? []) follow(to, [...way, file]);
      done.add(file);
    };
    for (const file of IMPORTS.keys()) follow(file, []);
    expect(circles).toEqual([]);
  });
});
