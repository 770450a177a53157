import { MarketgateError } from 'marketgate';
import { expect, it } from 'vitest';
import { setCookie } from '../../../src/web/cookies.js';
import { redirect, refuseWith } from '../../../src/web/response.js';
import { fakeResponse } from '../../support/fake-response.js';

it('a response that the app has sent meanwhile is neither redirected nor refused', () => {
  const setHeader = () => expect.fail('ERR_HTTP_HEADERS_SENT');
  const res = { headersSent: true, setHeader, end: setHeader } as never;
  redirect(res, '/a');
  refuseWith(res, new MarketgateError('too_many_attempts', 'x', { retryAfter: 7 }));
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
