import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import {
  clearCookie,
  handleThrown,
  isNavigation,
  isPrefetch,
  isSecure,
  pathOf,
  prefersHtml,
  queryOf,
  redirect,
  requiredResponse,
  responseOf,
  setCookie,
  trackResponses,
} from '../../../src/express/plain-http.js';
import { listen } from '../../support/listen.js';

type Fields = Record<string, unknown>;
const asRequest = (fields: Fields) => fields as unknown as IncomingMessage & never;
const withHeaders = (headers: Record<string, string>, method = 'GET') =>
  asRequest({ headers, method });

/** A response that only keeps what it is given. */
function makeResponse(fields: Fields = {}) {
  const headers: Record<string, unknown> = {};
  const methods = {
    getHeader: (name: string) => headers[name],
    getHeaderNames: () => Object.keys(headers),
    setHeader: (name: string, value: unknown) => Object.assign(headers, { [name]: value }),
    removeHeader: (name: string) => Reflect.deleteProperty(headers, name),
    end: vi.fn(),
    destroy: vi.fn(),
  };
  const res = { ...methods, headers, ...fields };
  return res as typeof res & ServerResponse;
}

it('the path is what the client sent, and a slash when nothing says it', () => {
  expect(pathOf(asRequest({ originalUrl: '/shop/a', url: '/a' }))).toBe('/shop/a');
  expect(pathOf(asRequest({}))).toBe('/');
});

it.each([
  [{ query: { a: '1' }, url: '/?a=2' }, { a: '1' }],
  [{ query: null, url: '/?a=2' }, { a: '2' }],
  [{ query: {}, url: '/?a=2' }, { a: '2' }],
  [{ url: '/?a=1&a=2?&b=' }, { a: ['1', '2?'], b: '' }],
  [{ url: '/a' }, {}],
  [{}, {}],
])('the query of %o is %o', (req, query) => {
  expect({ ...queryOf(asRequest(req)) }).toEqual(query);
});

describe('the response to a request', () => {
  it('is the one that the framework has set on the request', () => {
    const res = makeResponse();
    expect(responseOf(asRequest({ res }))).toBe(res);
  });

  it.each([
    ['Node’s HTTP server', (req: IncomingMessage) => req],
    ['a framework that wraps Node’s request, as Fastify', (raw: IncomingMessage) => ({ raw })],
  ])('of %s is known without it', async (_name, wrapped) => {
    trackResponses();
    trackResponses();
    const origin = await listen((req, res) => {
      requiredResponse(wrapped(req) as never).end(String(responseOf(req as never) === res));
    });
    expect(await (await fetch(origin)).text()).toBe('true');
  });

  it.each([{}, { raw: {} }])('of another request, such as %o, must be set by the app', (req) => {
    expect(responseOf(asRequest(req))).toBeUndefined();
    expect(() => requiredResponse(asRequest(req))).toThrow(/set req\.res = res/);
  });
});

describe('what an app throws', () => {
  it('goes to Express, or is logged and answered with a plain 500', () => {
    const next = vi.fn();
    handleThrown({ next }, makeResponse(), 'a text');
    expect(next.mock.calls).toEqual([[expect.any(Error)]]);
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const error = new Error('mine');
    const res = makeResponse();
    res.setHeader('Content-Type', 'video/mp4');
    handleThrown({}, res, error);
    expect(log).toHaveBeenCalledExactlyOnceWith(error);
    expect([res.statusCode, res.headers]).toEqual([500, {}]);
    expect(res.end).toHaveBeenCalledWith('Internal Server Error');
    expect(res.destroy).not.toHaveBeenCalled();
  });

  it.each([
    ['no response', undefined],
    [
      'the response of an upgrade',
      makeResponse({ getHeaderNames: undefined, removeHeader: undefined, end: undefined }),
    ],
    ['a response that has ended', makeResponse({ writableEnded: true, headersSent: true })],
  ])('does no harm with %s', (_name, res) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    handleThrown({}, res, new Error('mine'));
    if (res?.writableEnded) expect(res.destroy).not.toHaveBeenCalled();
    if (res?.writableEnded) expect(res.end).not.toHaveBeenCalled();
  });
});

