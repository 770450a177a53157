import fc from 'fast-check';
import { it, vi } from 'vitest';
import { runSequence, sequences } from './fleet-model.js';
import { moveTimeByHand } from './support.js';

// `MODEL_SEED` and `MODEL_RUNS` draw other and more sequences.
const RUNS = Number(process.env.MODEL_RUNS ?? 300);
const SEED = Number(process.env.MODEL_SEED ?? 1);

moveTimeByHand();

it.each([
  ['whatever one fault happens to it', 1],
  ['within its bounds, with two faults at a time', 2],
] as const)(
  'a fleet keeps what section 2 of the contract promises, %s',
  async (_name, maxFaults) => {
    let elapsed = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
    const pass = async (milliseconds: number): Promise<void> => {
      elapsed += milliseconds;
      // No timer is for longer, and a day of short ones would take long.
      await vi.advanceTimersByTimeAsync(Math.min(milliseconds, 40_000));
    };
    await fc.assert(
      fc.asyncProperty(sequences, (steps) => runSequence(steps, maxFaults, pass)),
      {
        numRuns: RUNS,
        seed: SEED,
        endOnFailure: !process.env.MODEL_SHRINK,
        ...(process.env.MODEL_PATH && { path: process.env.MODEL_PATH }),
      },
    );
  },
  Math.max(600_000, RUNS * 300),
);
