import { expect, it } from 'vitest';
import { createSandbox, type SandboxDialect } from '../../../src/sandbox/index.js';
import {
  exchange,
  infoBehind,
  newAuthKey,
  newToken,
  type Running,
  speaking,
  start,
  userInfo,
} from './support.js';

/** Asks the key API. Validation reads the query, too. */
const ask = (running: Running, path: string) =>
  running.send(`/api/${path}${path.includes('api_key') ? '' : `&api_key=${running.apiKey}`}`, {
    method: path.startsWith('purchases') ? 'POST' : 'GET',
  });

const ACCOUNT = 'account/details?';
const VALIDATION = 'purchases/validation?purchase_code=';
const { codes } = createSandbox();
const purchase = (kind: string) => VALIDATION + codes.find((code) => code.kind === kind)?.code;

const PAGE = expect.stringMatching(/^<!doctype html>/);
const PAST = expect.stringMatching(/^2026-11-17T/);
const SILENT = { heading: null, description: null, contact: { email: null }, social_links: null };
const NO_UNTIL = expect.not.objectContaining({ supported_until: expect.anything() });
const error = (msg: string, status = 'error') => ({ status, msg });

// biome-ignore format: a table is read by its columns
it.each<[Partial<SandboxDialect>, string, number, object]>([
  [{ nulls: true }, 'items/item?item_id=1042', 200, { item: { options: null, version: null, demo_link: null, sub_category: null, name: 'Fjord Light' } }],
  [{ nulls: true }, ACCOUNT, 200, { data: { profile: SILENT } }],
  [{ supportedUntilPast: true }, purchase('support-over'), 200, { data: { purchase: { supported_until: PAST } } }],
  [{ supportedUntilPast: true }, purchase('unsupported'), 200, { data: { purchase: NO_UNTIL } }],
  [{ localised: 'de' }, purchase('extended'), 200, { status: 'erfolgreich', data: { purchase: { license_type: 'Erweitert' } } }],
  [{ localised: 'de' }, VALIDATION, 400, error('Die gesendeten Daten sind nicht gültig.', 'Fehler')],
  [{ localised: true }, `${VALIDATION}wrong`, 404, error('Geçersiz satın alma kodu', 'hata')],
  [{ errorStatus: 'ok' }, `${ACCOUNT}api_key=x`, 200, error('Invalid request')],
  [{ errorStatus: 'ok' }, VALIDATION, 400, error('The purchase code field is required.')],
])('%j: %s is answered %i %j, and the data stay as they are', async (dialect, path, ...expected) => {
  const running = await speaking(dialect);
  const before = running.sandbox.snapshot().seed;
  const { status, body } = await ask(running, path);
  expect([status, body]).toMatchObject(expected);
  expect(running.sandbox.snapshot().seed).toEqual(before);
});

it('apiDisabled: a plain HTML 404 on every path', async () => {
  const running = await speaking({ apiDisabled: true });
  for (const path of [ACCOUNT, VALIDATION, 'items/nope?']) {
    expect(await ask(running, path)).toMatchObject({ status: 404, text: PAGE });
  }
});

