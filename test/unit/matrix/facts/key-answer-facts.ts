import { account, item, purchase } from '../../../support/wire.js';
import { type AnswerFact, type End, NOT_NOW, PAGE, REFUSED_4XX } from './answer-fact.js';

/** The endpoints of interface A: a payload, one of another shape, and the documented *no*. */
export const KEY_ENDPOINTS = {
  '/api/account/details': {
    payload: { data: account },
    broken: { data: {} },
    no: 'Invalid request',
  },
  '/api/items/all': { payload: { items: [item] }, broken: { items: [{}] }, no: 'No items found' },
  '/api/items/item': { payload: { item }, broken: { item: { id: 'x' } }, no: 'Item Not Found' },
  '/api/purchases/validation': {
    payload: { data: { purchase } },
    broken: { data: { purchase: { ...purchase, item: {} } } },
    no: 'Invalid purchase code',
  },
} as const;

export type KeyEndpoint = keyof typeof KEY_ENDPOINTS;

const ofKeyApi = (account: End, others: End): Readonly<Record<KeyEndpoint, End>> => ({
  '/api/account/details': account,
  '/api/items/all': others,
  '/api/items/item': others,
  '/api/purchases/validation': others,
});
const all = (end: End) => ofKeyApi(end, end);
const payload = (endpoint: KeyEndpoint): object => KEY_ENDPOINTS[endpoint].payload;
const no = (endpoint: KeyEndpoint): string => KEY_ENDPOINTS[endpoint].no;

export const KEY_ANSWER_FACTS: readonly AnswerFact<KeyEndpoint>[] = [
  {
    name: 'a payload: its body goes first',
    statuses: [200, 201, 400, 404, 422],
    body: (e) => ({ status: 'success', ...payload(e) }),
    ends: all('answer'),
  },
  {
    name: 'a payload whose status is translated, or missing',
    statuses: [200],
    body: (e) => ({ ...(e === '/api/items/all' ? {} : { status: 'erfolgreich' }), ...payload(e) }),
    ends: all('answer'),
  },
  {
    name: 'a payload with a byte order mark ahead of it',
    statuses: [200],
    body: (e) => `\uFEFF${JSON.stringify({ status: 'success', ...payload(e) })}`,
    ends: all('answer'),
  },
  {
    name: 'a payload with blanks ahead of it and behind',
    statuses: [200],
    body: (e) => `\r\n\t ${JSON.stringify({ status: 'success', ...payload(e) })} \n`,
    ends: all('answer'),
  },
  {
    name: 'a payload with text ahead of it',
    statuses: [200, 404],
    body: (e) => `<br />Warning: x\n${JSON.stringify({ status: 'success', ...payload(e) })}`,
    ends: all('unexpected_response'),
  },
  {
    name: 'a payload with status "error"',
    statuses: [200, 404],
    body: (e) => ({ status: 'error', ...payload(e) }),
    ends: all('unexpected_response'),
  },
  {
    name: 'a payload of another shape',
    statuses: [200, 404],
    body: (e) => ({ status: 'success', ...KEY_ENDPOINTS[e].broken }),
    ends: all('unexpected_response'),
  },

  {
    name: 'the documented no',
    statuses: [200, 201, 401, 403, 404, ...REFUSED_4XX],
    body: (e) => ({ status: 'error', msg: no(e) }),
    ends: ofKeyApi('api_key_rejected', 'no'),
  },
  {
    name: 'the documented no in another letter case',
    statuses: [200, 400],
    body: (e) => ({ status: 'ERROR', msg: no(e).toUpperCase() }),
    ends: ofKeyApi('api_key_rejected', 'no'),
  },
  {
    name: 'the documented no, at a status that says "not now"',
    statuses: NOT_NOW,
    body: (e) => ({ status: 'error', msg: no(e) }),
    ends: all('service_unavailable'),
  },
  {
    name: 'the words of the no without status "error"',
    statuses: [200, 400],
    body: (e) => ({ status: 'success', msg: no(e) }),
    ends: all('service_refused'),
  },
  {
    name: 'any msg with HTTP 404',
    statuses: [404],
    body: () => ({ status: 'Fehler', msg: 'Nicht gefunden' }),
    ends: ofKeyApi('api_key_rejected', 'no'),
  },
  {
    name: 'any msg with HTTP 401 or 403',
    statuses: [401, 403],
    body: () => ({ status: 'Fehler', msg: 'Nicht erlaubt' }),
    ends: ofKeyApi('api_key_rejected', 'service_refused'),
  },
  {
    name: 'another msg',
    statuses: [200, ...REFUSED_4XX],
    body: () => ({ status: 'error', msg: 'The item id field is required.' }),
    ends: all('service_refused'),
  },
  {
    name: 'a msg that is no text',
    statuses: [200, 404],
    body: () => ({ status: 'error', msg: 7 }),
    ends: all('unexpected_response'),
  },
  {
    name: '{message}',
    statuses: [200, 401, 403, 404],
    body: () => ({ message: 'Not Found' }),
    ends: all('unexpected_response'),
  },
  {
    name: 'JSON without a payload',
    statuses: [200, 404],
    body: () => ({ status: 'success' }),
    ends: all('unexpected_response'),
  },
  {
    name: 'JSON that is no object',
    statuses: [200, 404],
    body: (e) => (e === '/api/items/item' ? ['x'] : e === '/api/items/all' ? 'null' : '"x"'),
    ends: all('unexpected_response'),
  },
  { name: 'a page', statuses: [200, 401, 403, 404], body: PAGE, ends: all('unexpected_response') },
  { name: 'nothing', statuses: [200, 204, 404], body: '', ends: all('unexpected_response') },
  { name: 'cut JSON', statuses: [200], body: '{"status":"suc', ends: all('unexpected_response') },
  {
    name: 'a page at a status that says "not now"',
    statuses: NOT_NOW,
    body: PAGE,
    ends: all('service_unavailable'),
  },
  {
    name: '{message} at a status that says "not now"',
    statuses: NOT_NOW,
    body: () => ({ message: 'Server Error' }),
    ends: all('service_unavailable'),
  },
];
