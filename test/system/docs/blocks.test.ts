import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { blocksOf, filesOf, PROGRAM_LANGUAGES } from './support/blocks.js';
import { PAGES, ROOT, readPage } from './support/pages.js';

const blocks = PAGES.flatMap((page) =>
  blocksOf(readPage(page)).map((block) => ({ ...block, page })),
);

/** Output and data, which are not run. */
const SHOWN = ['text', 'json', 'dockerfile', 'yaml', 'python', 'php', 'sql'];

describe('the code blocks of the documentation', () => {
  it('are programs, commands, data or output', () => {
    const known = new Set([...PROGRAM_LANGUAGES, 'sh', ...SHOWN]);
    expect(blocks.filter(({ language }) => !known.has(language))).toEqual([]);
    expect(blocks.length).toBeGreaterThan(20);
  });

  it('are left out for a reason, and can be parsed all the same', () => {
    for (const { notRun, language, text, page, line } of blocks) {
      if (language === 'json') expect(() => JSON.parse(text), page).not.toThrow();
      if (notRun === undefined) continue;
      expect(notRun.length).toBeGreaterThan(15);
      if (!PROGRAM_LANGUAGES.has(language)) continue;
      const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
      expect(diagnostics.map(({ messageText }) => [page, line, messageText])).toEqual([]);
    }
  });

  it('that have sessions, as the examples, keep other sites from sending with them', () => {
    const programs = new Map<string, string>(
      PAGES.flatMap((page) =>
        [...filesOf(readPage(page))].map(([file, text]) => [`${page}: ${file}`, text] as const),
      ),
    );
    for (const file of readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' })) {
      if (/\.[jt]s$/.test(file)) programs.set(file, readPage(`examples/${file}`));
    }
    const count = (text: string, what: RegExp) => text.match(what)?.length ?? 0;
    const withSessions = [...programs].filter(([, text]) => /\bsession\(\{/.test(text));
    expect(withSessions.length).toBeGreaterThan(8);
    for (const [name, text] of withSessions) {
      expect(count(text, /sameSite: 'lax'/g), name).toBe(count(text, /\bsession\(\{/g));
    }
  });
});
