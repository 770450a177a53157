import { account, CODE, item, purchase } from '../support/wire.js';
import {
  type AnswerRow,
  answerRow,
  BUSY,
  type End,
  NOT_NOW,
  PAGE,
  REFUSED_4XX,
} from './answer-row.js';

/** The endpoints of the key API: a payload, one of another shape, and the `msg` of the negative answer. */
// biome-ignore format: a table is read by its columns
export const KEY_ENDPOINTS = {
  account: { path: '/api/account/details', payload: { data: account }, broken: { data: {} }, no: 'Invalid request' },
  items: { path: '/api/items/all', payload: { items: [item] }, broken: { items: [{}] }, no: 'No items found' },
  item: { path: '/api/items/item', payload: { item }, broken: { item: { id: 'x' } }, no: 'Item Not Found' },
  purchase: { path: '/api/purchases/validation', payload: { data: { purchase } }, broken: { data: { purchase: { ...purchase, item: {} } } }, no: 'Invalid purchase code' },
} as const;

const OTHER_CODE = '11111111-2222-4333-8444-555555555555';

/** What may stand in an answer for the code that was asked for, and what may not. */
export const SPELLINGS: readonly (readonly [sent: unknown, asked: string, isAbout: boolean])[] = [
  [CODE, CODE, true],
  [CODE.toUpperCase(), CODE, true],
  [` ${CODE.replaceAll('-', '\u2011')}\n`, CODE, true],
  ['4f0c1d9e-****-****-****-************', CODE, true],
  [1234567890, '1234567890', true],
  [OTHER_CODE, CODE, false],
  [CODE.replaceAll('-', ''), CODE, false],
  [CODE.slice(0, -1), CODE, false],
  [1234567890, '1234567891', false],
];

export type KeyEndpoint = keyof typeof KEY_ENDPOINTS;

type Ends = AnswerRow<KeyEndpoint>['ends'];

const ends = (account: End, others: End): Ends => ({
  account,
  items: others,
  item: others,
  purchase: others,
});
const all = (end: End): Ends => ends(end, end);
const NEGATIVE = ends('api_key_rejected', 'negative');
const UNEXPECTED = all('unexpected_response');
const UNAVAILABLE = all('service_unavailable');

const payload = (e: KeyEndpoint): object => KEY_ENDPOINTS[e].payload;
/** The payload about another code or item. */
const other = (e: KeyEndpoint): object =>
  e === 'item'
    ? { status: 'success', item: { ...item, id: 7 } }
    : { data: { purchase: { ...purchase, purchase_code: OTHER_CODE } } };
const no = (e: KeyEndpoint): string => KEY_ENDPOINTS[e].no;
const row = answerRow<KeyEndpoint>;

/** Bodies of gateways and frameworks, with HTTP 404: they say nothing about a code or an item. */
const FRAMEWORK_404: readonly object[] = [
  { msg: 'Page not found' },
  { status: 404, msg: 'Nicht gefunden' },
  { status: 'Fehler', msg: 'Nicht gefunden', data: null },
  ...['404', 'NOT_FOUND', 'Not  Found', 'Failed', 'success', 'ok ', '', 'E404'].map((status) => ({
    status,
    msg: 'Nicht gefunden',
  })),
  ...['...', 'NOT FOUND.', 'Nichts unter api/items', 'api\\items is unknown', 'Nothing at 404'],
  ...['Cannot POST', 'No route matches', 'The page does not exist', 'Unknown endpoint'],
  ...['The requested URL was not found', 'Resource nicht gefunden', 'No such method', 'Two paths'],
].map((body) => (typeof body === 'string' ? { status: 'Fehler', msg: body } : body));

