import pc from 'picocolors';

/** Where a command writes; replaced in tests. */
export interface Terminal {
  /** What the command was asked for. */
  out(text: string): void;
  /** What went wrong with it. */
  err(text: string): void;
  /** Whether colours are wanted: not when the output goes into a file or a pipe. */
  readonly color: boolean;
}

/** The terminal that the process was started in. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  color: pc.isColorSupported && process.stdout.isTTY === true,
};

/** picocolors, or nothing where no colours are wanted. */
export const colorsOf = ({ color }: Terminal): ReturnType<typeof pc.createColors> =>
  pc.createColors(color);

/** Rows with their columns under each other; the last column is left as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.slice(0, -1).forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Text that came from the service, made fit for a terminal: without the control characters that
 * could move its cursor.
 */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, ' ');
