import { z } from 'zod';
import { type DriftReports, driftIsHeard } from '../diagnostics/drift.js';
import { checkerOf, freezerOf } from './checker.js';
import { deepFreeze, withoutProto } from './deep-freeze.js';
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
 * @param drift who tells of what was mended.
 * @param freezes whether the value is to be frozen, with all that is in it. One that is not of the
 * shape can be frozen in parts.
 */
export function readShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  endpoint: string,
  at: string,
  drift: DriftReports,
  freezes = false,
): Shaped<T> {
  const isShaped = freezes ? freezerOf(schema) : checkerOf(schema);
  if (isShaped(value)) return { ok: true, value: value as T };
  const seen: [path: string, expected: string][] = [];
  const mended = mend(schema, value, at, (path, expected) => seen.push([path, expected]));
  if (!isShaped(mended)) {
    // The schema has the last word, and the words for what is wrong.
    const result = z.safeParse(schema, mended);
    if (!result.success) return { ok: false, problem: describe(result.error, at) };
    if (freezes) deepFreeze(mended);
    else withoutProto(mended);
  }
  if (driftIsHeard()) {
    for (const [path, expected] of seen) drift.report({ endpoint, kind: 'mended', path, expected });
  }
  return { ok: true, value: mended as T };
}

/** The first complaint, with its path and without the value. Keys of open maps are not repeated. */
function describe(error: z.core.$ZodError, at: string): string {
  const [issue] = error.issues;
  if (issue === undefined) return at;
  const keys = issue.path.filter((key) => key !== undefined).map(String);
  const path = keys
    .map((key) => (/^\d+$/.test(key) ? `[${key}]` : /^[a-z_]{1,30}$/.test(key) ? `.${key}` : '.*'))
    .join('');
  return `${at}${path}: ${issue.message.replace(/^Invalid input: /, '')}`;
}
