import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string) => new URL(`../../../${path}`, import.meta.url);

it('the tests that the tables of SECURITY.md name exist', () => {
  const paths = readdirSync(read('test'), { recursive: true, encoding: 'utf8' });
  const tests = paths.map((path) => `/${path.replaceAll('\\', '/')}`);
  const rows = readFileSync(read('SECURITY.md'), 'utf8').match(/^\|.*\|$/gm) ?? [];
  const names = rows.flatMap((row) => {
    const [cell = ''] = /[^|]*\|$/.exec(row) ?? [];
    return [...cell.matchAll(/`([\w/.-]+)`/g)].map(([, name = '']) => name);
  });
  const exists = (name: string) => {
    const end = `/${name.replace(/^test\/|\.test\.ts$/g, '')}`;
    return tests.some((path) => path.endsWith(end) || path.endsWith(`${end}.test.ts`));
  };
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !exists(name))).toEqual([]);
});
