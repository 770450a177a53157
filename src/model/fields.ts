import { z } from 'zod';

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * An ISO 8601 timestamp in epoch milliseconds; `undefined` for anything else. A blank may stand for the
 * T, and no zone means UTC. `Date.parse` would also read "Support until 2027" and "2027-02-29".
 */
export function parseTimestamp(text: string): number | undefined {
  const parts = ISO.exec(text.trim());
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const [, , , , , , , fraction = '', zone = 'Z'] = parts;
  const date = new Date(Date.UTC(2000, (month ?? 0) - 1, day, hour, minute, second));
  // `Date.UTC` takes the years up to 99 for those of the last century.
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  // Days and hours that there are not would be those of the next month or day.
  if (date.getUTCMonth() !== (month ?? 0) - 1 || date.getUTCDate() !== day) return undefined;
  if ((hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59) return undefined;
  const offset = offsetOf(zone);
  if (offset === undefined) return undefined;
  return date.getTime() + Math.trunc(Number(`0.${fraction || 0}`) * 1000) - offset;
}

/** MySQL's word for no date. */
export const isZeroDate = (value: unknown): boolean =>
  typeof value === 'string' && value.trimStart().startsWith('0000-00-00');

/** Milliseconds; `undefined` for an offset that no clock has. */
function offsetOf(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes ?? 0) > 59) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === '-' ? -offset : offset;
}

/** An ISO 8601 timestamp that may be absent. */
export const timestamp = z
  .string()
  .refine((value) => parseTimestamp(value) !== undefined, 'expected a timestamp')
  .optional();

/** The fields that a condition of a guard can rest on. */
const NEEDED = new Set(['license_type', 'supported_until']);

/** Those of them that were there and could not be read, by the object that they were in. */
const unreadable = new WeakMap<object, Set<string>>();

/** Notes that a field was left out because it could not be read, if a guard can need it. */
export function noteUnreadable(object: object, field: string): void {
  if (!NEEDED.has(field)) return;
  const fields = unreadable.get(object) ?? new Set();
  unreadable.set(object, fields.add(field));
}

/** Whether a field is absent because it could not be read: what it said is not known. */
export const wasUnreadable = (object: object, field: string): boolean =>
  unreadable.get(object)?.has(field) === true;

/** Whether a field that a guard can need is absent from an object because it could not be read. */
export const hasUnreadable = (object: object): boolean => unreadable.has(object);

/** A flag that is documented as text, "1" or "0": the only text that a boolean is read as. */
export const flagText = z.string();
