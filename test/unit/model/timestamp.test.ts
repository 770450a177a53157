import { beforeEach, describe, expect, it, vi } from 'vitest';
import { parseTimestamp } from '../../../src/model/fields.js';

describe('a timestamp', () => {
  // Where a time that is read as a local one is half a day off.
  beforeEach(() => void vi.stubEnv('TZ', 'Pacific/Auckland'));

  it.each([
    ['2027-06-01T12:00:01Z', '2027-06-01T12:00:01Z'],
    ['2027-06-01t12:00:01z', '2027-06-01T12:00:01Z'],
    ['2027-06-01 12:00:01', '2027-06-01T12:00:01Z'],
    ['2027-06-01T12:00', '2027-06-01T12:00:00Z'],
    [' 2027-06-01 ', '2027-06-01T00:00:00Z'],
    ['2027-06-01T12:00:01.250999Z', '2027-06-01T12:00:01.250Z'],
    ['2027-06-01T12:00:01,5Z', '2027-06-01T12:00:01.500Z'],
    ['2027-06-01T12:00:00+0530', '2027-06-01T06:30:00Z'],
    ['2027-06-01T12:00:00-05', '2027-06-01T17:00:00Z'],
    ['2027-12-31T23:59:59-01:00', '2028-01-01T00:59:59Z'],
    ['2028-02-29', '2028-02-29T00:00:00Z'],
  ])('is read: %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(Date.parse(time));
  });

  it.each([
    ...['', ' ', 'never', 'Support until 2027', 'Jun 2, 2027', '31.12.2027', '12/31/2027', '2027'],
    ...['2027-02-29', '2027-02-29T00:00:00Z', '2027-13-01', '2027-01-00', '2027-1-1'],
    ...['2027-01-01T24:00', '2027-01-01T12:60:00Z', '2027-01-01T12:00:61Z', '2027-01-01T'],
    ...['2027-01-01T12:00:00+24:00', '2027-01-01T12:00:00+02:75', '2027-01-01T12:00:00 UTC'],
    ...['1830297600', '20270101T120000Z', '0000-00-00 00:00:00', '2027-01-01\n2028-01-01'],
  ])('is nothing else: %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('of a million characters takes no longer', () => {
    expect(parseTimestamp(`2027-01-01T00:00:00.${'0'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseTimestamp(`${' '.repeat(1_000_000)}x`)).toBeUndefined();
  });
});
