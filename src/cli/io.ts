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
}

/** What the commands use of their process. */
export interface RunOptions {
  readonly io: Io;
  readonly environment: NodeJS.ProcessEnv;
  /** The working directory: its `.env` is read unless `--env` names another. */
  readonly cwd: string;
  /** Called before the sandbox starts. Resolves when the sandbox must stop. */
  readonly untilStopped: () => Promise<unknown>;
}

export const processIo: Io = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  read: () => text(process.stdin),
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

/** Reads the file that a flag names. An error is without its content, which can hold secrets. */
export function readFile<T>(flag: string, path: string, parse: (text: string) => T): T {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new CommandError(`${flag}: ${path} cannot be read (${code ?? name})`);
  }
}

/** Aligns the columns of some rows of plain text. */
export function table(rows: readonly (readonly string[])[]): string {
  const widthOf = (column: number): number =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map((row) =>
    row.map((cell, column) => printable(cell).padEnd(widthOf(column))),
  );
  return lines.map((cells) => cells.join('  ').trimEnd()).join('\n');
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
