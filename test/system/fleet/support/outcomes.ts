import { isMarketgateError } from 'marketgate';
import { type LoadOutcomes, machineTime, type Outcomes } from './commands.js';

export const noOutcomes = (): Outcomes => ({
  requests: 0,
  yes: 0,
  no: 0,
  failed: 0,
  why: [],
  slowest: 0,
});

/** Runs one lookup, and takes in how it ended. */
export async function note(outcomes: Outcomes, lookUp: () => Promise<'yes' | 'no'>): Promise<void> {
  const begun = machineTime();
  try {
    outcomes[await lookUp()]++;
  } catch (error) {
    outcomes.failed++;
    if (outcomes.why.length < 3) outcomes.why.push(wordsFor(error));
  }
  outcomes.requests++;
  outcomes.slowest = Math.max(outcomes.slowest, machineTime() - begun);
}

/** Takes several processes' outcomes together. */
export function sum(all: readonly Outcomes[]): Outcomes {
  const total = noOutcomes();
  for (const each of all) {
    total.requests += each.requests;
    total.yes += each.yes;
    total.no += each.no;
    total.failed += each.failed;
    total.why.push(...each.why);
    total.slowest = Math.max(total.slowest, each.slowest);
  }
  return total;
}

/** Takes several processes' calls about tokens together. */
export function sumTokens(all: readonly LoadOutcomes[]): LoadOutcomes['tokens'] {
  const total = { found: 0, missing: 0, refused: 0, other: 0, slowest: 0 };
  for (const { tokens } of all) {
    for (const name of ['found', 'missing', 'refused', 'other'] as const) {
      total[name] += tokens[name];
    }
    total.slowest = Math.max(total.slowest, tokens.slowest);
  }
  return total;
}

export const wordsFor = (error: unknown): string =>
  isMarketgateError(error) ? `${error.code}: ${error.message}` : String(error);
