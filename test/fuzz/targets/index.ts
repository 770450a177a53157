import { realAnswers } from '../support/real-answers.js';
import type { Target } from '../support/target.js';
import { codesAndIds } from './codes-and-ids.js';
import { keyApiAnswers } from './key-api-answers.js';
import { loginApiAnswers } from './login-api-answers.js';
import { retryAfterTargets } from './retry-after.js';
import { storeRows } from './store-rows.js';
import { strategyTargets } from './strategy.js';

/** Every target; the answers are asked of a sandbox first. */
export async function allTargets(): Promise<Target[]> {
  const real = await realAnswers();
  return [
    ...keyApiAnswers(real),
    ...loginApiAnswers(real),
    ...retryAfterTargets(),
    ...codesAndIds(real),
    ...strategyTargets(),
    ...storeRows(real),
  ];
}
