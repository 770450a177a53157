import { describe, expect, it } from 'vitest';
import type { SandboxDialect } from '../../../src/sandbox/index.js';
import { expectDocumented } from '../openapi/support.js';
import {
  type Answer,
  exchange,
  infoOf,
  newAuthKey,
  newToken,
  type Running,
  speaking,
  start,
  userInfo,
} from './support.js';

type Ask = (running: Running) => Promise<Answer>;
const ofKeyApi =
  (path: string): Ask =>
  (running) =>
    running.get(`/api/${path}api_key=${running.apiKey}`);
const validate =
  (kind: string): Ask =>
  (running) =>
    running.validate(running.code(kind));

const ASKS = {
  account: ofKeyApi('account/details?'),
  'another account': (running) =>
    running.get(`/api/account/details?api_key=${running.sandbox.data.workspaces[1]?.api_key}`),
  'an unknown key': (running) => running.get('/api/account/details?api_key=x'),
  'all items': ofKeyApi('items/all?'),
  'no items': (running) => running.get('/api/items/all?api_key=x'),
  item: ofKeyApi('items/item?item_id=1042&'),
  'an unknown item': ofKeyApi('items/item?item_id=9&'),
  purchase: validate('supported'),
  'a purchase whose support is over': validate('support-over'),
  'a purchase without support': validate('unsupported'),
  'an extended purchase': validate('extended'),
  'a wrong code': (running) => running.validate('wrong'),
  'a blank code': (running) => running.validate(' '),
} satisfies Record<string, Ask>;
type What = keyof typeof ASKS;

describe('the key API', () => {
  const PAST = expect.stringMatching(/^2026-11-17T/);

  const SILENT = { heading: null, description: null, contact: { email: null }, social_links: null };
  const NO_UNTIL = expect.not.objectContaining({ supported_until: expect.anything() });

  // biome-ignore format: a table is read by its columns
  it.each<[Partial<SandboxDialect>, What, object]>([
    [{ nulls: true }, 'item', { item: { options: null, version: null, demo_link: null, sub_category: null, name: 'Fjord Light' } }],
    [{ nulls: true }, 'account', { data: { profile: SILENT } }],
    [{ nulls: true }, 'another account', { data: { profile: { social_links: { soundcloud: null } } } }],
    [{ supportedUntilPast: true }, 'a purchase whose support is over', { data: { purchase: { supported_until: PAST } } }],
    [{ supportedUntilPast: true }, 'a purchase without support', { data: { purchase: NO_UNTIL } }],
    [{ localised: true }, 'purchase', { status: 'başarılı' }],
    [{ localised: 'de' }, 'an extended purchase', { data: { purchase: { license_type: 'Erweitert' } } }],
  ])('%j: the answer about %s has %j, and the data stay as they are', async (dialect, what, expected) => {
    const running = await speaking(dialect);
    const before = running.sandbox.snapshot().seed;
    const { body } = await ASKS[what](running);
    expect({ body }).toMatchObject({ body: expected });
    expect(running.sandbox.snapshot().seed).toEqual(before);
  });

  const DE = { status: 'Fehler', msg: 'Ungültiger Kaufcode' };
  const error = (msg: string) => ({ status: 'error', msg });

  // biome-ignore format: a table is read by its columns
  it.each<[Partial<SandboxDialect>, What, number, object]>([
    [{ errorStatus: 'ok' }, 'an unknown key', 200, error('Invalid request')],
    [{ errorStatus: 'ok' }, 'no items', 200, error('No items found')],
    [{ errorStatus: 'ok' }, 'an unknown item', 200, error('Item Not Found')],
    [{ errorStatus: 'ok' }, 'a wrong code', 200, error('Invalid purchase code')],
    [{ errorStatus: 'ok' }, 'a blank code', 400, error('The purchase code field is required.')],
    [{ localised: 'tr' }, 'a wrong code', 404, { status: 'hata', msg: 'Geçersiz satın alma kodu' }],
    [{ localised: 'de' }, 'a wrong code', 404, DE],
    [{ localised: 'de' }, 'a blank code', 400, { status: 'Fehler', msg: 'Die gesendeten Daten sind nicht gültig.' }],
  ])('%j: %s is answered %i %j', async (dialect, what, ...expected) => {
    const { status, body } = await ASKS[what](await speaking(dialect));
    expect([status, body]).toEqual(expected);
  });

  it('apiDisabled: a plain HTML 404 on every path', async () => {
    const running = await speaking({ apiDisabled: true });
    for (const ask of [...Object.values(ASKS), () => running.get('/api/items/nope')]) {
      const { status, text } = await ask(running);
      expect([status, text]).toEqual([404, expect.stringMatching(/^<!doctype html>/)]);
    }
  });

  const { account } = ASKS;

  it('rateLimit: 60 a minute, then 429 with Retry-After and X-RateLimit-*, until the minute has passed', async () => {
    const running = await speaking({ rateLimit: true });
    for (let i = 0; i < 60; i++) expect((await account(running)).status).toBe(200);
    running.sandbox.clock.advance(15_000);
    const { status, headers, text } = await account(running);
    expect([status, text]).toEqual([429, expect.stringMatching(/^<!doctype html>/)]);
    expect(headers.get('retry-after')).toBe('45');
    expect(headers.get('x-ratelimit-limit')).toBe('60');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    const path = `/api/account/details?api_key=${running.apiKey}`;
    const json = await running.get(path, { accept: 'application/json' });
    expect([json.status, json.body]).toEqual([429, { message: 'Too Many Attempts.' }]);
    running.sandbox.clock.advance(45_000);
    expect((await account(running)).status).toBe(200);
  });
});

