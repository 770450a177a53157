import ts from 'typescript';
import { ROOT } from './pages.js';
import { DECORATORS } from './workspace.js';

// In a folder with a dot, so that it is no part of the repository's own types.
const READERS_TYPES = `${ROOT}test/system/docs/.types/readers.d.ts`;

/** Some files as TypeScript reads them, with the options of the repository. */
export function programOfFiles(files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return ts.createProgram([...files, READERS_TYPES], { ...options, ...DECORATORS });
}

/** What TypeScript finds wrong with some files of a program, a line each. */
export function errorsIn(program: ts.Program, files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const name = file.slice(ROOT.length);
    const source = program.getSourceFile(file);
    if (source === undefined) return [`${name}: was not compiled`];
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ start = 0, messageText }) => {
      const { line } = ts.getLineAndCharacterOfPosition(source, start);
      return `${name}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}
