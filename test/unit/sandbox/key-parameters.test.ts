import { beforeEach, describe, expect, it } from 'vitest';
import { at, type Running, start } from './support.js';

const PATH = '/api/purchases/validation';

let running: Running;
beforeEach(async () => {
  running = await start();
});

const formData = (fields: Record<string, string | Blob | string[]>): FormData => {
  const form = new FormData();
  for (const [name, values] of Object.entries(fields))
    for (const value of [values].flat()) form.append(name, value as string);
  return form;
};

it('validation reads its parameters from a form, a multipart body, JSON or the query', async () => {
  const parameters = { api_key: running.apiKey, purchase_code: running.code('supported') };
  for (const { body } of [
    await running.post(PATH, parameters),
    await running.send(PATH, { method: 'POST', body: formData(parameters) }),
    await running.postJson(PATH, parameters),
    await running.post(`${PATH}?${new URLSearchParams(parameters)}`, {}),
  ]) {
    expect(at(body, 'data.purchase.item.id')).toBe(1042);
  }
});

describe('a parameter', () => {
  it('is trimmed', async () => {
    expect((await running.validate(`  ${running.code('supported')}\n`)).status).toBe(200);
  });

  const REQUIRED = 'The purchase code field is required.';
  const TEXT = 'The purchase code must be a string.';
  it.each([
    ['\t \n', REQUIRED],
    [null, REQUIRED],
    [123, TEXT],
    [{ a: 1 }, TEXT],
  ])('that is %j in JSON is refused: 400 %s', async (purchase_code, msg) => {
    const { status, body } = await running.postJson(PATH, { api_key: 'x', purchase_code });
    expect([status, body]).toEqual([400, { status: 'error', msg }]);
  });

  it.each([
    ['a file', new Blob(['x'])],
    ['repeated', ['x', 'x']],
  ])('that is %s in a multipart body is refused: 400', async (_what, purchase_code) => {
    const sent = { method: 'POST', body: formData({ api_key: 'x', purchase_code }) };
    const { status, body } = await running.send(PATH, sent);
    expect([status, body.msg]).toEqual([400, TEXT]);
  });

  it.each([
    ['api_key=x', 400, 'The api key must be a string.'],
    ['item_id[]=1042', 400, 'The item id field is required.'],
    ['', 400, 'The item id field is required.'],
    ['item_id=abc', 400, 'The item id must be an integer.'],
    ['item_id=1042.5', 400, 'The item id must be an integer.'],
    ['item_id=-1042', 404, 'Item Not Found'],
    ['item_id=99999999999999999999', 404, 'Item Not Found'],
  ])('"%s" of items/item, after an api_key: %i %s', async (query, ...expected) => {
    const path = `/api/items/item?api_key=${running.apiKey}&${query}`;
    const { status, body } = await running.get(path);
    expect([status, body.msg]).toEqual(expected);
  });
});

const error = (msg: string) => ({ status: 'error', msg });
const loginError = (message: string) => ({ error: true, message });
const GET_ONLY = 'This endpoint takes GET requests only.';
const NO_ENDPOINT = 'There is no such endpoint.';
it.each([
  ['POST', '/api/account/details', 405, 'GET', error(GET_ONLY)],
  ['GET', PATH, 405, 'POST', error(GET_ONLY.replace('GET', 'POST'))],
  ['PUT', '/api/get_user_info', 405, 'GET', loginError(GET_ONLY)],
  ['GET', '/api/items/foo', 404, null, error(NO_ENDPOINT)],
  ['POST', '/api/foo', 404, null, loginError(NO_ENDPOINT)],
])('%s %s: %i, Allow: %s, %j', async (method, path, expected, allow, json) => {
  const { status, headers, body } = await running.send(path, { method });
  expect([status, headers.get('allow'), body]).toEqual([expected, allow, json]);
});

it.each([
  [PATH, 'application/json', '{"api_key":"7d1f0c9a', 400],
  [PATH, 'application/json', `{"pad":"${'x'.repeat(200_000)}"}`, 413],
  [PATH, 'application/x-www-form-urlencoded; charset=koi8-r', 'api_key=x', 415],
  [PATH, 'multipart/form-data; boundary=b', '--b\r\n7d1f0c9a', 400],
  ['/api/authorize', 'application/x-www-form-urlencoded', `auth_key=${'x'.repeat(200_000)}`, 413],
])(
  '%s: a body that nobody can read, %s %.12s…, is answered %i in JSON without stack or body',
  async (path, type, sent, expected) => {
    const init = { method: 'POST', headers: { 'content-type': type }, body: sent };
    const { status, body } = await running.send(path, init);
    const said = expect.stringMatching(/^[A-Z][a-z ]+[^{]*\.$/);
    expect([status, body]).toEqual([expected, path === PATH ? error(said) : loginError(said)]);
    expect(JSON.stringify(body)).not.toMatch(/7d1f0c9a|\bat .*\.[jt]s|node_modules/);
  },
);
