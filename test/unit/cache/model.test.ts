import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { runSequence, sequences } from '../../model/fleet-model.js';
import { MemoryBackend } from '../../model/memory-backend.js';
import { settle } from '../../support/key-api-service.js';
import { moveTimeByHand } from './support.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 500);

moveTimeByHand();

it.each([
  ['keeps the order of answers', true],
  ['keeps no order', false],
])(
  'a fleet keeps what the contract promises, whatever happens to it: a shared cache that %s',
  async (_name, isOrdered) => {
    await fc.assert(
      fc.asyncProperty(sequences, async (steps) => {
        let time = 1_800_000_000_000;
        const wait = async (milliseconds: number): Promise<void> => {
          time += milliseconds;
          // As long as anything waits that is to be done later; a day of it would take long.
          await vi.advanceTimersByTimeAsync(Math.min(milliseconds, 40_000));
        };
        await runSequence(steps, new MemoryBackend(() => time, isOrdered), settle, wait);
      }),
      // MODEL_SEED gives other sequences; a failure prints its seed.
      { numRuns: RUNS, seed: Number(process.env.MODEL_SEED ?? 1) },
    );
    expect(RUNS).toBeGreaterThan(0);
  },
  Math.max(600_000, RUNS * 300),
);
