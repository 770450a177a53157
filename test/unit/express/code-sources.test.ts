import {
  type CodeSource,
  firstOf,
  fromBody,
  fromHeader,
  fromParams,
  fromQuery,
  fromSession,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { hearWarnings } from '../../support/warnings.js';

const find = (source: CodeSource, req: object): unknown => source(req as never);

describe('a source', () => {
  it.each<[string, () => CodeSource, object]>([
    ['a header', () => fromHeader('X-My-Code'), { headers: { 'x-my-code': 'c' } }],
    ['the body', () => fromBody(), { body: { purchase_code: 'c' } }],
    ['a field of the body', () => fromBody('code'), { body: { code: 'c' } }],
    ['the query', () => fromQuery(), { query: { purchase_code: 'c' } }],
    ['the parameters of the route', () => fromParams(), { params: { purchase_code: 'c' } }],
    ['the session', () => fromSession(), { session: { purchase_code: 'c' } }],
    ['a field of the session', () => fromSession('code'), { session: { code: 'c' } }],
  ])('finds the code in %s', (_name, make, req) => {
    expect(find(make(), req)).toBe('c');
  });

  const FORM = 'application/x-www-form-urlencoded; charset=utf-8';
  it.each<[object, number]>([
    [{ 'content-type': FORM, 'content-length': '7' }, 1],
    [{ 'content-type': FORM, 'transfer-encoding': 'chunked' }, 1],
    [{ 'content-type': FORM, 'content-length': '0' }, 0],
    [{ 'content-type': `text/plain; was=${FORM}`, 'content-length': '7' }, 0],
  ])('warns that no parser has read a form, with the headers %j: %d', (headers, count) => {
    const warnings = hearWarnings();
    find(fromBody(), { headers });
    expect(warnings).toHaveLength(count);
  });

  it.each<[string, CodeSource, object]>([
    ['a body that no parser has read', fromBody(), { headers: {} }],
    ['a body of null', fromBody(), { body: null }],
    ['a body of text', fromBody('length'), { body: 'text' }],
    ['an app without sessions', fromSession(), {}],
    ['what every object has', fromBody('toString'), { body: {} }],
    ['another header', fromHeader('x-my-code'), { headers: { 'x-purchase-code': 'c' } }],
  ])('finds none in %s', (_name, source, req) => {
    hearWarnings();
    expect(find(source, req)).toBeUndefined();
  });

  it.each<[string, (name: never) => unknown]>([
    ['fromHeader', fromHeader],
    ['fromBody', fromBody],
    ['fromQuery', fromQuery],
    ['fromParams', fromParams],
    ['fromSession', fromSession],
  ])('%s says that its "name" is wrong', (owner, make) => {
    expect(() => make('' as never)).toThrow(new RegExp(`^${owner}: option "name"`));
  });

  // `Vary` with such a name would fail in the middle of a request.
  it.each(['x-код', 'x purchase code', 'x\r\ny'])('fromHeader takes no %j', (name) => {
    expect(() => fromHeader(name)).toThrow(/^fromHeader: option "name" .*HTTP/);
  });
});

describe('firstOf', () => {
  const later = (value: unknown) => async () => value;
  const now = (value: unknown) => () => value;

  it.each([undefined, null, '', ' '])('goes on where a source gives %j', async (none) => {
    expect(await find(firstOf(now(none), later(none), later('c')), {})).toBe('c');
    expect(await find(firstOf(now(none)), {})).toBeUndefined();
  });

  it('asks no further than it must', async () => {
    const second = vi.fn();
    expect(await find(firstOf(later('c'), second), {})).toBe('c');
    expect(second).not.toHaveBeenCalled();
  });

  it('takes what is no text for a wrong code, and not for an absent one', async () => {
    expect(await find(firstOf(now(7), now('c')), {})).toBe(7);
    expect(await find(firstOf(now(['a', 'b']), now('c')), {})).toEqual(['a', 'b']);
  });

  it.each<[string, unknown[]]>([
    ['no source', []],
    ['a source that is no function', [now('c'), 'x-purchase-code']],
  ])('refuses %s', (_name, sources) => {
    expect(() => firstOf(...(sources as CodeSource[]))).toThrow(/^firstOf: .*function/);
  });
});
