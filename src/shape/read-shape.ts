import { z } from 'zod';
import { type DriftReports, driftIsHeard } from '../diagnostics/drift.js';
import { checkerOf, freezerOf } from './checker.js';
import { deepFreeze, withoutProto } from './deep-freeze.js';
import { mend } from './mend.js';
import { noteUnreadable } from './unreadable.js';

/** A value of the documented shape, or where it departs from it. */
export type Shaped<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

type Path = readonly PropertyKey[];

/**
 * Reads `value` as what `schema` documents. A value that has the shape is returned as it is, unknown
 * fields and all; one with harmless drift as a copy in the documented shape; optional fields that cannot
 * be read are left out. Both are reported.
 *
 * @param at where the value stands in the answer, as in `data.purchase`.
 * @param drift who tells of what was coerced or left out.
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
  const seen: [kind: 'mended' | 'dropped', path: string, expected: string][] = [];
  let read = mend(schema, value, at, (path, expected) => seen.push(['mended', path, expected]));
  if (!isShaped(read)) {
    const left: Path[] = [];
    // The schema has the last word, and the words for what is wrong.
    let result = z.safeParse(schema, read);
    while (!result.success) {
      const { issues } = result.error;
      const dropped = issues.map((issue) => droppable(schema, issue.path));
      const broken = dropped.indexOf(undefined);
      if (broken >= 0) return { ok: false, problem: describe(issues[broken], at) };
      // From the back, so that the numbers of a list's elements stay right.
      for (const [i, path] of [...dropped.entries()].reverse()) {
        if (path === undefined) continue;
        read = without(read, path);
        left.push(path);
        const problem = describe(issues[i], at);
        const [expected = ''] = problem.slice(problem.indexOf(': ') + 2).split(', received ');
        seen.push(['dropped', pathOf(path, at), expected]);
      }
      result = z.safeParse(schema, read);
    }
    for (const path of left) note(read, path);
    if (freezes) deepFreeze(read);
    else withoutProto(read);
  }
  if (driftIsHeard()) {
    for (const [kind, path, expected] of seen) drift.report({ endpoint, kind, path, expected });
  }
  return { ok: true, value: read as T };
}

/** The innermost part on the way to a broken value that may be left out. */
function droppable(schema: z.core.$ZodType, path: Path): Path | undefined {
  let found: Path | undefined;
  let at: z.core.$ZodType | undefined = schema;
  for (const [i, key] of path.entries()) {
    while (at instanceof z.ZodOptional) at = at.unwrap();
    let inner: z.core.$ZodType | undefined;
    if (at instanceof z.ZodObject) inner = at.shape[String(key)];
    else if (at instanceof z.ZodRecord) inner = at.valueType as z.core.$ZodType;
    else if (at instanceof z.ZodArray) inner = at.element as z.core.$ZodType;
    const mayGo = inner instanceof z.ZodOptional || !(at instanceof z.ZodObject);
    if (inner !== undefined && mayGo) found = path.slice(0, i + 1);
    at = inner;
  }
  return found;
}

/** A copy in which one part is missing; only what is on the way to it is copied. */
function without(value: unknown, [key, ...rest]: Path): unknown {
  if (typeof value !== 'object' || value === null || key === undefined) return value;
  if (Array.isArray(value)) {
    const index = Number(key);
    return rest.length === 0
      ? value.toSpliced(index, 1)
      : value.with(index, without(value[index], rest));
  }
  const copy: Record<PropertyKey, unknown> = { ...value };
  if (rest.length === 0) delete copy[key];
  else copy[key] = without(copy[key], rest);
  return copy;
}

/** Remembers which field of which object was left out. */
function note(value: unknown, path: Path): void {
  let parent = value;
  for (const key of path.slice(0, -1)) parent = Reflect.get(Object(parent), key);
  const field = path.at(-1);
  if (typeof parent === 'object' && parent !== null && typeof field === 'string') {
    noteUnreadable(parent, field);
  }
}

/** A complaint, with its path and without the value. */
function describe(issue: z.core.$ZodIssue | undefined, at: string): string {
  if (issue === undefined) return at;
  return `${pathOf(issue.path, at)}: ${issue.message.replace(/^Invalid input: /, '')}`;
}

/** As in `items[3].price.regular`. Keys of open maps are not repeated. */
function pathOf(path: Path, at: string): string {
  const keys = path.filter((key) => key !== undefined).map(String);
  return `${at}${keys
    .map((key) => (/^\d+$/.test(key) ? `[${key}]` : /^[a-z_]{1,30}$/.test(key) ? `.${key}` : '.*'))
    .join('')}`;
}
