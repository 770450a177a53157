import { z } from 'zod';
import type { DriftMessage } from '../diagnostics.js';

/**
 * The fields that schemas of this folder are made of. Each takes what is documented as it is, and reads
 * the harmless drift of real deployments:
 *
 * | sent | where this is documented | read as |
 * |---|---|---|
 * | `null` | an optional field | absent |
 * | a number | text | its digits; of an id only a safe integer, or two people would become one |
 * | a boolean | a flag as text | `"1"` or `"0"` |
 * | `""`, `"0000-00-00 …"` | a timestamp | absent |
 * | digits in a string | a number | the number; of an id only digits |
 * | `0`, `1`, `"0"`, `"1"`, `"true"`, `"false"` | a boolean | the boolean |
 * | `"a,b,c"`, `{"0": a, "1": b}` | a list | its elements |
 * | `null`, `[]` or nothing | an object | an object with nothing in it (PHP's empty map is `[]`) |
 *
 * An optional field, or an element of a list, that cannot be read is left out; an object that is always
 * there is read as an empty one. A required field that cannot be read makes the answer unusable.
 */

/** In place of a field that was not as documented, until {@link parse} puts the value there. */
class Drift {
  constructor(
    readonly kind: DriftMessage['kind'],
    readonly expected: string,
    /** `undefined`: absent. */
    readonly value: unknown,
  ) {}
}

type Coerce = (sent: unknown) => unknown;

/** @param required whether an answer without it is unusable. */
function field<T>(
  expected: string,
  schema: z.ZodType<T>,
  coerce: Coerce,
  required = false,
): z.ZodType<T> {
  const coerced = z.transform((sent: unknown, { addIssue }) => {
    if (sent === undefined && !required) return undefined;
    const value = sent === null ? undefined : coerce(sent);
    if (value === undefined && !required) return new Drift('mended', expected, undefined);
    const read = schema.safeParse(value);
    if (read.success) return new Drift('mended', expected, read.data);
    if (required) addIssue(expected);
    return new Drift('dropped', expected, undefined);
  });
  return z.union([schema, coerced], { error: expected }) as unknown as z.ZodType<T>;
}

const asText: Coerce = (sent) => (Number.isFinite(sent) ? String(sent) : sent);
const asIdText: Coerce = (sent) => (Number.isSafeInteger(sent) ? String(sent) : sent);

export const text = field('string', z.string(), asText);
export const url = text.meta({ format: 'uri' });
export const requiredText = field('string', z.string(), asIdText, true);
/** An id that is documented as text, or a secret: one that is empty is none. */
export const textId = field('string', z.string().min(1, 'string'), asIdText, true);

/** A flag that is documented as text, "1" or "0". */
export const flagText = field('string', z.string(), (sent) =>
  typeof sent === 'boolean' ? String(Number(sent)) : asText(sent),
);

const numberLike =
  (form: RegExp): Coerce =>
  (sent) =>
    typeof sent === 'string' && form.test(sent) ? Number(sent) : sent;

export const number = field('number', z.number(), numberLike(/^\s*-?\d+(\.\d+)?\s*$/));
/** An id that is documented as a whole number. */
export const numberId = field('integer', z.int('integer'), numberLike(/^\d+$/), true);

const BOOLEANS: Readonly<Record<string, boolean>> = { 0: false, 1: true, false: false, true: true };

export const boolean = field('boolean', z.boolean(), (sent) =>
  typeof sent === 'number' || typeof sent === 'string'
    ? (BOOLEANS[String(sent).toLowerCase()] ?? sent)
    : sent,
);

const orNoDate: Coerce = (sent) =>
  sent === '' || (typeof sent === 'string' && sent.trimStart().startsWith('0000-00-00'))
    ? undefined
    : sent;

/** ISO 8601. */
export const timestamp = field(
  'timestamp',
  z.string().refine((sent) => parseTimestamp(sent) !== undefined),
  orNoDate,
).meta({ format: 'date-time' });
/** A day, or empty where the user gave none. */
export const dateOrEmpty = field(
  'date',
  z.string().refine((sent) => sent === '' || parseTimestamp(sent) !== undefined),
  orNoDate,
);

/** Whether it is an object whose names are numbers: what PHP writes for a list with gaps in it. */
export const isNumbered = (sent: unknown): sent is Readonly<Record<string, unknown>> =>
  isObject(sent) && Object.keys(sent).every((key) => /^\d+$/.test(key));

export const texts = field('list', z.array(text), (sent) => {
  if (typeof sent === 'string') {
    const parts = sent.split(',').map((part) => part.trim());
    return parts.filter((part) => part !== '');
  }
  return isNumbered(sent) ? Object.values(sent) : sent;
});

const orEmpty: Coerce = (sent) => (isEmptyMap(sent) ? {} : sent);
/** What PHP writes for an empty map. */
const isEmptyMap = (sent: unknown): boolean => Array.isArray(sent) && sent.length === 0;

export const textByName = field('object', z.record(z.string(), text), orEmpty);

/** A schema for each field of a documented type. */
type Fields<T> = { readonly [K in keyof T]-?: z.ZodType<NonNullable<T[K]>> };

/** A whole record: an answer without it is unusable. Fields that nobody documents are kept. */
export const record = <T>(fields: Fields<T>): z.ZodType<T> =>
  z.looseObject(fields, { error: 'object' }) as unknown as z.ZodType<T>;

/** An object inside a record, that can be absent. */
export const optionalPart = <T>(fields: Fields<T>): z.ZodType<T> =>
  field('object', record(fields), orEmpty);

