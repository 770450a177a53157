import { inspect } from 'node:util';
import fc from 'fast-check';

/** Characters of an error and of an input that are shown. */
const LONGEST = 1000;

/** Cuts a text, after it has replaced repetitions, such as the brackets of a deeply nested list. */
function shorten(text: string): string {
  const short = text.replace(
    /(.{1,8}?)\1{19,}/gs,
    (all, part: string) => `${part}…(${all.length / part.length} times)`,
  );
  return short.length > LONGEST ? `${short.slice(0, LONGEST)}… (${text.length} characters)` : short;
}

/**
 * What a failed run of random cases reports: the cause first, then what repeats it, and then the smallest input that was
 * found.
 * @param command repeats the failed case.
 */
export function reportOf<Ts>(details: fc.RunDetails<Ts>, command?: string): string {
  const { errorInstance: error, seed, counterexamplePath: path, numRuns, counterexample } = details;
  // Such as too many inputs that do not apply.
  if (counterexample === null) return fc.defaultReportMessage(details) ?? '';
  return [
    shorten(error instanceof Error ? String(error) : inspect(error)),
    `seed ${seed}, path "${path}", after ${numRuns} cases`,
    ...(command === undefined ? [] : [command]),
    `Smallest input: ${shorten(fc.stringify(counterexample))}`,
  ].join('\n');
}
