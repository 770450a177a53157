import { beforeEach, describe, expect, it, vi } from 'vitest';
import { parseTimestamp } from '../../../src/model/fields.js';

describe('a timestamp', () => {
  // Where a time that is read as a local one is half a day off.
  beforeEach(() => void vi.stubEnv('TZ', 'Pacific/Auckland'));

  it.each([
    ['2027-06-01T12:00:01Z', Date.UTC(2027, 5, 1, 12, 0, 1)],
    ['2027-06-01t12:00:01z', Date.UTC(2027, 5, 1, 12, 0, 1)],
    ['2027-06-01 12:00:01', Date.UTC(2027, 5, 1, 12, 0, 1)],
    ['2027-06-01T12:00', Date.UTC(2027, 5, 1, 12)],
    ['2027-06-01', Date.UTC(2027, 5, 1)],
    [' 2027-06-01 ', Date.UTC(2027, 5, 1)],
    ['2027-06-01T12:00:01.250999Z', Date.UTC(2027, 5, 1, 12, 0, 1, 250)],
    ['2027-06-01T12:00:01,5Z', Date.UTC(2027, 5, 1, 12, 0, 1, 500)],
    ['2027-06-01T12:00:00+0530', Date.UTC(2027, 5, 1, 6, 30)],
    ['2027-06-01T12:00:00-05', Date.UTC(2027, 5, 1, 17)],
    ['2027-12-31T23:59:59-01:00', Date.UTC(2028, 0, 1, 0, 59, 59)],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['0001-01-01T00:00:00', Date.parse('0001-01-01T00:00:00Z')],
    ['9999-12-31T23:59:59Z', Date.UTC(9999, 11, 31, 23, 59, 59)],
  ])('is read: %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(time);
  });

  it.each([
    ...['', ' ', 'never', 'Support until 2027', 'Jun 2, 2027', '31.12.2027', '12/31/2027', '2027'],
    ...['2027-02-29', '2027-02-29T00:00:00Z', '2100-02-29', '2027-00-01', '2027-13-01'],
    ...['2027-01-00', '2027-02-99', '2027-1-1', '2027-01-01T24:00:01Z', '2027-01-01T12:60:00Z'],
    ...['2027-01-01T24:00', '2027-01-01T12:00:00+24:00', '2027-01-01T', '2027-01-01T12:00:61Z'],
    ...['2027-01-01T12:00:00+02:75', '2027-01-01T12:00:00 UTC', '2027-01-01T12:00:00Z!'],
    ...['1830297600', '20270101T120000Z', '0000-00-00 00:00:00', '2027-01-01\n2028-01-01'],
    ...['+002027-01-01', '-000001-01-01T00:00:00Z', '２０２７-01-01'],
  ])('is nothing else: %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('of a million characters takes no longer', () => {
    expect(parseTimestamp(`2027-01-01T00:00:00.${'0'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseTimestamp(`${' '.repeat(1_000_000)}x`)).toBeUndefined();
  });
});