it('https is known by the framework, else by the socket', () => {
  expect(isSecure(asRequest({ secure: true, socket: {} }))).toBe(true);
  expect(isSecure(asRequest({ secure: false, socket: { encrypted: true } }))).toBe(false);
  expect(isSecure(asRequest({ socket: { encrypted: true } }))).toBe(true);
  expect(isSecure(asRequest({ socket: {} }))).toBe(false);
  expect(isSecure(asRequest({}))).toBe(false);
});

it('a cookie ends with its lifetime, and is deleted by one that has none', () => {
  const res = makeResponse();
  setCookie(asRequest({ secure: false }), res, 'a', 'replaced', 60_999);
  setCookie(asRequest({ secure: true }), res, 'ab', 'c', 60_999);
  clearCookie(asRequest({ secure: false }), res, 'a');
  expect(res.headers['Set-Cookie']).toEqual([
    'ab=c; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax',
    'a=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
  ]);
});

it('a redirect is sent once, in letters that a header can hold', () => {
  const res = makeResponse();
  redirect(res, '/für 😀%20');
  expect([res.statusCode, res.headers.Location]).toEqual([302, '/f%C3%BCr%20%F0%9F%98%80%20']);
  expect(res.end).toHaveBeenCalledOnce();
  const sent = makeResponse({ headersSent: true });
  redirect(sent, '/');
  expect([sent.headers, sent.end.mock.calls]).toEqual([{}, []]);
});

const PAGE = { accept: 'text/html' };
it.each([
  [PAGE, 'GET', true],
  [PAGE, 'HEAD', true],
  [PAGE, 'POST', false],
  [{ ...PAGE, 'sec-fetch-mode': 'navigate' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors' }, 'GET', false],
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'node' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'undici' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'not node' }, 'GET', false],
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'nodejs' }, 'GET', false],
  [{ ...PAGE, 'x-requested-with': 'XMLHttpRequest' }, 'GET', false],
  [{ ...PAGE, 'x-requested-with': 'xmlhttprequest' }, 'GET', false],
  [{ ...PAGE, 'x-requested-with': 'com.example.app' }, 'GET', true],
  [{ ...PAGE, purpose: 'prefetch' }, 'GET', false],
  [{}, 'GET', false],
])('%o with %s is a navigation: %s', (headers, method, expected) => {
  expect(isNavigation(withHeaders(headers as Record<string, string>, method))).toBe(expected);
});

it.each(['sec-purpose', 'purpose', 'x-purpose', 'x-moz'])('%s tells a prefetch', (name) => {
  for (const value of ['prefetch', 'Prerender', 'preview']) {
    expect(isPrefetch(withHeaders({ [name]: value }))).toBe(true);
  }
  expect(isPrefetch(withHeaders({ [name]: 'click' }))).toBe(false);
});

it.each([
  ['text/html', true],
  ['TEXT/HTML', true],
  ['text/*', true],
  ['text/html, application/json', true],
  [' text/html , application/json', true],
  ['application/json, text/html', false],
  ['application/json;q=0.9, text/html', true],
  ['text/html;q=0.2, application/json;q=0.3', false],
  ['text/html;q=0.3, application/json;q=0.2', true],
  ['text/html, application/json;q=0', true],
  ['text/html;q=0, */*', false],
  ['text/html;q=0, */*;q=0', false],
  ['*/*, text/html;q=0.1', false],
  ['*/*, text/*', true],
  ['text/*, application/json', false],
  ['text/html, */*', true],
  ['application/*, text/html', true],
  ['application/*, text/*', false],
  ['text/html, application/problem+json', true],
  ['application/problem+json, text/html', false],
  ['image/png', false],
  ['*/*', false],
  ['', false],
])('with Accept: %s a page is preferred: %s', (accept, expected) => {
  expect(prefersHtml(withHeaders({ accept }))).toBe(expected);
});

it('without Accept JSON is preferred', () => {
  expect(prefersHtml(withHeaders({}))).toBe(false);
});
