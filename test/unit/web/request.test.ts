import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { isNavigation, prefersHtml } from '../../../src/web/request.js';

const asRequest = (fields: object) => fields as IncomingMessage & never;

const PAGE = { accept: 'text/html' };
it.each<[object, string, boolean]>([
  [PAGE, 'GET', true],
  [PAGE, 'HEAD', true],
  [PAGE, 'POST', false],
  [{ ...PAGE, 'sec-fetch-mode': 'navigate' }, 'GET', true],
  [{ ...PAGE, 'sec-fetch-mode': 'cors' }, 'GET', false],
  // Node's own fetch always says "cors".
  [{ ...PAGE, 'sec-fetch-mode': 'cors', 'user-agent': 'node' }, 'GET', true],
  [{ ...PAGE, 'x-requested-with': 'XMLHttpRequest' }, 'GET', false],
  [{ ...PAGE, purpose: 'prefetch' }, 'GET', false],
  [{ ...PAGE, 'x-sec-purpose': 'prefetch' }, 'GET', false],
  [{ ...PAGE, 'next-router-prefetch': '1' }, 'GET', false],
  [{}, 'GET', false],
])('%o with %s is a navigation: %s', (headers, method, expected) => {
  expect(isNavigation(asRequest({ headers, method }))).toBe(expected);
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
