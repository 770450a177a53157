import type { DriftMessage } from '../diagnostics.js';

/*
 * How an answer of the service becomes a value of the documented shape, in one pass and in place: what was sent stays where
 * it is as documented, is coerced where it differs harmlessly, and is left out where it cannot be read. Undocumented fields
 * are never looked at.
 */

/** A place of an answer that was coerced or left out. */
export type Drift = Omit<DriftMessage, 'endpoint'>;
export type OnDrift = (drift: Drift) => void;

/** A place without which an answer is unusable, and what was expected there. */
interface Mismatch {
  readonly path: string;
  readonly expected: string;
}

/** What is found while a value is read. */
interface Findings {
  readonly drifts: Drift[];
  /** Why the value is unusable. */
  mismatch?: Mismatch;
}

/** How a field is read. */
export interface Field<T> {
  /** What is expected there, as in `marketgate:drift` and in errors. */
  readonly expected: string;
  /**
   * Reads what was sent, which is neither `null` nor `undefined`. Returns `null` for what means that nothing is there, and
   * `undefined` for what cannot be read. The field is `name` at `path`, or `path` itself: see {@link placeOf}.
   */
  readonly read: (
    sent: unknown,
    path: string,
    findings: Findings,
    name?: string,
  ) => T | null | undefined;
  /** Whether an answer is unusable without the field. Any other field is left out when it cannot be read. */
  readonly isEssential?: boolean;
  /** Takes the place of a value that is absent or cannot be read. */
  readonly otherwise?: (path: string, findings: Findings) => T;
  /** Whether what cannot be read stays as its text. */
  readonly staysText?: boolean;
  /** The fields of an object, by name. */
  readonly fields?: Readonly<Record<string, Field<unknown>>>;
}

/** A field for each field of a documented type. */
export type Fields<T> = { readonly [K in keyof T]-?: Field<NonNullable<T[K]>> };

/** Any object of JSON. */
type JsonObject = Record<string, unknown>;

/** Whether a value of JSON is an object: not a list, not null. */
export const isObject = (value: unknown): value is Readonly<JsonObject> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isEmptyArray = (sent: unknown): boolean => Array.isArray(sent) && sent.length === 0;

const field = <T>(
  expected: string,
  read: Field<T>['read'],
  more?: Partial<Field<T>>,
): Field<T> => ({ expected, read, ...more });
const ESSENTIAL = { isEssential: true };

/** Where a field is, as reports say it. Made only for those: for each field of a long list it would be a fifth of the reading. */
const placeOf = (path: string, name: string | undefined): string =>
  name === undefined ? path : `${path}.${name}`;

const readText = (sent: unknown): string | undefined => {
  if (typeof sent === 'string') return sent;
  return Number.isFinite(sent) ? String(sent) : undefined;
};

/** Ids without a visible character would all look the same. */
const VISIBLE = /[^\s\p{C}]/u;
/** What databases and PHP write for "no date". */
const NO_DATE = /^\s*(?:$|0000-00-00|-0001-)/;
/** The usual forms. Parsing them would be a tenth of the cost of a call, and more of that of a long list. */
const USUAL = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])(T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ)?$/;

const readTimestamp = (sent: unknown): string | null | undefined => {
  if (sent === false) return null;
  if (typeof sent !== 'string') return undefined;
  if (USUAL.test(sent)) return sent;
  if (NO_DATE.test(sent)) return null;
  return parseTimestamp(sent) === undefined ? undefined : sent;
};

