import * as z from 'zod/mini';
import type { DriftMessage } from '../diagnostics.js';

/** A schema of this folder. */
export type Schema<T> = z.ZodMiniType<T>;

/** How a field is parsed. */
interface Kind {
  /** What is expected there, as in `marketgate:drift` and in errors. */
  readonly expected: string;
  /** Returns a value of this kind, or `undefined` for an absent one; anything else as it was sent. */
  coerce(sent: unknown): unknown;
  /** Whether an answer is unusable without the field. Any other field is left out when it cannot be read. */
  readonly isEssential?: boolean;
  /** Takes the place of a value that cannot be read. Default: the field is left out. */
  fallback?(): unknown;
}

const asText = (sent: unknown) => (Number.isFinite(sent) ? String(sent) : sent);
const asNumber = (sent: unknown) =>
  typeof sent === 'string' && /^\s*-?\d{1,300}(\.\d+)?\s*$/.test(sent) ? Number(sent) : sent;
/** PHP writes an empty map as `[]`. */
const orEmpty = (sent: unknown) => (isEmptyArray(sent) ? {} : sent);
const orNoDate = (sent: unknown) =>
  typeof sent === 'string' && /^$|^\s*0000-00-00/.test(sent) ? undefined : sent;
const BOOLEANS = new Map([
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
]);

/** How each kind of field accepts harmless drift. `null` is always absent. A schema names its kind as its error. */
const KINDS = {
  text: { expected: 'string', coerce: asText },
  name: { expected: 'string', coerce: asText, isEssential: true },
  // Only a safe integer, or two people would become one.
  id: {
    expected: 'string',
    coerce: (sent) => (Number.isSafeInteger(sent) ? String(sent) : sent),
    isEssential: true,
  },
  integerId: {
    expected: 'integer',
    coerce: (sent) =>
      typeof sent === 'string' && /^\d+$/.test(sent) && Number.isSafeInteger(Number(sent))
        ? Number(sent)
        : sent,
    isEssential: true,
  },
  /** A flag that is documented as text, "1" or "0". */
  flag: {
    expected: 'string',
    coerce: (sent) => (typeof sent === 'boolean' ? String(Number(sent)) : asText(sent)),
  },
  number: { expected: 'number', coerce: asNumber },
  boolean: {
    expected: 'boolean',
    coerce: (sent) =>
      typeof sent === 'object' ? sent : (BOOLEANS.get(String(sent).toLowerCase()) ?? sent),
  },
  timestamp: { expected: 'timestamp', coerce: orNoDate },
  date: { expected: 'date', coerce: orNoDate },
  list: {
    expected: 'list',
    coerce(sent) {
      if (typeof sent !== 'string') return isNumbered(sent) ? Object.values(sent) : sent;
      const parts = sent.split(',').map((part) => part.trim());
      return parts.filter((part) => part !== '');
    },
  },
  map: { expected: 'object', coerce: orEmpty },
  record: { expected: 'object', coerce: (sent) => sent, isEssential: true },
  /** Always present in the parsed value; its fields are not. */
  section: {
    expected: 'object',
    coerce: (sent) => orEmpty(sent ?? {}),
    fallback: () => ({}),
  },
} satisfies Record<string, Kind>;

type KindName = keyof typeof KINDS;
const error = (kind: KindName): KindName => kind;

/** What the OpenAPI document says about a field besides its type. */
interface FieldInfo {
  readonly examples?: readonly unknown[];
  readonly format?: 'uri' | 'date' | 'date-time';
  readonly pattern?: string;
  /** Whether it is an empty string where a user gave none. */
  readonly canBeBlank?: true;
}

/** The {@link FieldInfo} of fields. */
export const fieldInfo = z.registry<FieldInfo>();

/** Makes the function that gives the schema of a field, with examples. */
const field =
  <S extends z.ZodMiniType>(schema: S, info: FieldInfo = {}) =>
  (...examples: z.output<S>[]): S => {
    const copy = schema.clone();
    fieldInfo.add(copy, examples.length > 0 ? { ...info, examples } : info);
    return copy;
  };

