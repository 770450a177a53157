import { MarketgateError } from 'marketgate';
import { expect, it, vi } from 'vitest';
import { setCookie } from '../../../src/web/cookies.js';
import { handleThrown, redirect, refuseWith } from '../../../src/web/response.js';
import { fakeResponse } from '../../support/fake-response.js';

it('a response that the app has sent meanwhile is neither redirected nor refused', () => {
  const setHeader = () => expect.fail('ERR_HTTP_HEADERS_SENT');
  const res = { headersSent: true, setHeader, end: setHeader } as never;
  redirect(res, '/a');
  refuseWith(res, new MarketgateError('too_many_attempts', 'x', { retryAfter: 7 }));
});

it('a redirect leads to a path in ASCII, which a header can hold', () => {
  const res = fakeResponse();
  redirect(res, '/für%20alle');
  expect([res.statusCode, res.getHeader('Location')]).toEqual([302, '/f%C3%BCr%20alle']);
});

it('a cookie replaces one of its name, and no other', () => {
  const [req, res] = [{ headers: {}, secure: false } as never, fakeResponse()];
  for (const [name, value] of [
    ['a', '1'],
    ['b', '2'],
    ['a', '3'],
  ] as const) {
    setCookie(req, res, name, value, 1000);
  }
  const lines = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  expect(lines.map((line) => line.split(';')[0])).toEqual(['b=2', 'a=3']);
});

it.each([
  ['was sent', { headersSent: true, writableEnded: true }, []],
  ['was begun', { headersSent: true }, ['destroy']],
])('what an app throws on plain Node.js while a response %s: %j', (_what, state, expected) => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const calls: string[] = [];
  const res = {
    ...state,
    destroy: () => void calls.push('destroy'),
    end: () => void calls.push('end'),
  };
  handleThrown({}, res as never, new Error('thrown'));
  expect(calls).toEqual(expected);
  expect(console.error).toHaveBeenCalledTimes(1);
});

it('what an app throws goes to `req.next` of Express, as an Error', () => {
  const next = vi.fn();
  handleThrown({ next }, fakeResponse(), 'route');
  expect(next).toHaveBeenCalledExactlyOnceWith(expect.any(Error));
});
