import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** Input and output of a command. */
export interface Io {
  /** Prints a line of the command's result to stdout. */
  out(text: string): void;
  /** Prints a warning or an error to stderr. */
  err(text: string): void;
  /** Reads stdin to its end. */
  read(): Promise<string>;
  /** How wide the terminal is; without one, lines are not broken. */
  readonly columns?: number | undefined;
}

/** What the commands use of their process. */
export interface RunOptions {
  readonly io: Io;
  readonly environment: NodeJS.ProcessEnv;
  /** The command that runs `marketgate` here, as in "npx marketgate". */
  readonly self: string;
  /** The working directory: its `.env` is read unless `--env` names another. */
  readonly cwd: string;
  /** Called before the sandbox starts. Resolves when the sandbox must stop. */
  readonly untilStopped: () => Promise<unknown>;
}

/** The flags that were given, by their names. */
export type Values = Readonly<Record<string, string | boolean | string[] | undefined>>;

/** A command of `marketgate`. */
export interface Command {
  readonly about: string;
  /** Flags that stand for it when they come first. */
  readonly aliases?: readonly string[];
  /** As help says them: `<name>` is required, `[name]` is not, and `...` is several. */
  readonly takes?: string;
  /** What each flag is about, by its name as help says it: `url <url>` has a value, `fault <switch...>` several. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Printed at the end of its help. */
  readonly more?: string;
  /** What it resolves to is the exit code, if it is a number; otherwise that is 0. */
  readonly run: (values: Values, given: readonly string[]) => unknown;
}

/** All commands, by their names: one word, or two for what another has. */
export type Commands = Readonly<Record<string, Command>>;

export const processIo: Io = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  read: () => text(process.stdin),
  get columns() {
    // 0 where nobody has said how wide it is, as in docker -t.
    return process.stdout.columns || undefined;
  },
};

/** A command cannot do what was asked, or a check failed. The message is for the user, and holds no secret. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode = 2,
  ) {
    super(message);
  }
}

/** Reads the file that a flag names: UTF-8, whatever wrote it. An error is without its content, which can hold secrets. */
export function readFile<T>(flag: string, path: string, parse: (text: string) => T): T {
  const refuse = (problem: string) => new CommandError(`${flag}: ${path} ${problem}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw refuse(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  // Windows PowerShell writes UTF-16, which Node's own --env-file does not read either. No text has a NUL.
  if (bytes.includes(0)) throw refuse('is UTF-16, or no text; save it as UTF-8');
  try {
    // A byte order mark is left out.
    return parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const { name } = error as Error;
    throw refuse(name === 'SyntaxError' ? 'is not JSON' : 'is not UTF-8; save it as UTF-8');
  }
}

/** What is wrong with a file of variables that begins with a byte order mark, as some editors on Windows write it. */
export const markProblem = (path: string): string | undefined =>
  readFileSync(path, 'utf8').startsWith('\uFEFF')
    ? 'begins with a byte order mark, so node --env-file misses its first line; save it as UTF-8 without one'
    : undefined;

/** Breaks the lines of a paragraph at blanks, so that they fit. Those after the first begin with `indent`. */
export function wrap(paragraph: string, columns = Number.POSITIVE_INFINITY, indent = ''): string {
  let line = '';
  const lines: string[] = [];
  for (const word of paragraph.split(/\s+/)) {
    if (line.trim() !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = indent + word;
    } else line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}

/** Aligns the columns of some rows of plain text; the last one is broken to fit the terminal. */
export function table(rows: readonly (readonly string[])[], columns?: number): string {
  const shown = rows.map((row) => row.map(printable));
  const widths = (shown[0] ?? []).map((_, column) =>
    Math.max(...shown.map((row) => row[column]?.length ?? 0)),
  );
  const lines = shown.map((row) => {
    const last = row.length - 1;
    const head = row.slice(0, last).map((cell, column) => `${cell.padEnd(widths[column] ?? 0)}  `);
    const start = head.join('').length;
    // Where there is no room beside them, a terminal breaks lines better.
    const width = columns !== undefined && columns - start >= 24 ? columns - start : undefined;
    const text = wrap(row[last] ?? '', width).replaceAll('\n', `\n${' '.repeat(start)}`);
    return (head.join('') + text).trimEnd();
  });
  return lines.join('\n');
}

/** Replaces control characters, with which text from elsewhere could move a terminal's cursor. */
export const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ');

/** A value as indented JSON. `JSON.stringify` leaves some control characters as they are. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
