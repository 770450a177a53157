import pc from 'picocolors';
import yoctoSpinner from 'yocto-spinner';

/** Where a command writes; replaced in tests. */
export interface Terminal {
  /** What the command was asked for. */
  out(text: string): void;
  /** What went wrong with it. */
  err(text: string): void;
  /** Whether colours are wanted: not when the output goes into a file or a pipe. */
  readonly color: boolean;
  /**
   * Shows that something takes time, until the function it gives is called. Absent where nobody watches: in a
   * pipe, in CI.
   */
  readonly spin?: (text: string) => () => void;
}

/** Whether a person looks at what these streams show. */
function isWatched({ CI, TERM }: NodeJS.ProcessEnv): boolean {
  return process.stdout.isTTY === true && process.stderr.isTTY === true && !CI && TERM !== 'dumb';
}

function spin(text: string): () => void {
  // On stderr: what the command was asked for stays clean.
  const spinner = yoctoSpinner({ text, stream: process.stderr }).start();
  return () => void spinner.stop();
}

/** The terminal that the process was started in. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  color: pc.isColorSupported && process.stdout.isTTY === true,
  ...(isWatched(process.env) && { spin }),
};

/** Does some work while the terminal shows that it is under way. */
export async function during<T>(
  { spin: start }: Terminal,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const stop = start?.(text);
  try {
    return await work();
  } finally {
    stop?.();
  }
}

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
