import fc from 'fast-check';
import { reportOf } from '../../support/random-cases.js';

/** Something that is given hostile input, and what must hold whatever it gets. */
export interface Target {
  /** Short, as `npm run fuzz -- --target` takes it. */
  readonly name: string;
  readonly what: string;
  /** Made anew for each batch, so that none shares a client with another. */
  readonly property: () => fc.IAsyncProperty<unknown[]>;
}

/** A target of a property, whose arguments are of no interest to who runs it. */
export const target = <Args extends unknown[]>(
  name: string,
  what: string,
  property: () => fc.IAsyncProperty<Args>,
): Target => ({ name, what, property: property as unknown as Target['property'] });

export interface Batch {
  readonly cases: number;
  /** What broke, how to repeat it, and the smallest input that was found; absent when nothing broke. */
  readonly failure?: string;
}

/** Runs one batch of a target. The seed repeats it exactly. */
export async function runBatch(
  { name, property }: Target,
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
    const command = `npm run fuzz -- --target ${name} --seed ${seed}`;
    if (details.failed) {
      const failure = reportOf(details, `${command} --path ${details.counterexamplePath}`);
      return { cases: details.numRuns, failure };
    }
    if (unhandled.length === 0) return { cases: details.numRuns };
    return {
      cases: details.numRuns,
      failure: `unhandled rejection: ${String(unhandled[0])}\n${command}`,
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}