// biome-ignore format: a table is read by its columns
export const KEY_API_ROWS: readonly AnswerRow<KeyEndpoint>[] = [
  row('a payload: its body goes first', [200, 201, 400, 404, 422, 500], (e) => ({ status: 'success', ...payload(e) }), all('positive')),
  row('a payload whose status is translated, or missing', [200], (e) => ({ ...(e !== 'items' && { status: 'erfolgreich' }), ...payload(e) }), all('positive')),
  row('a payload among fields that nobody knows', [200], (e) => ({ took: '3ms', ...payload(e), trace: { deep: [7] } }), all('positive')),
  row('a purchase under "item"', [200], () => ({ item: purchase }), { purchase: 'positive' }),
  row('an empty list', [200, 404], () => ({ items: [] }), { items: 'negative' }),
  row('an empty list, at a status that says "not now"', NOT_NOW, () => ({ items: [] }), { items: 'service_unavailable' }, /\(HTTP \d+\)/),
  row('an empty map in place of the list', [200, 404], () => ({ items: {} }), { items: 'unexpected_response' }),
  row('a payload with a byte order mark ahead of it', [200], (e) => `\uFEFF${JSON.stringify(payload(e))}`, all('positive')),
  row('a payload with blanks ahead of it and behind', [200], (e) => `\r\n\t ${JSON.stringify(payload(e))} \n`, all('positive')),
  row('a payload with text ahead of it', [200, 404], (e) => `<br />Warning: x\n${JSON.stringify(payload(e))}`, UNEXPECTED, /text ahead of the JSON/),
  row('a payload with status "error"', [200, 404], (e) => ({ status: 'error', ...payload(e) }), UNEXPECTED, /JSON of another shape \(HTTP \d+\)/),
  row('a payload of another shape', [200, 404], (e) => ({ status: 'success', ...KEY_ENDPOINTS[e].broken }), UNEXPECTED, /documented shape: /),
  row('a payload of another shape, at a status that says "not now"', NOT_NOW, (e) => KEY_ENDPOINTS[e].broken, UNAVAILABLE, /\(HTTP \d+\)/),
  row('another purchase or item than was asked for', [200, 201, 400, 404], other, { item: 'unexpected_response', purchase: 'unexpected_response' }, /about something else/),
  row('a payload of another shape, with a msg', [200], (e) => ({ msg: no(e), ...KEY_ENDPOINTS[e].broken }), UNEXPECTED, /documented shape: /),

  row('the documented no', [200, 201, 401, 403, 404, ...REFUSED_4XX], (e) => ({ status: 'error', msg: no(e) }), NEGATIVE, /"apiKey"/),
  row('the documented no in another letter case', [200, 400], (e) => ({ status: 'ERROR', msg: no(e).toUpperCase() }), NEGATIVE),
  row('the documented no beside a payload', [200], (e) => ({ status: 'error', msg: no(e), ...payload(e) }), NEGATIVE),
  row('the documented no, at a status that says "not now"', NOT_NOW, (e) => ({ status: 'error', msg: no(e) }), UNAVAILABLE, /\(HTTP \d+\)/),
  row('the words of the no without status "error"', [200, 400], (e) => ({ status: 'success', msg: no(e) }), all('service_refused')),
  row('the no of another endpoint', [200], (e) => ({ status: 'error', msg: no(e === 'item' ? 'items' : 'item') }), all('service_refused')),
  ...[
    { status: 'Fehler', msg: 'Nicht gefunden' },
    { status: 'hata', msg: 'Satın alma kodu geçersiz.' },
    { status: 'त्रुटि', msg: 'अमान्य खरीद कोड!' },
    { status: 'error', msg: 'This purchase is unknown' },
    { status: 'Fehler', msg: 'Seite nicht gefunden' },
    { status: 'fejl', msg: 'Koden er sendt med post' },
  ].map((body) => row(`a translated no with HTTP 404, ${JSON.stringify(body)}`, [404], () => body, NEGATIVE)),
  ...FRAMEWORK_404.map((body) => row(`a framework's 404, ${JSON.stringify(body)}`, [404], () => body, UNEXPECTED, /another shape \(HTTP 404\)/)),
  row('a translated no, at a status that says "not now"', BUSY, () => ({ status: 'Fehler', msg: 'Nicht gefunden' }), UNAVAILABLE),
  row('the documented no among fields that nobody knows', [200, 404], (e) => ({ status: 'error', msg: no(e), statusCode: 404, path: '/api' }), NEGATIVE),
  row('any msg and status, with another status of HTTP', [200, ...REFUSED_4XX], () => ({ status: 'Fehler', msg: 'Nicht gefunden' }), all('service_refused')),
  row('a msg without a status, with 405, 413 or 415', [405, 413, 415], () => ({ msg: 'Method Not Allowed' }), all('service_refused')),
  row('any msg with HTTP 401 or 403', [401, 403], () => ({ status: 'Fehler', msg: 'Nicht erlaubt' }), ends('api_key_rejected', 'service_refused')),
  row('another msg', [200, ...REFUSED_4XX], () => ({ status: 'error', msg: 'The item id field is required.' }), all('service_refused'), /refused \(HTTP \d+\): "The item id field is required\."/),
  row('a msg that is no text', [200, 404], (e) => ({ status: 'error', msg: e === 'item' ? [no(e)] : 7 }), UNEXPECTED, /another shape/),
  row('{message}', [200, 401, 403, 404], () => ({ message: 'Not Found' }), UNEXPECTED),
  row('JSON that says "error" and no more', [200, 404], () => ({ status: 'error' }), UNEXPECTED, /another shape/),
  row('a payload of null', [200], () => ({ data: null, items: null, item: null }), UNEXPECTED),
  row('JSON that is no object', [200, 404], (e) => (e === 'item' ? [{ msg: 'x' }] : e === 'items' ? 'null' : JSON.stringify(no(e))), UNEXPECTED, /another shape \(HTTP \d+\)/),
  row('a page', [200, 401, 403, 404], PAGE, UNEXPECTED, /HTML page \(HTTP \d+\)/),
  row('nothing', [200, 204, 404], '', UNEXPECTED),
  row('cut JSON', [200], '{"status":"suc', UNEXPECTED),
  row('the no behind a PHP warning', [200, 404], (e) => `Warning: x\n${JSON.stringify({ status: 'error', msg: no(e) })}`, UNEXPECTED),
  row('a redirect', [301, 302, 307, 308], '', UNEXPECTED, /redirected/),
  row('a page at a status that says "not now"', BUSY, PAGE, UNAVAILABLE, /too many requests|failed \(HTTP \d+\)/),
];
