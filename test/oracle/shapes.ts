/** How a text reads as a timestamp, by the contract. `open`: the contract does not decide, so both readings are right. */
export type Reading = 'yes' | 'open' | 'no';

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * "ISO 8601 (a blank for the T is fine; no zone means UTC), nothing else." `open`: forms of ISO 8601 that
 * nobody has seen a service send.
 */
export function readsAsTimestamp(sent: string): Reading {
  const [, years = '', month = '', day = '', time] =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](.+))?$/i.exec(sent.trim()) ?? [];
  const year = Number(years);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = (DAYS[Number(month) - 1] ?? 0) + (month === '02' && isLeap ? 1 : 0);
  if (Number(day) < 1 || Number(day) > days) return 'no';
  if (time === undefined) return 'yes';
  const isUsual = /^([01]\d|2[0-3])(:[0-5]\d){1,2}(\.\d+)?(Z|[+-](0\d|1[0-4]):?[0-5]\d)?$/i;
  if (isUsual.test(time)) return /^\d\d:\d\d\./.test(time) ? 'open' : 'yes';
  return /^\d\d(:?\d\d(:?\d\d)?)?([.,]\d+)?(Z|[+-]\d\d(:?\d\d)?)?$/i.test(time) ? 'open' : 'no';
}
