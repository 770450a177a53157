import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './pages.js';
import { DECORATORS } from './workspace.js';

// In a folder with a dot, so that it is no part of the repository's own types.
const READERS_TYPES = join(ROOT, 'test/system/docs/.types/readers.d.ts');

/** What TypeScript finds wrong with the files of some folders, a line each. */
export function compile(folders: readonly string[]): string[] {
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /\.([cm]?js|ts)$/.test(name))
      .map((name) => join(folder, name)),
  );
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const options = { ...parsed.options, ...DECORATORS };
  const host = sharingHost(options);
  const isTypeScript = (file: string): boolean => file.endsWith('.ts');
  return [
    ...problemsOf(files.filter(isTypeScript), options, host),
    // As an editor checks JavaScript: names, arguments and properties, but not what could be undefined.
    ...problemsOf(
      files.filter((file) => !isTypeScript(file)),
      // With the DOM's types a `fetch` gives `any`, as it does for most who write JavaScript.
      {
        ...options,
        allowJs: true,
        checkJs: true,
        strict: false,
        lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
      },
      host,
    ),
  ];
}

/** Parses each file once, for all programs. */
function sharingHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const parsed = new Map<string, ts.SourceFile | undefined>();
  return {
    ...host,
    getSourceFile(name, ...rest) {
      if (!parsed.has(name)) parsed.set(name, host.getSourceFile(name, ...rest));
      return parsed.get(name);
    },
  };
}

function problemsOf(
  files: readonly string[],
  options: ts.CompilerOptions,
  host: ts.CompilerHost,
): string[] {
  const program = ts.createProgram([...files, READERS_TYPES], options, host);
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
