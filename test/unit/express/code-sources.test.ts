import { type CodeSource, firstOf, fromBody, fromHeader, fromQuery, fromSession } from 'marketgate';
import { expect, it, vi } from 'vitest';
import { hearWarnings } from '../../support/warnings.js';

const find = (source: CodeSource, req: object): unknown => source(req as never);

it.each<[string, () => CodeSource, object, found?: string]>([
  ['a header', () => fromHeader('X-My-Code'), { headers: { 'x-my-code': 'c' } }, 'c'],
  ['the body', () => fromBody(), { body: { purchase_code: 'c' } }, 'c'],
  ['a field of the body', () => fromBody('code'), { body: { code: 'c' } }, 'c'],
  ['the query', () => fromQuery(), { query: { purchase_code: 'c' } }, 'c'],
  ['the session', () => fromSession(), { session: { purchase_code: 'c' } }, 'c'],
  ['a body that no parser has read', () => fromBody(), { headers: {} }],
  ['a body of null', () => fromBody(), { body: null }],
  ['a body of text', () => fromBody('length'), { body: 'text' }],
  ['an app without sessions', () => fromSession(), {}],
  ['what every object has', () => fromBody('toString'), { body: {} }],
  ['another header', () => fromHeader('x-my-code'), { headers: { 'x-purchase-code': 'c' } }],
])('a source finds in %s only what is there', (_name, make, req, found) => {
  hearWarnings();
  expect(find(make(), req)).toBe(found);
});

it('a header that came twice gives both values', () => {
  const twice = { headers: { 'x-code': 'a, b' } };
  expect(find(fromHeader('X-Code'), twice)).toEqual(['a', 'b']);
});

it.each<[sent: string, bytes: Buffer, found: string]>([
  [
    'UTF-8, as curl sends a no-break space and a dash',
    Buffer.from('a\u2013b\u00a0'),
    'a\u2013b\u00a0',
  ],
  ['Latin-1, as a browser sends them', Buffer.from('\u00abab\u00bb', 'latin1'), '\u00abab\u00bb'],
])('a header is read in the charset that it was sent in: %s', (_sent, bytes, found) => {
  // As Node.js reads all headers.
  const headers = { 'x-code': bytes.toString('latin1') };
  expect(find(fromHeader('x-code'), { headers })).toBe(found);
});

const later = (value: unknown) => async () => value;
const now = (value: unknown) => () => value;

it.each([undefined, null, '', ' ', [], [' ', '']])(
  'firstOf goes on where a source gives %j',
  async (none) => {
    expect(await find(firstOf(now(none), later(none), later('c')), {})).toBe('c');
    expect(await find(firstOf(now(none)), {})).toBeUndefined();
  },
);

it('firstOf stops at the first source that has something, also something that is no text', async () => {
  const second = vi.fn();
  for (const value of ['c', 7, ['a', 'b']]) {
    expect(await find(firstOf(later(value), second), {})).toEqual(value);
  }
  expect(second).not.toHaveBeenCalled();
});
