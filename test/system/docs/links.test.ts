import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGES, ROOT, readPage } from './support/pages.js';

/** As GitHub makes an anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** The links of a page within the repository that lead nowhere. */
function deadLinks(path: string): string[] {
  const page = readPage(path);
  const links = [...page.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    });
}

const CONTRIBUTING = 'CONTRIBUTING.md';

it.each([...PAGES, CONTRIBUTING])('the links of %s lead somewhere', (path) => {
  expect(deadLinks(path)).toEqual([]);
});

it('a link that leads nowhere would be seen', () => {
  expect(anchorsOf('# What `it` is\n\n## Why, then?')).toEqual(['what-it-is', 'why-then']);
});

it('the README names the commands for a clone, and links to the notes for contributors', () => {
  const [start = ''] = readPage('README.md').split('## Protect a download');
  for (const part of ['Node 20', 'npm install && npm run demo', 'npm install && npm test']) {
    expect(start).toContain(part);
  }
  expect(start).toContain(`](${CONTRIBUTING})`);
});

describe('the notes for contributors', () => {
  const page = readPage(CONTRIBUTING);
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };

  it('name files, folders and scripts that exist', () => {
    const paths = [...page.matchAll(/\b(?:src|test|examples|\.ci)\/[\w./-]+\w/g)].map(
      ([path]) => path,
    );
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const run = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);
    expect(run.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('name folders and files of src by their names there', () => {
    const [, table = ''] = /## Where things are\n([\s\S]*?)\n## /.exec(page) ?? [];
    const names = [...table.matchAll(/`([\w.-]+\.ts)`/g)].map(([, name = '']) => name);
    const all = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => !all.some((path) => path.endsWith(name)))).toEqual([]);
  });
});