export const text = field('string', readText);
/** A text that an answer is unusable without. */
export const requiredText = field('string', readText, ESSENTIAL);
/** An id or a secret that is documented as text: a text that is not blank, or a safe integer, or two people would become one. */
export const textId = field(
  'string',
  (sent) => {
    if (typeof sent === 'string') return VISIBLE.test(sent) ? sent : undefined;
    return Number.isSafeInteger(sent) ? String(sent) : undefined;
  },
  ESSENTIAL,
);
/** An id that is documented as a whole number: a safe integer, or its digits. */
export const integerId = field(
  'integer',
  (sent) => {
    const id = typeof sent === 'string' && /^\d{1,16}$/.test(sent) ? Number(sent) : sent;
    return Number.isSafeInteger(id) ? (id as number) : undefined;
  },
  ESSENTIAL,
);
/** A flag that is documented as text, "1" or "0". */
export const flag = field('string', (sent) =>
  typeof sent === 'boolean' ? String(Number(sent)) : readText(sent),
);
export const number = field('number', (sent) => {
  const isText = typeof sent === 'string' && /^\s*-?\d{1,300}(\.\d+)?\s*$/.test(sent);
  const value = isText ? Number(sent) : sent;
  return Number.isFinite(value) ? (value as number) : undefined;
});
const BOOLEANS = new Map<unknown, boolean>([
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
]);
export const boolean = field('boolean', (sent) => {
  if (typeof sent === 'boolean') return sent;
  return typeof sent === 'object' ? undefined : BOOLEANS.get(String(sent).toLowerCase());
});
/** ISO 8601. */
export const timestamp = field('timestamp', readTimestamp);
/** ISO 8601, where absence has a meaning that a text which cannot be read does not have. */
export const timestampOrText = field('timestamp', readTimestamp, { staysText: true });
/** A day of a user, or an empty string. */
export const dateOrEmpty = field('date', (sent) => (sent === '' ? sent : readTimestamp(sent)));

/**
 * The elements of a list, also of one that was sent as the text of JSON, or as an object whose keys are all numbers: PHP
 * writes a list with gaps like that.
 */
export function elementsOf(sent: unknown): readonly unknown[] | undefined {
  const list = typeof sent === 'string' ? parseList(sent) : sent;
  if (Array.isArray(list)) return list;
  const isNumbered = isObject(list) && Object.keys(list).every((key) => /^\d+$/.test(key));
  return isNumbered ? Object.values(list) : undefined;
}

