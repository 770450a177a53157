import { describe, expect, it } from 'vitest';
import { blocksOf, filesOf, PROGRAM_LANGUAGES } from './support/blocks.js';
import { compile } from './support/compile.js';
import { PAGES, readPage } from './support/pages.js';
import { writePage } from './support/workspace.js';

const blocks = PAGES.flatMap((page) =>
  blocksOf(readPage(page)).map((block) => ({ ...block, page })),
);

/** Output and data, which are not run. */
const SHOWN: ReadonlySet<string> = new Set(['text', 'json', 'dockerfile', 'yaml', 'python', 'php']);

describe('the code blocks of the documentation', () => {
  it('are programs, commands, data or output', () => {
    const known = new Set([...PROGRAM_LANGUAGES, 'sh', ...SHOWN]);
    expect(blocks.filter(({ language }) => !known.has(language))).toEqual([]);
    expect(blocks.length).toBeGreaterThan(20);
  });

  it('are left out for a reason', () => {
    const leftOut = blocks.filter(({ notRun }) => notRun !== undefined);
    for (const { notRun } of leftOut) expect(notRun?.length).toBeGreaterThan(15);
  });

  it('that are JSON can be parsed', () => {
    for (const { language, text } of blocks) {
      if (language === 'json') expect(() => JSON.parse(text)).not.toThrow();
    }
  });

  it('compile against the package', { timeout: 120_000 }, () => {
    const folders = PAGES.filter((page) => filesOf(readPage(page)).size > 0).map((page) =>
      writePage(page, 'compile'),
    );
    expect(compile(folders)).toEqual([]);
  });
});

const fence = '```';

it.each([
  ['a block without a language', `${fence}\nx\n${fence}`],
  ['a block that does not end', `${fence}js\nx`],
  ['a comment with a typing mistake', `<!-- file a.js -->\n${fence}js\nx\n${fence}`],
  ['a comment without a block', '<!-- file: a.js -->\n\nText.'],
])('blocksOf refuses %s', (_what, page) => {
  expect(() => blocksOf(page)).toThrow(/^line 1|^line 3/);
});