/** Ids without a visible character would all look the same. */
const VISIBLE = /[^\s\p{C}]/u;
/** The usual form. Parsing it would be a tenth of the cost of a call, and more of that of a long list. */
const USUAL = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const isTimestamp = (sent: string): boolean =>
  USUAL.test(sent) || parseTimestamp(sent) !== undefined;

/** A string of this kind that meets a condition. */
const stringThat = (isValid: (sent: string) => boolean, kind: KindName) =>
  z.string(error(kind)).check(z.refine(isValid, error(kind)));
const plainText = z.string(error('text'));

export const text = field(plainText);
export const requiredText = field(z.string(error('name')));
/** An id or a secret that is documented as text; it cannot be blank. */
export const textId = field(stringThat((id) => VISIBLE.test(id), 'id'));
/** An id that is documented as a whole number. */
export const integerId = field(z.int(error('integerId')));
/** Three numbers with dots. */
export const version = field(plainText, { pattern: '^\\d+\\.\\d+\\.\\d+$' });
export const flag = field(z.string(error('flag')));
export const number = field(z.number(error('number')));
export const boolean = field(z.boolean(error('boolean')));
export const texts = field(z.array(plainText, error('list')));
export const textMap = field(z.record(z.string(), plainText, error('map')));
export const url = field(plainText, { format: 'uri' });
/** A URL of a user, or an empty string. */
export const urlOrEmpty = field(plainText, { format: 'uri', canBeBlank: true });
export const urls = field(z.array(url(), error('list')));
/** ISO 8601. */
export const timestamp = field(stringThat(isTimestamp, 'timestamp'), { format: 'date-time' });
/** A day of a user, or an empty string. */
export const dateOrEmpty = field(
  stringThat((sent) => sent === '' || isTimestamp(sent), 'date'),
  { format: 'date', canBeBlank: true },
);
export const optional = z.optional;

/** A schema for each field of a documented type; an optional one for each optional field. */
type Fields<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K>
    ? z.ZodMiniOptional<z.ZodMiniType<NonNullable<T[K]>>>
    : z.ZodMiniType<T[K]>;
};

const objectOf =
  (kind: KindName) =>
  <T>(fields: Fields<T>): Schema<T> =>
    z.looseObject(fields, error(kind)) as unknown as Schema<T>;

/** An object that an answer is unusable without. Undocumented fields are kept. */
export const record = objectOf('record');
/** An object that can be absent. */
export const optionalObject = objectOf('map');
/** An object that is always present in the parsed value. */
export const section = objectOf('section');

/** Whether a value of JSON is an object: not a list, not null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isEmptyArray = (sent: unknown): boolean => Array.isArray(sent) && sent.length === 0;

/** Whether a value is an object whose keys are all numbers: PHP writes a list with gaps like that. */
export const isNumbered = (sent: unknown): sent is Readonly<Record<string, unknown>> =>
  isObject(sent) && Object.keys(sent).every((key) => /^\d+$/.test(key));

/** A value of the documented shape, or the first place where it differs and is essential. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly path: string; readonly expected: string };

/** Called for each place that was coerced or left out. */
export type OnDrift = (drift: Omit<DriftMessage, 'endpoint'>) => void;

/** Any object or list of JSON. */
type Container = Record<PropertyKey, unknown>;

/**
 * Parses `sent`, a value from JSON, in place: whatever differs from the schema is coerced or left out, and reported. A
 * coerced object or list can contain further differences, so another round follows. In the end, only absent fields
 * differ, and no caller relies on them.
 * @param at the path of `sent` in the answer, as in `data.purchase`.
 */