function parseList(sent: string): unknown {
  if (!/^\s*[[{]/.test(sent)) return undefined;
  try {
    return JSON.parse(sent);
  } catch {
    return undefined;
  }
}

/** The parts of "a, b". */
const partsOf = (sent: unknown): string[] | undefined =>
  typeof sent === 'string'
    ? sent
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    : undefined;

/** The texts of a list or a map. Of several places that differ in the same way, the first is reported. */
function textsOf<K extends string | number>(
  entries: readonly (readonly [K, unknown])[],
  placeOf: (key: K) => string,
  { drifts }: Findings,
): [K, string][] {
  const reported = new Set<Drift['kind']>();
  return entries.flatMap(([key, sent]): [K, string][] => {
    const value = sent === null ? null : readText(sent);
    const kind = value === undefined ? 'dropped' : 'coerced';
    if ((value !== sent || value === null) && !reported.has(kind)) {
      reported.add(kind);
      drifts.push({ kind, path: placeOf(key), expected: text.expected });
    }
    return typeof value === 'string' ? [[key, value]] : [];
  });
}

const textList = (listOf: (sent: unknown) => readonly unknown[] | undefined) =>
  field<readonly string[]>('list', (sent, path, findings, name) => {
    const list = listOf(sent);
    if (list === undefined) return undefined;
    if (list.every((each) => typeof each === 'string')) return list;
    const place = (i: number): string => `${placeOf(path, name)}[${i}]`;
    return textsOf([...list.entries()], place, findings).map(([, value]) => value);
  });

/** Texts, also sent as "a, b". */
export const texts = textList((sent) => elementsOf(sent) ?? partsOf(sent));
/** URLs, which can have commas. */
export const urls = textList((sent) => (sent === '' ? [] : elementsOf(sent)));

/** A key that is not like a documented name becomes `*`. */
const placeIn = (path: string, key: string): string =>
  `${path}.${/^[a-z_]{1,30}$/.test(key) ? key : '*'}`;

/** Texts by open names. */
export const textMap = field<Record<string, string>>('object', (sent, path, findings, name) => {
  if (isEmptyArray(sent)) return {};
  if (!isObject(sent)) return undefined;
  // `Object.values` would take as long again as parsing the JSON did.
  if (Object.keys(sent).every((key) => typeof sent[key] === 'string')) {
    return sent as Record<string, string>;
  }
  const place = (key: string): string => placeIn(placeOf(path, name), key);
  return Object.fromEntries(textsOf(Object.entries(sent), place, findings));
});

/** A text for what was sent. That of an object is short, because it can be nested too deeply for the stack. */
const textOf = (sent: unknown): string =>
  typeof sent === 'object' ? Object.prototype.toString.call(sent) : String(sent);

/** Reads the fields of an object, in place. `undefined`: an essential one is absent or cannot be read. */
function readFields<T>(
  fields: Fields<T>,
  object: JsonObject,
  path: string,
  findings: Findings,
): T | undefined {
  for (const name in fields) {
    const { expected, read, isEssential, otherwise, staysText }: Field<unknown> = fields[name];
    const sent = object[name];
    const value = sent === undefined || sent === null ? null : read(sent, path, findings, name);
    if (value === sent && value !== null) continue;
    if (isEssential && (value === undefined || value === null)) {
      findings.mismatch ??= { path: placeOf(path, name), expected };
      return undefined;
    }
    // Absent as it may be.
    if (sent === undefined && otherwise === undefined) continue;
    const at = placeOf(path, name);
    const isText = value === undefined && staysText;
    const kind = isText ? 'unreadable' : value === undefined ? 'dropped' : 'coerced';
    findings.drifts.push({ kind, path: at, expected });
    const kept = isText ? textOf(sent) : (value ?? otherwise?.(at, findings));
    if (kept === undefined) delete object[name];
    else object[name] = kept;
  }
  return object as T;
}

/** PHP writes an empty object as `[]`. */
const objectOf = <T>(fields: Fields<T>, more?: Partial<Field<T>>): Field<T> =>
  field<T>(
    'object',
    (sent, path, findings, name) => {
      const object = isEmptyArray(sent) ? {} : sent;
      return isObject(object)
        ? readFields(fields, object, placeOf(path, name), findings)
        : undefined;
    },
    { fields, ...more },
  );

/** An object that can be absent. */
export const optionalObject = <T>(fields: Fields<T>): Field<T> => objectOf(fields);
/** An object that an answer is unusable without. */
export const record = <T>(fields: Fields<T>): Field<T> => objectOf(fields, ESSENTIAL);
/** An object that is always present in what was read. None of its own fields is essential. */
export const section = <T>(fields: Fields<T>): Field<T> =>
  objectOf(fields, {
    otherwise: (path, findings) => readFields(fields, {}, path, findings) as T,
  });

/** A value of the documented shape, or the first place where it differs and is essential. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | ({ readonly ok: false } & Mismatch);

/**
 * Reads `sent`, a value from JSON, in place.
 * @param at the path of `sent` in the answer, as in `data.purchase`.
 * @param onDrift called for each place that was coerced or left out, if the value is usable.
 */
export function parse<T>(
  { expected, read }: Field<T>,
  sent: unknown,
  at: string,
  onDrift: OnDrift,
): Parsed<T> {
  const findings: Findings = { drifts: [] };
  const value = read(sent, at, findings);
  if (value === undefined || value === null) {
    return { ok: false, ...(findings.mismatch ?? { path: at, expected }) };
  }
  findings.drifts.forEach(onDrift);
  return { ok: true, value };
}

/** Freezes an object from JSON and everything in it, so that callers can share it. */
export function deepFreeze<T extends object>(value: T): T {
  // Without recursion, because JSON can be nested too deeply for the stack.
  const open: object[] = [value];
  const enter = (inner: unknown): void => {
    if (typeof inner === 'object' && inner !== null) open.push(inner);
  };
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    // `Object.values` would cost as much as the rest.
    if (Array.isArray(each)) for (const inner of each) enter(inner);
    else for (const key in each) enter((each as Record<string, unknown>)[key]);
    Object.freeze(each);
  }
  return value;
}

/** Whether two objects from JSON are equal. Without recursion, as above, so not `isDeepStrictEqual`. */
export function isEqualJson(one: object, other: object): boolean {
  const open: unknown[][] = [[one, other]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [a, b] = pair as (Record<string, unknown> | null)[];
    if (!a || !b || typeof a !== 'object' || typeof b !== 'object') return false;
    const keys = Object.keys(a);
    const isAlike = Array.isArray(a) === Array.isArray(b) && keys.length === Object.keys(b).length;
    if (!isAlike) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      if (a[key] !== b[key]) open.push([a[key], b[key]]);
    }
  }
  return true;
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
