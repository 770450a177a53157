import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { inject } from 'vitest';
import { filesOf } from './blocks.js';
import { ROOT, readPage } from './pages.js';

/** As NestJS needs them. */
export const DECORATORS = { experimentalDecorators: true, emitDecoratorMetadata: true };

/**
 * The programs of a page as they are run, by file name. In `test/system/docs/around/GUIDE`, `main.before.js` and
 * `main.after.js` are what a test puts around the `main.js` of that guide; any other name is a file of its own.
 */
export function programsOf(page: string): Map<string, string> {
  const files = filesOf(readPage(page));
  const folder = join(ROOT, 'test/system/docs/around', basename(page, '.md'));
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const text = readFileSync(join(folder, name), 'utf8');
    const [, stem, place, extension] = /^(.+)\.(before|after)(\.\w+)$/.exec(name) ?? [];
    const file = stem === undefined ? name : `${stem}${extension}`;
    const shown = files.get(file);
    if (stem !== undefined && shown === undefined) throw new Error(`${page} has no ${file}`);
    files.set(
      file,
      [place === 'after' ? shown : '', text, place === 'before' ? shown : ''].join('\n'),
    );
  }
  return files;
}

/** Writes the files of a page into a folder of their own. Returns that folder. */
export function writePage(page: string, parent: string): string {
  const folder = join(parent, page.replace(/\W+/g, '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of programsOf(page)) writeFileSync(join(folder, name), text);
  return folder;
}

/** The same next to the built package, with TypeScript turned into JavaScript, as files that `node` runs. */
export function writePrograms(page: string, purpose: string): string {
  const folder = writePage(page, join(inject('builtPackage'), 'docs', purpose));
  for (const [name, text] of programsOf(page)) {
    if (!name.endsWith('.ts')) continue;
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: {
        ...DECORATORS,
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
      },
    });
    writeFileSync(join(folder, programOf(name)), outputText);
  }
  return folder;
}

/** The file that is run for a file of a page. */
export const programOf = (file: string): string => file.replace(/\.ts$/, '.js');
