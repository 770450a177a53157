import { z } from 'zod';
import type { DriftMessage } from '../diagnostics.js';

/**
 * The fields of the schemas in this folder. Each accepts the documented value, and coerces the harmless
 * drift of real deployments:
 *
 * | sent | documented | coerced to |
 * |---|---|---|
 * | `null` | an optional field | absent |
 * | a number | text | its digits; of an id only a safe integer, or two people would become one |
 * | a boolean | a flag as text | `"1"` or `"0"` |
 * | `""`, `"0000-00-00 …"` | a timestamp | absent |
 * | digits in a string | a number | the number; of an id only digits |
 * | `0`, `1`, `"0"`, `"1"`, `"true"`, `"false"` | a boolean | the boolean |
 * | `"a,b,c"`, `{"0": a, "1": b}` | a list | its elements |
 * | `[]`, as PHP writes an empty map | an object | an empty object |
 * | `null` or nothing | {@link objectOrEmpty} | an empty object |
 *
 * An optional field or a list element that cannot be coerced is left out. An {@link objectOrEmpty} that cannot be
 * coerced becomes an empty object. A required field that cannot be coerced makes the answer unusable.
 */

/** Stands in the parsed value for a field that was coerced or left out, until {@link parse} replaces it. */
class Drift {
  constructor(
    readonly kind: DriftMessage['kind'],
    readonly expected: string,
    /** The coerced value; `undefined` when the field is left out. */
    readonly value: unknown,
  ) {}
}

/** Returns the value that was meant, `undefined` for an absent one; anything else as it was sent. */
type Coerce = (sent: unknown) => unknown;

/** @param required whether an answer without it is unusable. */
function field<T>(
  expected: string,
  schema: z.ZodType<T>,
  coerce: Coerce,
  required = false,
): z.ZodType<T> {
  const coerced = z.transform((sent: unknown, { addIssue }) => {
    const value = sent === null ? undefined : coerce(sent);
    if (value === undefined && !required) return new Drift('coerced', expected, undefined);
    const parsed = schema.safeParse(value);
    if (parsed.success) return new Drift('coerced', expected, parsed.data);
    if (required) addIssue(expected);
    return new Drift('dropped', expected, undefined);
  });
  const documented = required ? schema : schema.optional();
  return z.union([documented, coerced], { error: expected }) as unknown as z.ZodType<T>;
}

const asText: Coerce = (sent) => (Number.isFinite(sent) ? String(sent) : sent);
const asIdText: Coerce = (sent) => (Number.isSafeInteger(sent) ? String(sent) : sent);

export const text = field('string', z.string(), asText);
export const url = text.meta({ format: 'uri' });
export const requiredText = field('string', z.string(), asText, true);
/** A character that is shown. Ids without one would all look the same. */
const VISIBLE = /[^\s\p{C}]/u;
/** An id or a secret that is documented as text; it cannot be blank. */
export const textId = field(
  'string',
  z
    .string()
    .min(1, 'string')
    .refine((id) => VISIBLE.test(id), 'string'),
  asIdText,
  true,
);

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
export const timestamp = field('timestamp', z.string().refine(isTimestamp), orNoDate).meta({
  format: 'date-time',
});
/** A day, or an empty string where the user gave none. */
export const dateOrEmpty = field(
  'date',
  z.string().refine((sent) => sent === '' || isTimestamp(sent)),
  orNoDate,
);

/** Whether a value is an object whose keys are all numbers: PHP writes a list with gaps like that. */
export const isNumbered = (sent: unknown): sent is Readonly<Record<string, unknown>> =>
  isObject(sent) && Object.keys(sent).every((key) => /^\d+$/.test(key));

export const texts = field('list', z.array(text), (sent) => {
  if (typeof sent === 'string') {
    const parts = sent.split(',').map((part) => part.trim());
    return parts.filter((part) => part !== '');
  }
  return isNumbered(sent) ? Object.values(sent) : sent;
});

/** PHP writes an empty map like that. */
export const isEmptyArray = (sent: unknown): boolean => Array.isArray(sent) && sent.length === 0;
const orEmpty: Coerce = (sent) => (isEmptyArray(sent) ? {} : sent);

