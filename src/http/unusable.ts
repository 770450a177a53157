import type { Answer } from './http-client.js';

/** Statuses that say "not now", whatever the body says: too slow, too early, too many. */
const NOT_NOW = new Set([408, 425, 429]);

/** Whether the status alone forbids to take the body for a *no*. */
export const isNotNow = ({ status }: Answer): boolean => status >= 500 || NOT_NOW.has(status);

/**
 * What is wrong with an answer that cannot be used, in words for an error.
 * @param misshape where a payload that is there departs from the documented shape; free of secrets.
 */
export function describeUnusable(answer: Answer, misshape?: string): string {
  const { status, body } = answer;
  if (status === 429) return 'too many requests (HTTP 429); ask less often';
  if (isNotNow(answer)) return `the service failed (HTTP ${status}); try again later`;
  if (misshape !== undefined) return `the answer is not of the documented shape: ${misshape}`;
  const found = body.isJson ? 'JSON of another shape' : body.what;
  return `expected JSON as documented, got ${found} (HTTP ${status}); check the URL and what stands in front of the service`;
}