it('rateLimit: so many a minute, then 429 with Retry-After and X-RateLimit-*, until the minute has passed', async () => {
  const running = await speaking({ rateLimit: true });
  const account = (headers = {}) =>
    running.get(`/api/${ACCOUNT}api_key=${running.apiKey}`, headers);
  expect((await account()).headers.get('x-ratelimit-remaining')).toBe('59');
  running.sandbox.dialect.rateLimit = 1;
  expect((await account()).status).toBe(200);
  running.sandbox.clock.advance(15_000);
  const refused = await account();
  expect(refused).toMatchObject({ status: 429, text: PAGE });
  expect(Object.fromEntries(refused.headers)).toMatchObject({
    ...{ 'retry-after': '45', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' },
  });
  const json = await account({ accept: 'application/json' });
  expect([json.status, json.body]).toEqual([429, { message: 'Too Many Attempts.' }]);
  running.sandbox.clock.advance(45_000);
  expect((await account()).status).toBe(200);
});

it.each<[Partial<SandboxDialect>, number, number, RegExp]>([
  [{ errorStatus: 'http' }, 400, 401, /^Bad Request, invalid (\w+)$/],
  [{ localised: true }, 200, 200, /^Hatalı istek, geçersiz (\w+)$/],
  [{ localised: 'de' }, 200, 200, /^Fehlerhafte Anfrage, ungültig: (\w+)$/],
])('%j: the login API refuses with HTTP %i, and %i for a token, %s', async (...row) => {
  const [dialect, ofExchange, ofToken, message] = row;
  const running = await speaking(dialect);
  for (const [answer, status, name] of [
    [await exchange(running, 'x'), ofExchange, 'auth_key'],
    [await userInfo(running, 'x'), ofToken, 'access_token'],
    [await running.get('/api/get_user_info'), ofToken, 'access_token'],
  ] as const) {
    expect(answer).toMatchObject({ status, body: { error: true } });
    expect(message.exec(String(answer.body.message))?.[1]).toBe(name);
  }
});

it('oneLiveAuthKey: a new auth_key ends the one before it, of the same app and user', async () => {
  const running = await speaking({ oneLiveAuthKey: true });
  const [first, other, second] = ['3001', '3002', '3001'].map((id) => newAuthKey(running, id));
  expect((await exchange(running, String(first))).body).not.toHaveProperty('access_token');
  for (const key of [other, second]) {
    expect((await exchange(running, String(key))).body).toHaveProperty('access_token');
  }
});

it("authorizeMethod 'get': the exchange is a GET with a query, a form is not read", async () => {
  const running = await speaking({ authorizeMethod: 'get' });
  const auth_key = newAuthKey(running);
  expect((await exchange(running, auth_key)).body.message).toBe('Bad Request, invalid app_id');
  const query = { app_id: running.appId, app_secret: running.appSecret, auth_key };
  const { body } = await running.get(`/api/authorize?${new URLSearchParams(query)}`);
  expect(body).toHaveProperty('access_token');
});

it('nulls leaves user_id, user_name and user_email of the user info; vanishedUser answers []', async () => {
  const running = await speaking({ nulls: true });
  const { user_id, user_name, user_email, ...others } = { ...(await infoBehind(running)) };
  const kept = [user_id, user_name, user_email];
  expect(kept).toEqual(['3001', 'mira.solheim', 'mira@solheim.example']);
  expect(Object.values(others)).toEqual(Array(11).fill(null));
  running.sandbox.dialect.vanishedUser = true;
  const gone = await userInfo(running, await newToken(running));
  expect(gone).toMatchObject({ status: 200, text: '[]' });
});

it('htmlOutage: a page with HTTP 200 from both, the auth_key unspent', async () => {
  const running = await speaking({ htmlOutage: true });
  const authKey = newAuthKey(running);
  for (const answer of [await exchange(running, authKey), await userInfo(running, 'x')]) {
    expect(answer).toMatchObject({ status: 200, text: PAGE });
  }
  running.sandbox.dialect.htmlOutage = false;
  expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
});

it('answer changes the JSON of any answer of both APIs, errors too, and none of the data', async () => {
  const paths: string[] = [];
  const running = await start({
    answer: (path, body) => {
      paths.push(path);
      return Object.assign(body, { seen: true, item: undefined });
    },
  });
  const before = running.sandbox.snapshot().seed;
  const { body } = await ask(running, 'items/item?item_id=1042');
  expect(body).toEqual({ status: 'success', seen: true });
  for (const answer of [await ask(running, VALIDATION), await exchange(running, 'x')]) {
    expect(answer.body.seen).toBe(true);
  }
  expect(paths).toEqual(['/api/items/item', '/api/purchases/validation', '/api/authorize']);
  expect(running.sandbox.snapshot().seed).toEqual(before);
});

it.each<[string, (body: object) => unknown, number, string]>([
  ['a text', (body) => `Notice:\n${JSON.stringify(body)}`, 200, 'Notice:\n{"status":"success"'],
  ['nothing', () => undefined, 500, 'createSandbox.answer failed: it returned nothing'],
  ['an error', () => JSON.parse('x'), 500, 'createSandbox.answer failed: Unexpected token'],
])('answer that gives %s: sent as it is, or a mistake that is named', async (_what, ...row) => {
  const [change, status, text] = row;
  const running = await start({ answer: (_path, body) => change(body) as object });
  const said = expect.stringContaining(text);
  expect(await ask(running, ACCOUNT)).toMatchObject({ status, text: said });
});
