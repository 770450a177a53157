import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, parseTimestamp } from '../../../src/model/fields.js';
import { itemSchema } from '../../../src/model/item.js';
import { readsAsTimestamp } from '../../oracle/shapes.js';
import { item } from '../../support/wire.js';

/** Whether a field of an item takes it as it is. */
function isDocumented(published_at: string): boolean {
  let drifted = false;
  parse(itemSchema, { ...item, published_at }, 'item', () => {
    drifted = true;
  });
  return !drifted;
}

const number = (most: number, digits = 2) =>
  fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(digits, '0'));

describe('a timestamp', () => {
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

  it('is read as the contract says, and a field takes what can be read', () => {
    const part = (text: fc.Arbitrary<string>) => fc.option(text, { nil: '' });
    const time = fc
      .tuple(
        fc.constantFrom('T', 'T', ' ', 't', '-', '  '),
        number(26),
        fc.constantFrom(':', ':', ''),
        number(62),
        part(number(62).map((second) => `:${second}`)),
        part(fc.constantFrom('.5', '.000000', '.123456789', '.', ',25')),
        part(fc.constantFrom('Z', 'Z', 'z', '+02:00', '-0500', '+24:00', '+00:60', '+02', ' UTC')),
      )
      .map((parts) => parts.join(''));
    const date = fc.tuple(number(9999, 4), number(14), number(33)).map((each) => each.join('-'));
    const text = fc.tuple(date, part(time)).map((parts) => parts.join(''));
    const seen = new Set<string>();
    fc.assert(
      fc.property(text, (sent) => {
        const reading = readsAsTimestamp(sent);
        seen.add(reading);
        const isRead = parseTimestamp(sent) !== undefined;
        expect(isDocumented(sent)).toBe(isRead);
        if (reading !== 'open') expect(isRead).toBe(reading === 'yes');
      }),
      { numRuns: 2000 },
    );
    expect(seen).toEqual(new Set(['yes', 'no', 'open']));
  });

  it('of a million characters takes no longer', () => {
    expect(parseTimestamp(`2027-01-01T00:00:00.${'0'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseTimestamp(`${' '.repeat(1_000_000)}x`)).toBeUndefined();
  });
});