/** An object inside a record, that is always there; nothing in it is required. */
export function part<T>(fields: Fields<T>): z.ZodType<T> {
  const schema = record(fields);
  const made = z.transform((sent: unknown) => {
    const isNothing = sent === undefined || sent === null || isEmptyMap(sent);
    return new Drift(isNothing ? 'mended' : 'dropped', 'object', schema.parse({}));
  });
  return z.union([schema, made]) as unknown as z.ZodType<T>;
}

/** Whether a value of JSON is an object: not a list, not null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value of the documented shape, or where it departs from it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly path: string; readonly expected: string };

/** In words, for an error: the place and what was expected there, and never the value. */
export const problemOf = ({ path, expected }: { path: string; expected: string }): string =>
  `${path}: expected ${expected}`;

/** Whether a value is exactly as documented: nothing in it would be coerced. */
export function isDocumented(schema: z.ZodType, value: unknown): boolean {
  let drifts = 0;
  return parse(schema, value, '', () => drifts++).ok && drifts === 0;
}

/** Called for each place that was coerced or left out. */
export type OnDrift = (drift: Omit<DriftMessage, 'endpoint'>) => void;

/**
 * Reads `sent` as what `schema` documents, into a copy.
 * @param at where it stands in the answer, as in `data.purchase`.
 */
export function parse<T>(
  schema: z.ZodType<T>,
  sent: unknown,
  at: string,
  onDrift: OnDrift,
): Parsed<T> {
  const read = schema.safeParse(sent);
  if (read.success) {
    settle(read.data, at, onDrift);
    return { ok: true, value: read.data };
  }
  const [issue] = read.error.issues;
  const path = (issue?.path ?? []).reduce<string>((way, key) => placeIn(way, String(key)), at);
  return { ok: false, path, expected: issue?.message ?? 'object' };
}

/** An object inside a value, and the way to it. */
interface Place {
  readonly object: object;
  readonly key: string;
  readonly parent: Place | undefined;
}

/** As in `items[3].price.regular`. Keys of open maps are not repeated. */
function placeIn(path: string, key: string): string {
  if (/^\d+$/.test(key)) return `${path}[${key}]`;
  return `${path}.${/^[a-z_]{1,30}$/.test(key) ? key : '*'}`;
}

const pathOf = ({ key, parent }: Place): string =>
  parent === undefined ? key : placeIn(pathOf(parent), key);

/** Puts in the value what each {@link Drift} in it stands for, and takes out the name `__proto__`. */
function settle(value: unknown, at: string, onDrift: OnDrift): void {
  const open: Place[] = [];
  const enter = (inner: unknown, key: string, parent: Place | undefined): void => {
    if (typeof inner === 'object' && inner !== null) open.push({ object: inner, key, parent });
  };
  enter(value, at, undefined);
  // Not by recursion: JSON may be nested deeper than the stack is.
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const object = place.object as Record<string, unknown>;
    // A copy of the object would take it over as its prototype.
    if (Object.hasOwn(object, '__proto__')) Reflect.deleteProperty(object, '__proto__');
    let isSparse = false;
    for (const key of Object.keys(object)) {
      const inner = object[key];
      if (typeof inner !== 'object') continue;
      if (!(inner instanceof Drift)) {
        enter(inner, key, place);
        continue;
      }
      const { kind, expected, value: read } = inner;
      onDrift({ kind, path: placeIn(pathOf(place), key), expected });
      object[key] = read;
      enter(read, key, place);
      if (read !== undefined) continue;
      delete object[key];
      isSparse = true;
      if (kind === 'dropped') noteUnreadable(object, key);
    }
    // What was left out of a list leaves holes.
    if (isSparse && Array.isArray(object)) closeHoles(object);
  }
}

function closeHoles(list: unknown[]): void {
  let length = 0;
  // `forEach` skips holes.
  list.forEach((element) => {
    list[length++] = element;
  });
  list.length = length;
}

/** Freezes a value that came out of JSON, and all that is in it: then all callers can share it. */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const each = open.pop();
    if (typeof each !== 'object' || each === null || Object.isFrozen(each)) continue;
    Object.freeze(each);
    for (const inner of Object.values(each)) if (typeof inner === 'object') open.push(inner);
  }
  return value;
}

/** The fields that a condition of a guard can need. */
const NEEDED = new Set(['license_type', 'supported_until']);

/** Those of them that were there and could not be read, by the object that they were in. */
const unreadable = new WeakMap<object, Set<string>>();

function noteUnreadable(object: object, name: string): void {
  if (!NEEDED.has(name)) return;
  const names = unreadable.get(object) ?? new Set();
  unreadable.set(object, names.add(name));
}

/** Whether a field is absent because it could not be read: what it said is not known. */
export const wasUnreadable = (object: object, name: string): boolean =>
  unreadable.get(object)?.has(name) === true;

/** Whether a field that a guard can need is absent from an object because it could not be read. */
export const hasUnreadable = (object: object): boolean => unreadable.has(object);

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * An ISO 8601 timestamp in epoch milliseconds; `undefined` for anything else. A blank can stand for the
 * T, and no zone means UTC. `Date.parse` would also read "Support until 2027" and "2027-02-29".
 */
export function parseTimestamp(sent: string): number | undefined {
  const parts = ISO.exec(sent.trim());
  if (parts === null) return undefined;
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = '0', zone = 'Z'] = parts;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // A day or an hour that does not exist would be one of the next month or day.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) {
    return undefined;
  }
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return date.getTime() + Math.trunc(Number(`0.${fraction}`) * 1000) - offset;
}
