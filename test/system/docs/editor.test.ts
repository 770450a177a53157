import ts from 'typescript';
import { expect, it } from 'vitest';
import { ROOT } from './support/pages.js';

/** What people type first. */
const FIRST = [
  ...['KeyApi', 'LoginApi', 'MarketplaceStrategy', 'requirePurchase', 'loadPurchase', 'loadItem'],
  ...['loadItems', 'requireLogin', 'errorHandler', 'checkPurchase', 'returnTo', 'createSandbox'],
];

it('an editor shows an example for what people type first, and no parameter that takes nothing', () => {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const entries = [`${ROOT}src/index.ts`, `${ROOT}src/sandbox/index.ts`];
  const program = ts.createProgram(entries, { ...options, noEmit: true });
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
