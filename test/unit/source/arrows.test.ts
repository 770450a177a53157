import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

/** The floors of src, from the uppermost to the ground: each may use those below it in this list, and none above. */
const ORDER = `cli testing passport express sandbox check clients stores cache guess http web model
  lru.ts redact.ts site.ts html.ts seal.ts store-guard.ts diagnostics.ts deadline.ts options.ts
  errors.ts help.ts version.ts`.split(/\s+/);

const floorOf = (file: string): string => file.split(sep)[0] ?? '';

it('the arrows between the folders of src run one way', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
  const against: string[] = [];
  let seen = 0;
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const from = floorOf(file);
    // The entries at the top only list what is exported.
    if (from === file && !ORDER.includes(from)) continue;
    expect(ORDER).toContain(from);
    const text = readFileSync(join(SRC, file), 'utf8');
    // Also by `import()`, and for types alone.
    for (const [, path = ''] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g)) {
      const to = relative(SRC, join(SRC, dirname(file), `${path}.ts`));
      const floor = ORDER.indexOf(floorOf(to));
      if (floor !== -1 && floor < ORDER.indexOf(from)) against.push(`${file} -> ${to}`);
      seen++;
    }
  }
  expect(against).toEqual([]);
  expect(seen).toBeGreaterThan(files.length);
});
