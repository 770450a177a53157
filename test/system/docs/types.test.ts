import { join } from 'node:path';
import ts from 'typescript';
import { beforeAll, expect, it } from 'vitest';
import { filesOf } from './support/blocks.js';
import { errorsIn, programOfFiles } from './support/compile.js';
import { PAGES, ROOT, readPage } from './support/pages.js';
import { writePage } from './support/workspace.js';

// One program for both tests: most of its time goes into reading the types of Node.
const entries = [`${ROOT}src/index.ts`, `${ROOT}src/sandbox/index.ts`];
let blocks: string[];
let program: ts.Program;

beforeAll(() => {
  blocks = PAGES.flatMap((page) => {
    const names = [...filesOf(readPage(page)).keys()].filter((name) => name.endsWith('.ts'));
    const folder = names.length > 0 ? writePage(page, 'compile') : '';
    return names.map((name) => join(folder, name));
  });
  program = programOfFiles([...entries, ...blocks]);
}, 300_000);

// Those in JavaScript are run, see programs.test.ts.
it('the code blocks in TypeScript compile against the package', { timeout: 300_000 }, () => {
  expect(blocks.length).toBeGreaterThan(5);
  expect(errorsIn(program, blocks)).toEqual([]);
});

/** What people type first. */
const FIRST = [
  ...['KeyApi', 'LoginApi', 'MarketplaceStrategy', 'requirePurchase', 'loadPurchase', 'loadItem'],
  ...['loadItems', 'requireLogin', 'errorHandler', 'checkPurchase', 'returnTo', 'createSandbox'],
];

it('an editor shows an example for what people type first, and no parameter that takes nothing', {
  timeout: 300_000,
}, () => {
  const checker = program.getTypeChecker();
  const lacking = new Set(FIRST);
  const odd: string[] = [];
  for (const entry of entries) {
    const source = program.getSourceFile(entry) as ts.SourceFile;
    const found = checker.getSymbolAtLocation(source) as ts.Symbol;
    for (const exported of checker.getExportsOfModule(found)) {
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