export function parse<T>(
  schema: Schema<T>,
  sent: unknown,
  at: string,
  onDrift: OnDrift,
): Parsed<T> {
  const drifts: Parameters<OnDrift>[0][] = [];
  const unreadable: string[] = [];
  for (let isAgain = true; isAgain; ) {
    isAgain = false;
    const issues = issuesOf(schema, sent);
    if (issues === undefined) return { ok: false, path: at, expected: 'fewer differences' };
    const lists = new Set<unknown[]>();
    for (const { path, message } of issues) {
      const { expected, coerce, isEssential, fallback }: Kind = KINDS[message as KindName];
      const place = path.reduce<string>(placeIn, at);
      const key = path.at(-1);
      let parent = sent as Container;
      for (const each of path.slice(0, -1)) parent = parent[each] as Container;
      const found = key === undefined ? sent : parent[key];
      const meant = coerce(found ?? undefined);
      const isCoerced = meant !== found;
      if (key === undefined || (isEssential && (!isCoerced || meant === undefined))) {
        return { ok: false, path: place, expected };
      }
      const value = isCoerced ? meant : fallback?.();
      // Absent, and not essential.
      if (found === undefined && value === undefined) continue;
      drifts.push({ kind: isCoerced ? 'coerced' : 'dropped', path: place, expected });
      if (!isCoerced && path.length === 1) unreadable.push(String(key));
      isAgain ||= typeof value === 'object';
      if (value !== undefined) {
        parent[key] = value;
        continue;
      }
      delete parent[key];
      if (Array.isArray(parent)) lists.add(parent);
    }
    for (const list of lists) {
      // `flat` skips the holes that left-out elements leave.
      const kept = list.flat(0);
      list.length = 0;
      for (const element of kept) list.push(element);
    }
  }
  drifts.forEach(onDrift);
  if (unreadable.length > 0) noteUnreadable(sent as object, unreadable);
  return { ok: true, value: sent as T };
}

/** How a value differs from the schema. `undefined`: in more than 100,000 places, for which zod's stack has no room. */
function issuesOf(schema: Schema<unknown>, sent: unknown) {
  try {
    return schema.safeParse(sent).error?.issues ?? [];
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A path as in `items[3].price.regular`. A key that is not like a documented name becomes `*`. */
function placeIn(path: string, key: PropertyKey): string {
  const name = String(key);
  if (/^\d+$/.test(name)) return `${path}[${name}]`;
  return `${path}.${/^[a-z_]{1,30}$/.test(name) ? name : '*'}`;
}

/** The names of fields that could not be read, by the object. Next to it and not in it, because apps see the object. */
const unreadable = new WeakMap<object, readonly string[]>();

/** Notes that fields of an object, or items of a list, were left out because they could not be read. */
export function noteUnreadable(object: object, names: readonly string[] | undefined): void {
  if (names !== undefined) unreadable.set(object, names);
}

/** What {@link noteUnreadable} was called with; `undefined`: everything could be read. */
export const unreadableIn = (object: object): readonly string[] | undefined =>
  unreadable.get(object);

/** Whether a field was sent but left out, because it could not be read. */
export const wasUnreadable = (object: object, name: string): boolean =>
  unreadable.get(object)?.includes(name) === true;

/** Freezes a value from JSON and everything in it, so that callers can share it. */
export function deepFreeze<T>(value: T): T {
  // Without recursion, because JSON can be nested too deeply for the stack.
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

const ISO =
  /^(\d{4}-\d\d-\d\d)(?:[T ]([01]\d|2[0-3])(:\d\d)(:\d\d)?(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * An ISO 8601 timestamp in epoch milliseconds; `undefined` for anything else. A blank can replace the T; without a zone
 * it is UTC. `Date.parse` alone would also accept "Support until 2027" and "2027-02-29".
 */
export function parseTimestamp(sent: string): number | undefined {
  const parts = ISO.exec(sent.trim());
  if (parts === null) return undefined;
  const [, date = '', hour = '00', minute = ':00', second = ':00', fraction = '0', zone = 'Z'] =
    parts;
  // A day that does not exist would become one of the next month.
  const day = Date.parse(date);
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(date)) return undefined;
  const [, sign, hours, minutes = '00'] = /([+-])(\d\d):?(\d\d)?/.exec(zone) ?? [];
  const offset = sign ? `${sign}${hours}:${minutes}` : 'Z';
  const time = Date.parse(`${date}T${hour}${minute}${second}.${fraction.slice(0, 3)}${offset}`);
  return Number.isNaN(time) ? undefined : time;
}
