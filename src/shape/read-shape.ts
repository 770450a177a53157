import type { z } from 'zod';
import { driftIsHeard, reportDrift } from '../diagnostics/drift.js';
import { mend } from './mend.js';

/** A value of the documented shape, or where it departs from it. */
export type Shaped<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads `value` as what `schema` documents. A value that has the shape is returned as it is, unknown
 * fields and all; one with harmless drift as a mended copy, which is reported.
 *
 * @param at where the value stands in the answer, as in `data.purchase`.
 */
export function readShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  endpoint: string,
  at: string,
): Shaped<T> {
  if (schema.safeParse(value).success) return { ok: true, value: value as T };
  const seen: [path: string, expected: string][] = [];
  const mended = mend(schema, value, at, (path, expected) => seen.push([path, expected]));
  const result = schema.safeParse(mended);
  if (!result.success) return { ok: false, problem: describe(result.error, at) };
  if (driftIsHeard()) {
    for (const [path, expected] of seen) reportDrift({ endpoint, kind: 'mended', path, expected });
  }
  return { ok: true, value: mended as T };
}

/** The first complaint, with its path and without the value. Keys of open maps are not repeated. */
function describe(error: z.ZodError, at: string): string {
  const [issue] = error.issues;
  if (issue === undefined) return at;
  const keys = issue.path.filter((key) => key !== undefined).map(String);
  const path = keys
    .map((key) => (/^\d+$/.test(key) ? `[${key}]` : /^[a-z_]{1,30}$/.test(key) ? `.${key}` : '.*'))
    .join('');
  return `${at}${path}: ${issue.message.replace(/^Invalid input: /, '')}`;
}
