import type { IncomingMessage } from 'node:http';
import { parseSetCookie } from 'cookie';
import { expect, it } from 'vitest';
import {
  clearCookie,
  isNavigation,
  isPrefetch,
  isSecure,
  prefersHtml,
  queryOf,
  requiredResponse,
  setCookie,
  trackResponses,
} from '../../../src/express/plain-http.js';
import { fakeResponse } from '../../support/fake-response.js';
import { listen } from '../../support/listen.js';

const asRequest = (fields: object) => fields as IncomingMessage & never;

it.each([
  [{ query: { a: '1' }, url: '/?a=2' }, { a: '1' }],
  [{ url: '/?a=1&a=2?&b=' }, { a: ['1', '2?'], b: '' }],
  [{ url: '/a' }, {}],
])('the query of %o is %o', (req, query) => {
  expect({ ...queryOf(asRequest(req)) }).toEqual(query);
});

it.each([
  ['Node’s HTTP server', (req: IncomingMessage) => req],
  ['a framework that wraps Node’s request, as Fastify', (raw: IncomingMessage) => ({ raw })],
])('the response to a request of %s is known', async (_name, wrapped) => {
  trackResponses();
  const origin = await listen((req) => void requiredResponse(wrapped(req) as never).end('found'));
  expect(await (await fetch(origin)).text()).toBe('found');
});

it('the response to a request of another server is the one that the app has set', () => {
  const res = fakeResponse();
  expect(requiredResponse(asRequest({ res }))).toBe(res);
  expect(() => requiredResponse(asRequest({}))).toThrow(/set req\.res = res/);
});

it.each([
  [{ secure: true, socket: {} }, true],
  [{ secure: false, socket: { encrypted: true } }, false],
  [{ socket: { encrypted: true } }, true],
  [{ socket: {} }, false],
  [{}, false],
])('https is known by the framework, else by the socket: %o', (req, expected) => {
  expect(isSecure(asRequest(req))).toBe(expected);
});

it('a cookie ends with its lifetime, replaces one of its name, and is deleted', () => {
  const res = fakeResponse();
  const cookies = () =>
    [res.getHeader('Set-Cookie')].flat().map((line) => parseSetCookie(`${line}`));
  setCookie(asRequest({ secure: false }), res, 'a', 'replaced', 60_999);
  setCookie(asRequest({ secure: true }), res, 'ab', 'c', 60_999);
  clearCookie(asRequest({ secure: false }), res, 'a');
  const common = { path: '/', httpOnly: true, sameSite: 'lax' };
  expect(cookies()).toEqual([
    { name: 'ab', value: 'c', maxAge: 60, secure: true, ...common },
    { name: 'a', value: '', maxAge: 0, ...common },
  ]);
});

const PAGE = { accept: 'text/html' };
it.each<[object, string, boolean]>([
  [PAGE, 'GET', true],
  [PAGE, 'HEAD', true],
  [PAGE, 'POST', false],
  [{ ...PAGE, 'sec-fetch-mode': 'navigate' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors' }, 'GET', false],
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'node' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'not node' }, 'GET', false],
  [{ ...PAGE, 'x-requested-with': 'XMLHttpRequest' }, 'GET', false],
  [{ ...PAGE, purpose: 'prefetch' }, 'GET', false],
  [{}, 'GET', false],
])('%o with %s is a navigation: %s', (headers, method, expected) => {
  expect(isNavigation(asRequest({ headers, method }))).toBe(expected);
});

it.each([
  [{ 'sec-purpose': 'prefetch;prerender' }, true],
  [{ purpose: 'Prefetch' }, true],
  [{ 'x-moz': 'prefetch' }, true],
  [{ purpose: 'click' }, false],
  [{}, false],
])('%o is a prefetch: %s', (headers, expected) => {
  expect(isPrefetch(asRequest({ headers }))).toBe(expected);
});

it.each<[string | undefined, boolean]>([
  ['text/html', true],
  ['text/html, application/json', true],
  ['application/json, text/html', false],
  ['application/json;q=0.9, text/html', true],
  ['text/html;q=0.2, application/json;q=0.3', false],
  ['application/problem+json, text/html', false],
  ['text/html, */*', true],
  ['text/html;q=0, */*', false],
  ['*/*', false],
  ['image/png', false],
  [undefined, false],
])('with Accept: %s a page is preferred to JSON: %s', (accept, expected) => {
  expect(prefersHtml(asRequest({ headers: { accept } }))).toBe(expected);
});
