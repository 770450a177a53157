import { rmSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { filesOf } from '../system/docs/support/blocks.js';
import { PAGES, ROOT, readPage } from '../system/docs/support/pages.js';
import { DECORATORS, writePage } from '../system/docs/support/workspace.js';

// In a folder with a dot, so that it is no part of the repository's own types.
const READERS_TYPES = `${ROOT}test/check/.readers/readers.d.ts`;
const FOLDER = join(ROOT, `test/.built/${process.pid}`);
const ENTRIES = [`${ROOT}src/index.ts`, `${ROOT}src/sandbox/index.ts`];

let blocks: string[];
let program: ts.Program;

beforeAll(() => {
  blocks = PAGES.flatMap((page) => {
    const names = [...filesOf(readPage(page)).keys()].filter((name) => name.endsWith('.ts'));
    const folder = names.length > 0 ? writePage(page, FOLDER) : '';
    return names.map((name) => join(folder, name));
  });
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const files = [...ENTRIES, ...blocks, READERS_TYPES];
  program = ts.createProgram(files, { ...options, ...DECORATORS });
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** What TypeScript finds wrong with a file, a line each. */
function errorsIn(file: string): string[] {
  const source = program.getSourceFile(file) as ts.SourceFile;
  return ts.getPreEmitDiagnostics(program, source).map(({ start = 0, messageText }) => {
    const { line } = ts.getLineAndCharacterOfPosition(source, start);
    return `${file}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

// Those in JavaScript are run, see test/system/docs/programs.test.ts.
it('the code blocks in TypeScript compile against the package', () => {
  expect(blocks.length).toBeGreaterThan(5);
  expect(blocks.flatMap(errorsIn)).toEqual([]);
});

/** What people type first. */
const FIRST = [
  ...['KeyApi', 'LoginApi', 'MarketplaceStrategy', 'requirePurchase', 'loadPurchase', 'loadItem'],
  ...['loadItems', 'requireLogin', 'errorHandler', 'checkPurchase', 'returnTo', 'createSandbox'],
];

it('an editor shows an example for what people type first, and no parameter that takes nothing', () => {
  const checker = program.getTypeChecker();
  const lacking = new Set(FIRST);
  const odd: string[] = [];
  for (const entry of ENTRIES) {
    const found = checker.getSymbolAtLocation(program.getSourceFile(entry) as ts.SourceFile);
    for (const exported of checker.getExportsOfModule(found as ts.Symbol)) {
      const isAlias = exported.flags & ts.SymbolFlags.Alias;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const type = checker.getTypeOfSymbol(symbol);
      for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
        if (/never\[\]/.test(checker.signatureToString(signature))) odd.push(exported.name);
        const tags = signature.getJsDocTags().map(({ name }) => name);
        if (tags.includes('example')) lacking.delete(exported.name);
      }
    }
  }
  expect({ lacking: [...lacking], odd }).toEqual({ lacking: [], odd: [] });
});
