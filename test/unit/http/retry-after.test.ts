import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../../src/http/retry-after.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    ['0', 0],
    [' 7 ', 7],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Thursday, 01-Jan-26 00:00:10 GMT', 10],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ])('reads %j as %d seconds', (header, seconds) => {
    expect(parseRetryAfter(header, NOW)).toBe(seconds);
  });

  it.each([
    undefined,
    '',
    ' ',
    '-5',
    '1.5',
    'soon',
    '99999999999999999999',
    'Thu, 99 Jan',
    '2026-01-01',
  ])('takes %j for none', (header) => {
    expect(parseRetryAfter(header, NOW)).toBeUndefined();
  });
});