export const textMap = field('object', z.record(z.string(), text), orEmpty);

/** A schema for each field of a documented type. */
type Fields<T> = { readonly [K in keyof T]-?: z.ZodType<NonNullable<T[K]>> };

/** A whole record: an answer without it is unusable. Undocumented fields are kept. */
export const record = <T>(fields: Fields<T>): z.ZodType<T> =>
  z.looseObject(fields, { error: 'object' }) as unknown as z.ZodType<T>;

/** An object inside a record that can be absent. */
export const optionalObject = <T>(fields: Fields<T>): z.ZodType<T> =>
  field('object', record(fields), orEmpty);

/** An object inside a record that is always present in the parsed value. Its fields are not required. */
export function objectOrEmpty<T>(fields: Fields<T>): z.ZodType<T> {
  const schema = record(fields);
  const otherwise = z.transform((sent: unknown) => {
    const isNothing = sent === undefined || sent === null || isEmptyArray(sent);
    return new Drift(isNothing ? 'coerced' : 'dropped', 'object', schema.parse({}));
  });
  return z.union([schema, otherwise]) as unknown as z.ZodType<T>;
}

/** Whether a value of JSON is an object: not a list, not null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value of the documented shape, or the first place that differs from it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly path: string; readonly expected: string };

/** The documented type alone: a schema of this folder without its coercion, and with its metadata. */
export function documentedType(schema: unknown): z.ZodType {
  const given = schema as z.ZodType;
  return withoutCoercion(given).meta(given.meta() ?? {});
}

function withoutCoercion(schema: z.ZodType): z.ZodType {
  // The first option of a field is its documented type; the second one coerces drift.
  if (schema instanceof z.ZodUnion) return documentedType(schema.options[0]);
  if (schema instanceof z.ZodOptional) return documentedType(schema.unwrap()).optional();
  if (schema instanceof z.ZodArray) return z.array(documentedType(schema.element));
  if (schema instanceof z.ZodRecord) return z.record(z.string(), documentedType(schema.valueType));
  if (!(schema instanceof z.ZodObject)) return schema;
  const fields = Object.entries(schema.shape).map(([name, field]) => [name, documentedType(field)]);
  return z.looseObject(Object.fromEntries(fields));
}

/** The documented type of each schema, and whether the last value matched it exactly. */
const documented = new WeakMap<z.ZodType, { readonly type: z.ZodType; wasExact: boolean }>();

function documentedBy(schema: z.ZodType) {
  const known = documented.get(schema) ?? { type: documentedType(schema), wasExact: true };
  documented.set(schema, known);
  return known;
}

/** Whether a value is exactly as documented, without coercion. */
export const isDocumented = (schema: z.ZodType, value: unknown): boolean =>
  documentedBy(schema).type.safeParse(value).success;

/** Called for each place that was coerced or left out. */
export type OnDrift = (drift: Omit<DriftMessage, 'endpoint'>) => void;

/**
 * Parses `sent` with `schema`, and reports what was coerced or left out. The value is `sent` itself where nothing was,
 * otherwise a copy.
 * @param at the path of `sent` in the answer, as in `data.purchase`.
 */
export function parse<T>(
  schema: z.ZodType<T>,
  sent: unknown,
  at: string,
  onDrift: OnDrift,
): Parsed<T> {
  const known = documentedBy(schema);
  // Validating first is cheaper, but wasted on a deployment whose last answer drifted.
  if (known.wasExact && known.type.safeParse(sent).success) return { ok: true, value: sent as T };
  const parsed = schema.safeParse(sent);
  if (parsed.success) {
    known.wasExact = true;
    replaceDrifts(parsed.data, at, (drift) => {
      known.wasExact = false;
      onDrift(drift);
    });
    return { ok: true, value: parsed.data };
  }
  const [issue] = parsed.error.issues as [z.core.$ZodIssue];
  const path = issue.path.reduce<string>((path, key) => placeIn(path, String(key)), at);
  return { ok: false, path, expected: issue.message };
}

/** An object inside a value, and its path. */
interface Place {
  readonly object: object;
  readonly key: string;
  readonly parent: Place | undefined;
}

