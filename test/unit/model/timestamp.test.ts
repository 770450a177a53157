import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDocumented, parseTimestamp, timestamp } from '../../../src/model/fields.js';
import { readsAsTimestamp } from '../../oracle/shapes.js';

const number = (most: number, digits = 2) =>
  fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(digits, '0'));

describe('parseTimestamp', () => {
  it.each([
    ['2027-06-01T12:00:01Z', Date.UTC(2027, 5, 1, 12, 0, 1)],
    ['2027-06-01t12:00:01z', Date.UTC(2027, 5, 1, 12, 0, 1)],
    ['2027-06-01 12:00:01', Date.UTC(2027, 5, 1, 12, 0, 1)],
    ['2027-06-01T12:00', Date.UTC(2027, 5, 1, 12)],
    ['2027-06-01', Date.UTC(2027, 5, 1)],
    [' 2027-06-01 ', Date.UTC(2027, 5, 1)],
    ['2027-06-01T12:00:01.250Z', Date.UTC(2027, 5, 1, 12, 0, 1, 250)],
    ['2027-06-01T12:00:01.250999Z', Date.UTC(2027, 5, 1, 12, 0, 1, 250)],
    ['2027-06-01T12:00:00+02:00', Date.UTC(2027, 5, 1, 10)],
    ['2027-06-01T12:00:00+0530', Date.UTC(2027, 5, 1, 6, 30)],
    ['2027-06-01T12:00:00-05', Date.UTC(2027, 5, 1, 17)],
    ['2027-06-01T12:00:00+23:59', Date.UTC(2027, 4, 31, 12, 1)],
    ['2027-12-31T23:59:59-01:00', Date.UTC(2028, 0, 1, 0, 59, 59)],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
    ['0001-01-01T00:00:00', Date.parse('0001-01-01T00:00:00Z')],
    ['9999-12-31T23:59:59Z', Date.UTC(9999, 11, 31, 23, 59, 59)],
  ])('reads %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(time);
  });

  it.each([
    ...['', ' ', 'never', 'Support until 2027', 'Jun 2, 2027', '31.12.2027', '12/31/2027', '2027'],
    ...['2027-02-29', '2027-02-29T00:00:00Z', '2100-02-29', '2027-00-01', '2027-13-01'],
    ...['2027-01-00', '2027-02-99', '2027-1-1', '2027-01-01T24:00:01Z', '2027-01-01T12:60:00Z'],
    ...['2027-01-01T12:00:61Z', '2027-01-01T12:00:00+99:00', '2027-01-01T12:00:00+02:75'],
    ...['2027-01-01T12:00:00 UTC', '2027-01-01T12:00:00Z!', '2027-01-01 at 12:00', '2027-01-01T'],
    ...['1830297600', '1830297600000', '20270101', '20270101T120000Z', '0000-00-00 00:00:00'],
    ...['+002027-01-01', '-000001-01-01T00:00:00Z', '２０２７-01-01', '2027-01-01\n2028-01-01'],
  ])('does not read %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it.each(['2027-06-10T12:00:01Z', '2027-10-20T23:59:59Z'])(
    'reads %s with something odd in it as a field does',
    (usual) => {
      for (const [at, each] of [...usual].entries()) {
        for (const odd of ['x', '5', `x${each}`, `${each}x`]) {
          const sent = usual.slice(0, at) + odd + usual.slice(at + 1);
          expect(isDocumented(timestamp, sent), sent).toBe(parseTimestamp(sent) !== undefined);
        }
      }
    },
  );

  it('reads what a field of this type takes for documented', () => {
    const parts = [number(9999, 4), number(14), number(33), number(26), number(62), number(62)];
    fc.assert(
      fc.property(fc.tuple(...parts), ([year, month, day, hour, minute, second]) => {
        const sent = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
        expect(isDocumented(timestamp, sent)).toBe(parseTimestamp(sent) !== undefined);
      }),
      { numRuns: 2000 },
    );
  });

  it('reads what the contract says, and nothing else', () => {
    const part = (text: fc.Arbitrary<string>) => fc.option(text, { nil: '' });
    const time = fc
      .tuple(
        fc.constantFrom('T', ' ', 't', '-', '  '),
        number(26),
        fc.constantFrom(':', ':', ''),
        number(62),
        part(number(62).map((second) => `:${second}`)),
        part(fc.constantFrom('.5', '.000000', '.123456789', '.', ',25')),
        part(fc.constantFrom('Z', 'z', '+02:00', '-0500', '+24:00', '+00:60', '+02', ' UTC')),
      )
      .map((parts) => parts.join(''));
    const date = fc.tuple(number(9999, 4), number(14), number(33)).map((each) => each.join('-'));
    const text = fc.tuple(date, part(time)).map((parts) => parts.join(''));
    const seen = new Set<string>();
    fc.assert(
      fc.property(text, (sent) => {
        const reading = readsAsTimestamp(sent);
        seen.add(reading);
        if (reading === 'open') return;
        expect(parseTimestamp(sent) !== undefined).toBe(reading === 'yes');
      }),
      { numRuns: 2000 },
    );
    expect(seen).toEqual(new Set(['yes', 'no', 'open']));
  });

  it('takes no longer for a long text', () => {
    expect(parseTimestamp(`2027-01-01T00:00:00.${'0'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseTimestamp(`${' '.repeat(1_000_000)}x`)).toBeUndefined();
  });
});
