import { isMarketgateError } from 'marketgate';
import type { Outcomes } from './commands.js';

export const noOutcomes = (): Outcomes => ({ yes: 0, no: 0, why: [] });

/** Runs one lookup, and takes in how it ended. */
export async function note(outcomes: Outcomes, lookUp: () => Promise<'yes' | 'no'>): Promise<void> {
  try {
    outcomes[await lookUp()]++;
  } catch (error) {
    if (outcomes.why.length < 3) outcomes.why.push(wordsFor(error));
  }
}

/** Takes several processes' outcomes together. */
export function sum(all: readonly Outcomes[]): Outcomes {
  const total = noOutcomes();
  for (const each of all) {
    total.yes += each.yes;
    total.no += each.no;
    total.why.push(...each.why);
  }
  return total;
}

export const wordsFor = (error: unknown): string =>
  isMarketgateError(error) ? `${error.code}: ${error.message}` : String(error);