/** A path as in `items[3].price.regular`. A key that is not like a documented name becomes `*`. */
function placeIn(path: string, key: string): string {
  if (/^\d+$/.test(key)) return `${path}[${key}]`;
  return `${path}.${/^[a-z_]{1,30}$/.test(key) ? key : '*'}`;
}

const pathOf = ({ key, parent }: Place): string =>
  parent === undefined ? key : placeIn(pathOf(parent), key);

/** Replaces each {@link Drift} in a value with what it stands for. */
function replaceDrifts(value: unknown, at: string, onDrift: OnDrift): void {
  const open: Place[] = [];
  const enter = (inner: unknown, key: string, parent: Place | undefined): void => {
    if (typeof inner === 'object' && inner !== null) open.push({ object: inner, key, parent });
  };
  enter(value, at, undefined);
  // Without recursion, because JSON can be nested too deeply for the stack.
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const object = place.object as Record<string, unknown>;
    let isSparse = false;
    for (const key of Object.keys(object)) {
      const inner = object[key];
      if (!(inner instanceof Drift)) {
        enter(inner, key, place);
        continue;
      }
      const { kind, expected, value: coerced } = inner;
      onDrift({ kind, path: placeIn(pathOf(place), key), expected });
      object[key] = coerced;
      enter(coerced, key, place);
      if (coerced !== undefined) continue;
      delete object[key];
      isSparse = true;
      if (kind === 'dropped' && NEEDED_BY_GUARDS.has(key)) noteUnreadable(object, [key]);
    }
    if (isSparse && Array.isArray(object)) closeHoles(object);
  }
}

/** Removes the holes that left-out elements leave in a list. */
function closeHoles(list: unknown[]): void {
  let length = 0;
  // `forEach` skips holes.
  list.forEach((element) => {
    list[length++] = element;
  });
  list.length = length;
}

/** Freezes a value from JSON and everything in it, so that callers can share it. */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [];
  const enter = (inner: unknown): void => {
    // Also true of everything that is not an object.
    if (!Object.isFrozen(inner)) open.push(inner);
  };
  enter(value);
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    // `Object.values` would cost as much as the rest.
    if (Array.isArray(each)) each.forEach(enter);
    else for (const key in each) enter((each as Record<string, unknown>)[key]);
    Object.freeze(each);
  }
  return value;
}

/** The fields that the conditions of guards use. */
const NEEDED_BY_GUARDS = new Set(['license_type', 'supported_until']);

/** The names of those fields that were sent but left out, for each object; for a list, none. */
const unreadable = new WeakMap<object, Set<string>>();

/** Notes that fields that guards use were left out because they could not be coerced; for a list, items. */
export function noteUnreadable(object: object, names: readonly string[] | undefined): void {
  if (names !== undefined)
    unreadable.set(object, new Set([...(unreadableIn(object) ?? []), ...names]));
}

/** What {@link noteUnreadable} was called with; `undefined`: everything could be read. */
export const unreadableIn = (object: object): readonly string[] | undefined => {
  const names = unreadable.get(object);
  return names && [...names];
};

/** Whether a field that guards use was sent but left out, because it could not be coerced. */
export const wasUnreadable = (object: object, name: string): boolean =>
  unreadable.get(object)?.has(name) === true;

/** The documented form, and a day that every month has. */
const USUAL = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

function isTimestamp(sent: string): boolean {
  // Parsing one costs more than the check of all other fields of an item.
  return USUAL.test(sent) || parseTimestamp(sent) !== undefined;
}

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?$/i;

/**
 * Parses an ISO 8601 timestamp into epoch milliseconds; `undefined` for anything else. A blank can replace
 * the T; without a zone it is UTC. `Date.parse` would also accept "Support until 2027" and "2027-02-29".
 */
export function parseTimestamp(sent: string): number | undefined {
  const parts = ISO.exec(sent.trim());
  if (parts === null) return undefined;
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = 0, ...zone] = parts;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // A day that does not exist becomes one of the next month.
  if (date.getUTCMonth() !== Number(month) - 1) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  const [sign, hours = 0, minutes = 0] = zone;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const time = date.getTime() + Math.trunc(Number(`0.${fraction}`) * 1000);
  return sign === '-' ? time + offset : time - offset;
}
