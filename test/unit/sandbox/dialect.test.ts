import { describe, expect, it } from 'vitest';
import { createSandbox, type SandboxDialect } from '../../../src/sandbox/index.js';
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
  'an item without screenshots': ofKeyApi('items/item?item_id=1048&'),
  'an unknown item': ofKeyApi('items/item?item_id=9&'),
  purchase: validate('supported'),
  'a purchase whose support is over': validate('support-over'),
  'a purchase without support': validate('unsupported'),
  'an extended purchase': validate('extended'),
  'a wrong code': (running) => running.validate('wrong'),
  'a blank code': (running) => running.validate(' '),
  'a code after a blank': (running) => running.validate(` ${running.code('supported')}`),
} satisfies Record<string, Ask>;
type What = keyof typeof ASKS;

describe('the key API', () => {
  const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  const URL_OF = (number: number) => expect.stringMatching(`screenshot-${number}\\.svg$`);
  const URLS = { 0: URL_OF(1), 1: URL_OF(2), 2: URL_OF(3), 3: URL_OF(4) };
  const PAST = expect.stringMatching(/^2026-11-17T/);

  const PRICES = { regular: '24.00', extended: '180.00' };
  const SILENT = { heading: null, description: null, contact: { email: null }, social_links: null };
  const NO_DATA = expect.not.objectContaining({ data: expect.anything() });
  const NO_UNTIL = expect.not.objectContaining({ supported_until: expect.anything() });

  // biome-ignore format: a table is read by its columns
  it.each<[Partial<SandboxDialect>, What, object]>([
    [{ capitalisation: true }, 'no items', { msg: 'No Items Found' }],
    [{ validationEnvelope: 'item' }, 'purchase', { item: { item: { id: 1042 } } }],
    [{ validationEnvelope: 'item' }, 'purchase', NO_DATA],
    [{ tagsAsString: true }, 'item', { item: { tags: 'fjord,dawn,landscape,norway' } }],
    [{ nulls: true }, 'item', { item: { options: null, version: null, demo_link: null, sub_category: null, name: 'Fjord Light' } }],
    [{ nulls: true }, 'account', { data: { profile: SILENT } }],
    [{ nulls: true }, 'another account', { data: { profile: { social_links: { soundcloud: null } } } }],
    [{ screenshotsAsObject: true }, 'item', { item: { media: { screenshots: URLS } } }],
    [{ screenshotsAsObject: true }, 'an item without screenshots', { item: { media: { screenshots: null } } }],
    [{ microseconds: true }, 'account', { data: { registered_at: TIME } }],
    [{ microseconds: true }, 'purchase', { data: { purchase: { date: TIME, supported_until: TIME, item: { published_at: TIME } } } }],
    [{ numericStrings: true }, 'account', { data: { balance: '4318.75' } }],
    [{ numericStrings: true }, 'purchase', { data: { purchase: { price: '24.00', item: { price: PRICES } } } }],
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
    [{ trimming: false }, 'a code after a blank', 404, error('Invalid purchase code')],
    [{ trimming: false }, 'a blank code', 404, error('Invalid purchase code')],
    [{ gatewayErrors: true }, 'purchase', 404, { msg: 'Page not found' }],
    [{ gatewayErrors: 405 }, 'all items', 405, { code: 405, msg: 'Method not allowed' }],
    [{ gatewayErrors: 413 }, 'item', 413, { code: 413, msg: 'Request entity too large' }],
    [{ gatewayErrors: 415 }, 'account', 415, { code: 415, msg: 'Unsupported media type' }],
    [{ crash: 'json' }, 'all items', 500, { message: 'Server Error' }],
  ])('%j: %s is answered %i %j', async (dialect, what, ...expected) => {
    const { status, body } = await ASKS[what](await speaking(dialect));
    expect([status, body]).toEqual(expected);
  });

  it('apiDisabled: a plain HTML 404 on every path; crash: an HTML 500', async () => {
    const running = await speaking({ apiDisabled: true });
    for (const ask of [...Object.values(ASKS), () => running.get('/api/items/nope')]) {
      const { status, text } = await ask(running);
      expect([status, text]).toEqual([404, expect.stringMatching(/^<!doctype html>/)]);
    }
    const { status, text } = await ASKS['all items'](await speaking({ crash: true }));
    expect([status, text]).toEqual([500, expect.stringMatching(/^<!doctype html>/)]);
  });

  const all = ASKS['all items'];
  const { account } = ASKS;

  it('singleItemBug: one item reads as none, two do not', async () => {
    const items = createSandbox().data.items.filter((each) => each.workspace === 'northlight');
    const withItems = (count: number) =>
      start({ dialect: { singleItemBug: true }, seed: { items: items.slice(0, count) } });
    const one = await withItems(1);
    expect((await all(one)).body.msg).toBe('No items found');
    one.sandbox.dialect.singleItemBug = false;
    expect((await all(one)).body.items).toHaveLength(1);
    expect((await all(await withItems(2))).body.items).toHaveLength(2);
  });

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

  it('browserRedirect: browsers are sent to the home page, others are not', async () => {
    const running = await speaking({ browserRedirect: true });
    const path = `/api/account/details?api_key=${running.apiKey}`;
    for (const agent of ['Mozilla/5.0', 'Chrome/1', 'Firefox/1', 'Edge/1', 'Opera/9']) {
      const { status, headers } = await running.get(path, { 'user-agent': agent });
      expect([status, headers.get('location')]).toEqual([302, '/']);
    }
    expect((await running.get(path, { 'user-agent': 'my-shop/1.0' })).status).toBe(200);
  });
});

