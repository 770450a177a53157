const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

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
  const time = Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second);
  const date = new Date(time);
  // Days and hours that there are not would be those of the next month or day.
  if (date.getUTCMonth() !== (month ?? 0) - 1 || date.getUTCDate() !== day) return undefined;
  if ((hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59) return undefined;
  return time + Math.trunc(Number(`0.${fraction || 0}`) * 1000) - offsetOf(zone);
}

/** MySQL's word for no date. */
export const isZeroDate = (value: unknown): boolean =>
  typeof value === 'string' && value.startsWith('0000-00-00');

function offsetOf(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  const offset = (Number(hours) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === '-' ? -offset : offset;
}
