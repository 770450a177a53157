import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import pc from 'picocolors';

/** Input and output of a command. */
export interface Io {
  /** Prints a line of the command's result to stdout. */
  out(text: string): void;
  /** Prints a warning or an error to stderr. */
  err(text: string): void;
  /** Reads stdin to its end. */
  read(): Promise<string>;
  /** Whether to use colors. False when the output goes to a file or a pipe. */
  readonly color: boolean;
}

export const processIo: Io = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  read: () => text(process.stdin),
  color: pc.isColorSupported && process.stdout.isTTY === true,
};

/** A setting is missing, or an argument is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Reads the file that a flag names. An error is without its content, which can hold secrets. */
export function readFile<T>(flag: string, path: string, parse: (text: string) => T): T {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new UsageError(`${flag}: ${path} cannot be read (${code ?? name})`);
  }
}

export const colorsOf = ({ color }: Io): ReturnType<typeof pc.createColors> =>
  pc.createColors(color);

/** Aligns the columns of some rows; the last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widthOf = (column: number): number =>
    Math.max(...rows.map((row) => (column < row.length - 1 ? (row[column]?.length ?? 0) : 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widthOf(column)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Replaces control characters, with which text of the service could move a terminal's cursor. */
export const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ');
