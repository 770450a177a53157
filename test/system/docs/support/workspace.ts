import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { inject } from 'vitest';
import { filesOf } from './blocks.js';
import { readPage } from './pages.js';

/** As NestJS needs them. */
export const DECORATORS = { experimentalDecorators: true, emitDecoratorMetadata: true };

/** Writes the files of a page into a folder next to the built package. Returns the folder. */
export function writePage(page: string, purpose: string): string {
  const folder = join(inject('builtPackage'), 'docs', purpose, page.replace(/\W+/g, '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of filesOf(readPage(page))) writeFileSync(join(folder, name), text);
  return folder;
}

/** The same with TypeScript turned into JavaScript, as files that `node` runs. */
export function writePrograms(page: string, purpose: string): string {
  const folder = writePage(page, purpose);
  for (const [name, text] of filesOf(readPage(page))) {
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
