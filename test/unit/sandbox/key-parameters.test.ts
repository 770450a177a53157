import { expect } from 'vitest';
import { it } from './support.js';

const PATH = '/api/purchases/validation';

const error = (msg: unknown) => ({ status: 'error', msg });
const loginError = (message: unknown) => ({ error: true, message });

it('validation reads its parameters, trimmed, from a form, a multipart body, JSON or the query', async ({
  running: { apiKey, code, post, postJson, send },
}) => {
  const parameters = { api_key: apiKey, purchase_code: `  ${code('supported')}\n` };
  const multipart = new FormData();
  for (const [name, value] of Object.entries(parameters)) multipart.append(name, value);
  for (const { body } of [
    await post(PATH, parameters),
    await send(PATH, { method: 'POST', body: multipart }),
    await postJson(PATH, parameters),
    await post(`${PATH}?${new URLSearchParams(parameters)}`, {}),
  ]) {
    expect(body.data?.purchase?.item?.id).toBe(1042);
  }
});

it.for([
  ['\t \n', 'field is required'],
  [['x', 'x'], 'must be a string'],
] as const)('a purchase code that is %j is refused: 400', async ([code, why], { running }) => {
  const { status, body } = await running.postJson(PATH, { api_key: 'x', purchase_code: code });
  expect([status, body]).toEqual([400, error(`The purchase code ${why}.`)]);
});

it.for([
  ['GET', PATH, 405, 'POST', error('This endpoint takes POST requests only.')],
  ['PUT', '/api/get_user_info', 405, 'GET', loginError('This endpoint takes GET requests only.')],
  ['GET', '/api/items/foo', 404, null, error('There is no such endpoint.')],
] as const)('%s %s: %i, Allow: %s, %j', async ([method, path, ...expected], { running }) => {
  const { status, headers, body } = await running.send(path, { method });
  expect([status, headers.get('allow'), body]).toEqual(expected);
});

const FORM = 'application/x-www-form-urlencoded';
it.for([
  [PATH, 'application/json', '{"api_key":"7d1f0c9a', 400],
  [PATH, `${FORM}; charset=koi8-r`, 'api_key=x', 415],
  [PATH, 'multipart/form-data; boundary=b', '--b\r\n7d1f0c9a', 400],
  ['/api/authorize', FORM, `auth_key=${'x'.repeat(200_000)}`, 413],
] as const)('%s: a body that nobody can read is refused in words: %s', async (row, { running }) => {
  const [path, type, sent, expected] = row;
  const init = { method: 'POST', headers: { 'content-type': type }, body: sent };
  const { status, body } = await running.send(path, init);
  const said = expect.stringMatching(/^[A-Z][a-z ]+\.$/);
  expect([status, body]).toEqual([expected, path === PATH ? error(said) : loginError(said)]);
});
