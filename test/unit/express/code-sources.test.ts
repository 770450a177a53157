import { type CodeSource, firstOf, fromBody, fromHeader, fromQuery, fromSession } from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { hearWarnings } from '../../support/warnings.js';

const find = (source: CodeSource, req: object): unknown => source(req as never);

it.each<[string, () => CodeSource, object, found?: string]>([
  ['a header', () => fromHeader('X-My-Code'), { headers: { 'x-my-code': 'c' } }, 'c'],
  ['a field of the body', () => fromBody('code'), { body: { code: 'c' } }, 'c'],
  ['the query', () => fromQuery(), { query: { purchase_code: 'c' } }, 'c'],
  ['the session', () => fromSession(), { session: { purchase_code: 'c' } }, 'c'],
  ['a body of null', () => fromBody(), { body: null }],
  ['what every object has', () => fromBody('toString'), { body: {} }],
])('a source finds in %s only what is there', (_name, make, req, found) => {
  expect(find(make(), req)).toBe(found);
});

it('fromSession warns where there is no session, and not where it is empty', () => {
  const warnings = hearWarnings();
  expect(find(fromSession(), { session: {} })).toBeUndefined();
  expect(warnings).toEqual([]);
  for (const _twice of [1, 2]) expect(find(fromSession(), {})).toBeUndefined();
  expect(warnings).toEqual(['MARKETGATE_NO_SESSION']);
});

const FORM = 'application/x-www-form-urlencoded';
it.each<[type: string, body: unknown, isRead: boolean, warns: boolean]>([
  [FORM, undefined, false, true],
  ['multipart/form-data; boundary=x', undefined, false, true],
  ['text/plain;charset=UTF-8', undefined, false, true],
  ['application/json', undefined, false, true],
  ['application/vnd.api+json', undefined, false, true],
  ['text/plain', '{"purchase_code":"c"}', true, true],
  [FORM, Buffer.from('purchase_code=c'), true, true],
  // As the parsers of Express 4 leave it for another type, and multer for a form that has only files.
  ['multipart/form-data', {}, false, true],
  ['multipart/form-data', {}, true, false],
  [FORM, { name: 'x' }, true, false],
  ['application/octet-stream', undefined, false, false],
])('fromBody, with %s as %j, read %s: warns of a missing parser: %s', (...row) => {
  const [type, body, readableDidRead, warns] = row;
  const warnings = hearWarnings();
  const headers = { 'content-type': type, 'content-length': '9' };
  find(fromBody(), { headers, body, readableDidRead });
  expect(warnings).toEqual(warns ? ['MARKETGATE_NO_BODY_PARSER'] : []);
  find(fromBody(), { headers: { ...headers, 'content-length': '0' } });
  expect(warnings).toHaveLength(warns ? 1 : 0);
});

it.each(expressVersions)('fromBody warns of the wrong parser, on %s', async (_version, express) => {
  const warnings = hearWarnings();
  const app = express().use(express.json(), express.urlencoded({ extended: false }));
  app.use((req, res) => res.json(fromBody()(req) ?? null));
  const { body } = await request(app).post('/').type('form').send('purchase_code=c');
  await request(app).post('/').send(' { } ');
  expect([body, warnings]).toEqual(['c', []]);
  await request(app).post('/').field('purchase_code', 'c');
  expect(warnings).toEqual(['MARKETGATE_NO_BODY_PARSER']);
});

it('a header that came twice gives both values', () => {
  const twice = { headers: { 'x-code': 'a, b' } };
  expect(find(fromHeader('X-Code'), twice)).toEqual(['a', 'b']);
});

it.each<[sent: string, bytes: Buffer, found: string]>([
  ['UTF-8, as curl', Buffer.from('a\u2013b\u00a0'), 'a\u2013b\u00a0'],
  ['Latin-1, as a browser', Buffer.from('\u00abab\u00bb', 'latin1'), '\u00abab\u00bb'],
])('a header is read in the charset that it was sent in: %s', (_sent, bytes, found) => {
  // As Node.js reads all headers.
  const headers = { 'x-code': bytes.toString('latin1') };
  expect(find(fromHeader('x-code'), { headers })).toBe(found);
});

it('firstOf goes on where a source gives nothing, and stops at the first that has something, also no text', async () => {
  const after = vi.fn(async () => 'c');
  const none = [undefined, null, false, '', ' ', [], [' ', '']].map((value) => async () => value);
  expect(await find(firstOf(...none), {})).toBeUndefined();
  expect(await find(firstOf(...none, after, after), {})).toBe('c');
  for (const value of [7, ['a', 'b']]) {
    const source = firstOf(() => value, after);
    expect(await find(source, {})).toEqual(value);
  }
  expect(after).toHaveBeenCalledTimes(1);
});
