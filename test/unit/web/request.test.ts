import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { clientOption } from '../../../src/web/client.js';
import { isNavigation, prefersHtml, queryOf } from '../../../src/web/request.js';
import { hearWarnings } from '../../support/warnings.js';

const asRequest = (fields: object) => fields as IncomingMessage & never;

const PAGE = { accept: 'text/html' };
it.each<[object, string, boolean]>([
  [PAGE, 'GET', true],
  [PAGE, 'HEAD', true],
  [PAGE, 'POST', false],
  [{ ...PAGE, 'sec-fetch-mode': 'navigate' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors' }, 'GET', false],
  [{ ...PAGE, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 'GET', false],
  // As a service worker passes a navigation on.
  [{ ...PAGE, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'empty' }, 'GET', true],
  // Node's own fetch always says "cors".
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'node' }, 'GET', true],
  [{ ...PAGE, 'x-requested-with': 'XMLHttpRequest' }, 'GET', false],
  [{}, 'GET', false],
])('%o with %s is a navigation: %s', (headers, method, expected) => {
  expect(isNavigation(asRequest({ headers, method }))).toBe(expected);
});

it.each([
  ...['sec-purpose: prefetch;prerender', 'sec-purpose: Prerender', 'x-sec-purpose: prefetch'],
  ...['purpose: prefetch', 'x-purpose: preview', 'x-moz: prefetch', 'hx-preloaded: true'],
  ...['next-router-prefetch: 1', 'x-middleware-prefetch: 1'],
])('a request with %s comes before a click, and is no navigation', (header) => {
  const [name = '', value] = header.split(': ');
  const headers = { ...PAGE, [name]: value };
  expect(isNavigation(asRequest({ headers, method: 'GET' }))).toBe(false);
});

it.each<[string | undefined, boolean]>([
  ['text/html, application/json', true],
  ['application/json, text/html', false],
  ['application/json;q=0.9, text/html', true],
  ['application/problem+json, text/html', false],
  ['text/html;q=0, */*', false],
  ['*/*', false],
  [undefined, false],
])('with Accept: %s a page is preferred to JSON: %s', (accept, expected) => {
  expect(prefersHtml(asRequest({ headers: { accept } }))).toBe(expected);
});

it('the query is what the framework has parsed, or that of the URL', () => {
  const url = '/?purchase_code=a&b=1&b=2';
  // Express without a query parser has an empty one, and restify a function.
  for (const query of [undefined, {}, () => 'purchase_code=x']) {
    expect(queryOf(asRequest({ url, query }))).toEqual({ purchase_code: 'a', b: ['1', '2'] });
  }
  expect(queryOf(asRequest({ url, query: { c: 'd' } }))).toEqual({ c: 'd' });
});

it('visitors without an address count as one, with a warning, unless the visitor has left', () => {
  const warnings = hearWarnings();
  const client = clientOption('requirePurchase', 'client', undefined);
  expect(client({ headers: {}, socket: { destroyed: true } } as never)).toBe('unknown');
  expect(warnings).toEqual([]);
  expect(client({ headers: {} } as never)).toBe('unknown');
  expect(warnings).toEqual(['MARKETGATE_NO_CLIENT_ADDRESS']);
});
