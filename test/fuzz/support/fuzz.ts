import fc from 'fast-check';
import type { Target } from './target.js';

/** What a batch of one target came to. */
export interface Batch {
  readonly cases: number;
  /** What broke, with the smallest input that was found; absent when nothing did. */
  readonly failure?: string;
}

/** Runs one batch of a target. The seed repeats it exactly. */
export async function runBatch(
  { property }: Target,
  { seed, cases, path }: { seed: number; cases: number; path?: string | undefined },
): Promise<Batch> {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  try {
    const details = await fc.check(property(), {
      seed,
      numRuns: cases,
      ...(path !== undefined && { path }),
      // Shrinking may take long; what it has found by then is small enough to read.
      interruptAfterTimeLimit: 10 * 60_000,
    });
    // Rejections that nobody handles are told of in a later turn.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    if (details.failed) return { cases: details.numRuns, failure: reportOf(details) };
    if (unhandled.length === 0) return { cases: details.numRuns };
    return { cases: details.numRuns, failure: `unhandled rejection: ${String(unhandled[0])}` };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

function reportOf(details: fc.RunDetails<unknown[]>): string {
  const stack = details.errorInstance instanceof Error ? (details.errorInstance.stack ?? '') : '';
  return [
    `seed ${details.seed}, path "${details.counterexamplePath ?? ''}"`,
    `counterexample: ${fc.stringify(details.counterexample).slice(0, 1500)}`,
    stack.slice(0, 1500),
  ].join('\n');
}
