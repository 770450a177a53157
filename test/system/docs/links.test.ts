import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
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

it.each(PAGES)('the links of %s lead somewhere', (path) => {
  expect(deadLinks(path)).toEqual([]);
});

it('a link that leads nowhere would be seen', () => {
  expect(anchorsOf('# What `it` is\n\n## Why, then?')).toEqual(['what-it-is', 'why-then']);
});