describe('the login API', () => {
  it.each<[SandboxDialect['errors'], number, number, RegExp]>([
    ['http', 400, 401, /^Bad Request, invalid (\w+)$/],
    ['localised', 200, 200, /^Hatalı istek, geçersiz (\w+)$/],
  ])('errors %j: HTTP %i, %i for a token, %s', async (errors, status, ofToken, message) => {
    const running = await speaking({ errors });
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

  it.each([
    [403, 403, '{"detail":{"reason":"invalid auth_key"}}'],
    [422, 422, '{"detail":{"reason":"invalid auth_key"}}'],
    ['empty', 400, ''],
  ] as const)('errors %j: HTTP %i with %s', async (errors, status, text) => {
    const answer = await exchange(await speaking({ errors }), 'x');
    expect([answer.status, answer.text]).toEqual([status, text]);
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

  it('tokenMinutes 1 and tokenReuse: the same token for its minute, not extended; replaced, it reads invalid', async () => {
    const running = await speaking({ tokenMinutes: 1, tokenReuse: true });
    const first = await newToken(running);
    const message = async () => (await userInfo(running, first)).body.message;
    running.sandbox.clock.advance(59_999);
    expect(await message()).toBeUndefined();
    expect(await newToken(running)).toBe(first);
    expect(await newToken(running, '3002')).not.toBe(first);
    running.sandbox.clock.advance(1);
    expect(await message()).toContain('expired access_token');
    expect(await newToken(running)).not.toBe(first);
    expect(await message()).toContain('invalid access_token');
  });

  const relative = (name: string) => `media/users/3001/${name}.svg`;
  const PICTURES = { user_picture: relative('picture'), user_cover: relative('cover') };
  it.each<[Partial<SandboxDialect>, object]>([
    [{ datetimes: true }, { user_registered: '2019-04-02 09:14:55' }],
    [{ relativePictures: true }, PICTURES],
    [{ extraFields: true }, { profile_picture: expect.any(String), user_followers: 12 }],
  ])('%j: %j, the other fields as documented', async (dialect, expected) => {
    const documented = await infoOf(await speaking({}));
    const found = await infoOf(await speaking(dialect));
    const media = { user_picture: expect.any(String), user_cover: expect.any(String) };
    expect(found).toMatchObject({ ...documented, ...media, ...expected });
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

  it.each([
    ['text', '<br />'],
    ['bom', '\uFEFF'],
  ] as const)('warnings %s: %j ahead of the JSON, as text/html', async (warnings, ahead) => {
    const { headers, text } = await userInfo(await speaking({ warnings }), 'x');
    expect(headers.get('content-type')).toContain('text/html');
    expect(text.startsWith(ahead)).toBe(true);
    expect(JSON.parse(text.slice(text.indexOf('{')))).toHaveProperty('error', true);
  });
});

it('the switches are off by default, but for trimming', () => {
  const on = Object.entries(createSandbox().dialect).filter(([, value]) => value === true);
  expect(on).toEqual([['trimming', true]]);
});
