import type { Target } from '../support/fuzz.js';
import { realAnswers } from '../support/real-answers.js';
import { keyApiAnswers, loginApiAnswers } from './client-answers.js';
import { codes } from './codes.js';
import { storeRows } from './store-rows.js';
import { strategyTargets } from './strategy.js';

/** Every target; the answers are asked of a sandbox first. */
export async function allTargets(): Promise<Target[]> {
  const real = await realAnswers();
  return [
    ...keyApiAnswers(real),
    ...loginApiAnswers(real),
    ...codes(real),
    ...strategyTargets(),
    ...storeRows(),
  ];
}
