import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { clientOption } from '../../../src/web/client.js';
import { isNavigation, prefersHtml } from '../../../src/web/request.js';
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
  ['sec-purpose', 'prefetch;prerender'],
  ['sec-purpose', 'Prerender'],
  ['x-sec-purpose', 'prefetch'],
  ['purpose', 'prefetch'],
  ['x-purpose', 'preview'],
  ['x-moz', 'prefetch'],
  ['next-router-prefetch', '1'],
  ['x-middleware-prefetch', '1'],
  ['hx-preloaded', 'true'],
])('a request with %s: %s comes before a click, and is no navigation', (name, value) => {
  expect(isNavigation(asRequest({ headers: { ...PAGE, [name]: value }, method: 'GET' }))).toBe(
    false,
  );
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

it('visitors without an address count as one, with a warning', () => {
  const warnings = hearWarnings();
  expect(clientOption('requirePurchase', 'client', undefined)({ headers: {} } as never)).toBe(
    'unknown',
  );
  expect(warnings).toEqual(['MARKETGATE_NO_CLIENT_ADDRESS']);
});

it('a visitor who has left has no address any more, which is no reason for a warning', () => {
  const warnings = hearWarnings();
  const left = { headers: {}, socket: { destroyed: true } };
  expect(clientOption('requirePurchase', 'client', undefined)(left as never)).toBe('unknown');
  expect(warnings).toEqual([]);
});