describe('the login API', () => {
  it.each<[Partial<SandboxDialect>, number, number, RegExp]>([
    [{ errorStatus: 'http' }, 400, 401, /^Bad Request, invalid (\w+)$/],
    [{ errorStatus: 'ok' }, 200, 200, /^Bad Request, invalid (\w+)$/],
    [{ localised: true }, 200, 200, /^Hatalı istek, geçersiz (\w+)$/],
    [{ localised: 'de' }, 200, 200, /^Fehlerhafte Anfrage, ungültig: (\w+)$/],
  ])('%j: refuses with HTTP %i, and %i for a token, %s', async (...row) => {
    const [dialect, status, ofToken, message] = row;
    const running = await speaking(dialect);
    expectDocumented(running);
    const answers = {
      app_id: await exchange(running, 'x', { app_id: 'x' }),
      app_secret: await exchange(running, 'x', { app_secret: 'x' }),
      auth_key: await exchange(running, 'x'),
      access_token: await userInfo(running, 'x'),
    };
    for (const [name, answer] of Object.entries(answers)) {
      expect(answer.status).toBe(name === 'access_token' ? ofToken : status);
      expect(answer.body).toEqual({ error: true, message: expect.stringMatching(message) });
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
    const authKey = newAuthKey(running);
    expect((await exchange(running, authKey)).body.message).toBe('Bad Request, invalid app_id');
    const query = { app_id: running.appId, app_secret: running.appSecret, auth_key: authKey };
    const { body } = await running.get(`/api/authorize?${new URLSearchParams(query)}`);
    expect(body).toHaveProperty('access_token');
  });

  it('tokenMinutes: a new token lives so long', async () => {
    const running = await speaking({ tokenMinutes: 1 });
    const token = await newToken(running);
    running.sandbox.clock.advance(59_999);
    expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    running.sandbox.clock.advance(1);
    const message = 'Bad Request, expired access_token';
    expect((await userInfo(running, token)).body).toEqual({ error: true, message });
  });

  it('nulls: every field but user_id, user_name, user_email', async () => {
    const { user_id, user_name, user_email, ...others } = await infoOf(
      await speaking({ nulls: true }),
    );
    const kept = [user_id, user_name, user_email];
    expect(kept).toEqual(['3001', 'mira.solheim', 'mira@solheim.example']);
    expect(Object.values(others)).toEqual(Array(11).fill(null));
  });

  it('vanishedUser: [] with HTTP 200', async () => {
    const running = await speaking({ vanishedUser: true });
    const { status, text } = await userInfo(running, await newToken(running));
    expect([status, text]).toEqual([200, '[]']);
  });

  it('htmlOutage: a page with HTTP 200 from both, the auth_key unspent', async () => {
    const running = await speaking({ htmlOutage: true });
    const authKey = newAuthKey(running);
    const answers = [await exchange(running, authKey), await userInfo(running, 'x')];
    for (const { status, text } of answers) {
      expect([status, text]).toEqual([200, expect.stringMatching(/^<!doctype html>/)]);
    }
    running.sandbox.dialect.htmlOutage = false;
    expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
  });
});

describe('answer', () => {
  it('changes the JSON of any answer of both APIs, errors too, and none of the data', async () => {
    const paths: string[] = [];
    const running = await start({
      answer: (path, body) => {
        paths.push(path);
        return Object.assign(body, { seen: true, item: undefined, data: undefined });
      },
    });
    const before = running.sandbox.snapshot().seed;
    for (const what of ['account', 'item', 'a wrong code', 'a blank code'] as const) {
      const { body } = await ASKS[what](running);
      expect(body).toEqual({ ...body, status: expect.any(String), seen: true });
      expect(body).not.toHaveProperty('item');
    }
    expect((await exchange(running, 'x')).body).toMatchObject({ error: true, seen: true });
    expect(paths).toEqual([
      ...['/api/account/details', '/api/items/item', '/api/purchases/validation'],
      ...['/api/purchases/validation', '/api/authorize'],
    ]);
    expect(running.sandbox.snapshot().seed).toEqual(before);
  });

  it('sends a text in place of JSON as it is', async () => {
    const ahead = '\uFEFFNotice: undefined index\n';
    const running = await start({ answer: (_path, body) => ahead + JSON.stringify(body) });
    const { text } = await ASKS.account(running);
    expect(JSON.parse(text.slice(ahead.length)).status).toBe('success');
    expect(text.startsWith(ahead)).toBe(true);
  });

  it.each<[string, () => unknown]>([
    ['it returned nothing', () => undefined],
    [
      'my mistake',
      () => {
        throw new Error('my mistake');
      },
    ],
  ])('that fails (%s) is HTTP 500 and says so', async (sentence, answer) => {
    const running = await start({ answer });
    const { status, text } = await ASKS.account(running);
    expect([status, text]).toEqual([
      ...[500, expect.stringContaining(`createSandbox.answer failed: ${sentence}`)],
    ]);
    expect(running.sandbox.requests[0]?.msg).toContain(sentence);
  });
});
