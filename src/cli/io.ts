import { text } from 'node:stream/consumers';
import pc from 'picocolors';

/** Input and output of a command. Tests replace it. */
export interface Io {
  /** Prints a line that the command was run for. */
  out(text: string): void;
  /** Prints a line about the command itself. */
  err(text: string): void;
  /** Reads stdin to its end. */
  read(): Promise<string>;
  /** Whether to use colors: not where the output goes into a file or a pipe. */
  readonly color: boolean;
}

export const processIo: Io = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  read: () => text(process.stdin),
  color: pc.isColorSupported && process.stdout.isTTY === true,
};

/** The command lacks what it needs, or was given what it does not know: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
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

/** Text of the service without the control characters that could move a terminal's cursor. */
export const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ');
