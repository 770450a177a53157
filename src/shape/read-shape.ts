import { z } from 'zod';
import { type DriftReports, driftIsHeard } from '../diagnostics.js';
import { noteUnreadable } from '../model/fields.js';
import { checkerOf, freezerOf } from './checker.js';
import { deepFreeze, withoutProto } from './deep-freeze.js';
import { mend } from './mend.js';

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
  let read = mend(schema, value, at, (path, expected, kind = 'mended') =>
    seen.push([kind, path, expected]),
  );
  if (!isShaped(read)) {
    const left: Path[] = [];
    // The schema has the last word, and the words for what is wrong.
    let result = z.safeParse(schema, read);
    while (!result.success) {
      const { issues } = result.error;
      const gone: Path[] = [];
      for (const issue of issues) {
        const path = droppable(schema, issue.path);
        if (path === undefined) return { ok: false, problem: describe(issue, at) };
        gone.push(path);
        seen.push(['dropped', pathOf(path, at), expectedIn(issue)]);
      }
      read = without(read, gone);
      left.push(...gone);
      result = z.safeParse(schema, read);
    }
    for (const path of left) note(read, path);
    if (freezes) deepFreeze(read);
    else withoutProto(read);
  }
  if (driftIsHeard()) {
    const gone = new Set(seen.filter(([kind]) => kind === 'dropped').map(([, path]) => path));
    for (const [kind, path, expected] of seen) {
      // What was coerced first, and could not be read all the same, is only reported as left out.
      const isGone = kind === 'mended' && gone.has(path);
      if (!isGone) drift.report({ endpoint, kind, path, expected });
    }
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

/** A copy in which these parts are missing, made in one go; only what is on the way to them is copied. */
function without(value: unknown, paths: readonly Path[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const inner = new Map<string, Path[]>();
  for (const [key, ...rest] of paths) {
    const name = String(key);
    const others = inner.get(name);
    if (others === undefined) inner.set(name, [rest]);
    else others.push(rest);
  }
  const entries = Object.entries(value).flatMap(([key, each]): [string, unknown][] => {
    const rests = inner.get(key);
    if (rests === undefined) return [[key, each]];
    return rests.some((rest) => rest.length === 0) ? [] : [[key, without(each, rests)]];
  });
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
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
const describe = (issue: z.core.$ZodIssue, at: string): string =>
  `${pathOf(issue.path, at)}: ${complaint(issue)}`;

const complaint = ({ message }: z.core.$ZodIssue): string =>
  message.replace(/^Invalid input: /, '');

/** What a complaint says that was expected, in words. */
const expectedIn = (issue: z.core.$ZodIssue): string =>
  complaint(issue).split(', received ')[0] ?? '';

/** As in `items[3].price.regular`. Keys of open maps are not repeated. */
function pathOf(path: Path, at: string): string {
  const keys = path.filter((key) => key !== undefined).map(String);
  return `${at}${keys
    .map((key) => (/^\d+$/.test(key) ? `[${key}]` : /^[a-z_]{1,30}$/.test(key) ? `.${key}` : '.*'))
    .join('')}`;
}
