import { beforeEach, describe, expect, it } from 'vitest';
import { expectDocumented } from '../openapi/support.js';
import {
  at,
  attemptOn,
  authKeyOf,
  Browser,
  CALLBACK,
  exchange,
  infoBehind,
  infoOf,
  type Json,
  NOW,
  newAuthKey,
  newToken,
  type Running,
  speaking,
  start,
  userInfo,
} from './support.js';

// One test for each sentence of the service's specification. What it leaves "not shown" is in the other files.

const HOUR = 3_600_000;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const OTHER_APP = { app_id: '55409216', app_secret: '0f6a92c7d85b41e3a7c9306d1be852f4' };
const LINK = /^https?:\/\//;

let running: Running;
beforeEach(async () => {
  running = await speaking({});
  expectDocumented(running);
});

const account = async () =>
  at((await running.get(`/api/account/details?api_key=${running.apiKey}`)).body, 'data');
const items = async () => {
  const { body } = await running.get(`/api/items/all?api_key=${running.apiKey}`);
  const found = body.items as Json[];
  // Tests that look at every item must have some to look at.
  expect(found.length).toBeGreaterThan(0);
  return found;
};
const item = async (id: number) =>
  at((await running.get(`/api/items/item?api_key=${running.apiKey}&item_id=${id}`)).body, 'item');
const purchase = async (kind: string) =>
  at((await running.validate(running.code(kind))).body, 'data.purchase');
const info = (userId?: string) => infoOf(running, userId);

/** A record has, under each documented path, a value of the documented type, or one that matches. */
function expectShape(record: unknown, shape: Record<string, string | RegExp>): void {
  for (const [path, expected] of Object.entries(shape)) {
    const value = at(record, path);
    const type = Array.isArray(value) ? 'array' : typeof value;
    if (typeof expected === 'string') expect([path, type]).toEqual([path, expected]);
    else expect([path, value]).toEqual([path, expect.stringMatching(expected)]);
  }
}

it('Account has the documented fields; social_links are open-ended', async () => {
  expectShape(await account(), {
    'name.firstname': 'string',
    'name.lastname': 'string',
    'name.full_name': 'string',
    username: 'string',
    email: /@/,
    balance: 'number',
    currency: /^[A-Z]{3}$/,
    'profile.heading': 'string',
    'profile.description': 'string',
    'profile.contact.email': /@/,
    'profile.social_links.facebook': LINK,
    'profile.social_links.x': LINK,
    'profile.social_links.behance': LINK,
    'profile.media.avatar': LINK,
    'profile.media.cover': LINK,
    registered_at: TIMESTAMP,
  });
});

it('Item has exactly the documented fields, in every item', async () => {
  const shape = {
    category: 'string',
    currency: 'string',
    demo_link: LINK,
    description: 'string',
    id: 'number',
    media: 'object',
    name: 'string',
    options: 'array',
    price: 'object',
    published_at: TIMESTAMP,
    sub_category: 'string',
    tags: 'array',
    version: /^\d+\.\d+\.\d+$/,
  };
  const inside = { 'price.regular': 'number', 'price.extended': 'number' };
  for (const each of await items()) {
    expect(Object.keys(each).sort()).toEqual(Object.keys(shape));
    expectShape(each, { ...shape, ...inside, 'media.thumbnail': LINK });
    expect(Number.isInteger(each.id)).toBe(true);
    for (const entry of [each.options, each.tags].flat()) expect(typeof entry).toBe('string');
  }
});

describe('media', () => {
  it.each([
    ['preview_image', ['image', 'video']],
    ['preview_video', ['video']],
    ['preview_audio', ['audio']],
  ])('%s is shown for %j only', async (name, kinds) => {
    const { data } = running.sandbox;
    for (const { id, media } of await items()) {
      const kind = String(data.items.find((each) => each.id === id)?.kind);
      const shown = kinds.includes(kind) ? expect.stringMatching(LINK) : undefined;
      expect(at(media, name)).toEqual(shown);
    }
  });

  it('screenshots only if the item has screenshots', async () => {
    expect(at(await item(1042), 'media.screenshots')).toHaveLength(4);
    expect(at(await item(1048), 'media')).not.toHaveProperty('screenshots');
  });

  it.each([
    ['item 1042', 'demo_link', 'text/html'],
    ['item 1042', 'media.thumbnail', 'image/svg+xml'],
    ['item 1042', 'media.preview_image', 'image/svg+xml'],
    ['item 1042', 'media.screenshots.3', 'image/svg+xml'],
    ['item 1049', 'media.preview_video', 'video/webm'],
    ['item 1055', 'media.preview_audio', 'audio/wav'],
    ['account', 'profile.media.avatar', 'image/svg+xml'],
    ['account', 'profile.media.cover', 'image/svg+xml'],
    ['user', 'user_picture', 'image/svg+xml'],
    ['user', 'user_cover', 'image/svg+xml'],
  ])('%s: %s is served as %s', async (of, path, type) => {
    const [what, id] = of.split(' ');
    const record = id ? await item(Number(id)) : what === 'user' ? await info() : await account();
    const response = await fetch(String(at(record, path)));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain(type);
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });
});

describe('Purchase', () => {
  it('has the documented fields, its own code and the full item record', async () => {
    const found = await purchase('supported');
    expectShape(found, {
      license_type: /^Regular$/,
      price: 'number',
      currency: 'string',
      supported_until: TIMESTAMP,
      date: TIMESTAMP,
    });
    const sold = { purchase_code: running.code('supported'), downloaded: true };
    expect(found).toMatchObject({ ...sold, item: await item(1042) });
    expect(Date.parse(String(at(found, 'supported_until')))).toBeGreaterThan(NOW);
    expect(Date.parse(String(at(found, 'date')))).toBeLessThan(NOW);
    expect(await purchase('extended')).toMatchObject({ license_type: 'Extended' });
    expect(await purchase('unsupported')).toMatchObject({ downloaded: false });
    // As documented in OpenAPI are also the answers to all other codes.
    for (const { code } of running.sandbox.codes) await running.validate(code);
  });

  it.each(['unsupported', 'support-over'])('supported_until is absent for %s', async (kind) => {
    const found = await purchase(kind);
    expect(found).toHaveProperty('purchase_code');
    expect(found).not.toHaveProperty('supported_until');
  });
});

const USER_FIELDS =
  'user_id user_name user_email user_firstname user_lastname user_gender user_birthdate user_picture user_cover user_registered user_verified user_relationship user_biography user_website';

it('User info has exactly the documented fields, all strings, for every user', async () => {
  for (const { user_id } of running.sandbox.data.users) {
    const { body } = await userInfo(running, await newToken(running, user_id));
    expect(Object.keys(body)).toEqual(['user_info']);
    const found = body.user_info as Json;
    expect(found.user_id).toBe(user_id);
    expect(Object.keys(found).join(' ')).toBe(USER_FIELDS);
    for (const value of Object.values(found)) expect(typeof value).toBe('string');
  }
  for (const { user_id, user_verified } of running.sandbox.data.users) {
    expectShape(await info(user_id), {
      ...{
        user_birthdate: DAY,
        user_registered: DAY,
        user_verified: new RegExp(`^${user_verified}$`),
      },
      ...{ user_email: /@/, user_picture: LINK, user_cover: LINK, user_website: LINK },
    });
  }
});

describe('States and transitions', () => {
  it('an auth_key is exchanged for an access_token once, also when two come at once', async () => {
    const authKey = newAuthKey(running);
    expect(authKey).toMatch(/^[0-9a-f]{32}$/);
    const answers = await Promise.all([exchange(running, authKey), exchange(running, authKey)]);
    const [won, lost] = answers.map(({ body }) => body).sort((a) => ('access_token' in a ? -1 : 1));
    expect(won).toEqual({ access_token: expect.stringMatching(/^\w{32,}$/) });
    expect(lost).toEqual({ error: true, message: 'Bad Request, invalid auth_key' });
  });

  it('an access_token lives 1 hour, counted from the exchange', async () => {
    const authKey = newAuthKey(running);
    running.sandbox.clock.advance(5 * 60_000);
    const token = String((await exchange(running, authKey)).body.access_token);
    running.sandbox.clock.advance(HOUR - 1);
    expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    running.sandbox.clock.advance(1);
    const message = 'Bad Request, expired access_token';
    expect((await userInfo(running, token)).body).toEqual({ error: true, message });
    const next = await newToken(running);
    expect((await userInfo(running, next)).body).toHaveProperty('user_info');
  });

  it('an auth_key is not spent by wrong fields nor by another app', async () => {
    const authKey = newAuthKey(running);
    for (const [fields, fault] of [
      [{ app_id: 'nope' }, 'invalid app_id'],
      [{ app_id: '' }, 'invalid app_id'],
      [{ app_secret: 'nope' }, 'invalid app_secret'],
      [{ auth_key: 'nope' }, 'invalid auth_key'],
      [{ auth_key: '' }, 'invalid auth_key'],
      [OTHER_APP, 'invalid auth_key'],
    ] as [Record<string, string>, string][]) {
      const { status, body } = await exchange(running, authKey, fields);
      expect([status, body]).toEqual([200, { error: true, message: `Bad Request, ${fault}` }]);
    }
    expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
  });

  it('an auth_key is valid until its first use, however late, also when its user accepts again', async () => {
    const keys = [newAuthKey(running, '3001'), newAuthKey(running, '3001')];
    running.sandbox.clock.advance(24 * HOUR);
    for (const key of keys) {
      expect((await exchange(running, key)).body).toHaveProperty('access_token');
      expect((await exchange(running, key)).body).not.toHaveProperty('access_token');
    }
  });

  it('an access_token that was not issued is refused; others stay valid', async () => {
    const [older, newer] = [await newToken(running, '3001'), await newToken(running, '3001')];
    expect(newer).not.toBe(older);
    for (const query of ['', '?access_token=', '?access_token=nope']) {
      const { status, body } = await running.get(`/api/get_user_info${query}`);
      expect(status).toBe(200);
      expect(body).toEqual({ error: true, message: 'Bad Request, invalid access_token' });
    }
    for (const token of [older, newer]) {
      expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    }
  });
});

describe('Endpoints of the key API', () => {
  it.each([
    ['/api/account/details?', 'data'],
    ['/api/items/all?', 'items'],
    ['/api/items/item?item_id=1042&', 'item'],
  ])('GET %s: status and %s; api_key is required', async (path, name) => {
    const { status, body } = await running.get(`${path}api_key=${running.apiKey}`);
    expect([status, body.status, Object.keys(body)]).toEqual([200, 'success', ['status', name]]);
    // Read from the parameter, from no header.
    const headers = { authorization: `Bearer ${running.apiKey}`, 'x-api-key': running.apiKey };
    const without = await running.get(path, headers);
    expect(without.status).toBe(400);
    expect(without.body).toEqual({ status: 'error', msg: 'The api key field is required.' });
  });

  it('POST /api/purchases/validation: status, data.purchase; both parameters are required', async () => {
    const { status, body } = await running.validate(running.code('supported'));
    expect([status, Object.keys(body)]).toEqual([200, ['status', 'data']]);
    expect(Object.keys(body.data as Json)).toEqual(['purchase']);
    const path = '/api/purchases/validation';
    expect((await running.post(path, { purchase_code: 'x' })).status).toBe(400);
    expect((await running.post(path, { api_key: running.apiKey })).status).toBe(400);
  });

  it('items/item requires item_id', async () => {
    const { status, body } = await running.get(`/api/items/item?api_key=${running.apiKey}`);
    expect([status, body.msg]).toEqual([400, 'The item id field is required.']);
  });

  it('items/all has no pages: all items at once, newest first', async () => {
    const dates = (await items()).map((each) => String(each.published_at));
    expect(dates).toHaveLength(15);
    expect(dates).toEqual([...dates].sort().reverse());
  });

  it('each operation acts on what belongs to the account of the key', async () => {
    const other = String(running.sandbox.data.workspaces[1]?.api_key);
    const { body } = await running.get(`/api/items/all?api_key=${other}`);
    const ids = (body.items as Json[]).map((each) => each.id);
    expect(ids).toContain(1061);
    expect(ids).not.toContain(1042);
    const missing = await running.get(`/api/items/item?api_key=${other}&item_id=1042`);
    expect(missing.body.msg).toBe('Item Not Found');
    expect((await running.validate(running.code('supported'), other)).status).toBe(404);
    expect((await running.validate(running.code('other-workspace'), other)).status).toBe(200);
  });
});

describe('Endpoints of the login API', () => {
  it('GET /api/oauth shows a login and a consent page at every visit; acceptance leads to the redirect URL with auth_key', async () => {
    const browser = new Browser(running.authUrl);
    for (const [userId, name] of [
      ['3002', 'Tomás Aguilar Ibáñez'],
      ['3001', 'Mira Solheim'],
    ] as const) {
      const login = await browser.visit(`/api/oauth?app_id=${running.appId}`);
      expect(login.text).toContain('Choose a test user');
      const attempt = attemptOn(login.text);
      const chosen = await browser.submit('/sandbox/login', { attempt, user_id: userId });
      const consent = await browser.visit(chosen.location);
      expect(consent.text).toContain('Northlight Studio wants to know who you are');
      expect(consent.text).toContain(name);
      const accepted = { attempt, decision: 'accept' };
      const { status, location } = await browser.submit('/sandbox/consent', accepted);
      expect(status).toBe(303);
      expect(location).toMatch(/^http:\/\/localhost:3999\/callback\?auth_key=[0-9a-f]{32}$/);
      expect(await infoBehind(running, location)).toMatchObject({ user_id: userId });
    }
  });

  it('an app that is registered gets an app_id and an app_secret, with which it logs users in', async () => {
    const { data } = running.sandbox;
    const { app_id, app_secret } = data.addApp({ name: 'Mine', redirect_url: CALLBACK });
    const auth_key = authKeyOf(running.sandbox.acceptLogin('3001', { appId: app_id }));
    const { body } = await exchange(running, auth_key, { app_id, app_secret });
    expect(body).toEqual({ access_token: expect.any(String) });
  });

  it('POST /api/authorize takes a form, and neither JSON nor a query', async () => {
    const auth_key = newAuthKey(running);
    const fields = { app_id: running.appId, app_secret: running.appSecret, auth_key };
    const json = await running.postJson('/api/authorize', fields);
    expect(json.body).toEqual({ error: true, message: 'Bad Request, invalid app_id' });
    const query = await running.post(`/api/authorize?${new URLSearchParams(fields)}`, {});
    expect(query.body.error).toBe(true);
    expect((await running.get(`/api/authorize?${new URLSearchParams(fields)}`)).status).toBe(405);
    const { status, headers } = await exchange(running, auth_key);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/json');
  });
});

describe('Errors of the key API', () => {
  it.each([
    ['/api/account/details?api_key=wrong', 401, 'Invalid request'],
    ['/api/items/all?api_key=wrong', 404, 'No items found'],
    ['/api/items/item?api_key=wrong&item_id=1042', 404, 'Item Not Found'],
    ['/api/items/item?api_key=KEY&item_id=999999', 404, 'Item Not Found'],
  ])('%s: %i %s', async (path, status, msg) => {
    const answer = await running.get(path.replace('KEY', running.apiKey));
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ status: 'error', msg });
  });

  it.each([
    ['supported', 'wrong'],
    ['refunded', undefined],
    ['cancelled', undefined],
    ['other-workspace', undefined],
  ])('a code that is %s, under the key %s: Invalid purchase code', async (kind, key) => {
    const { status, body } = await running.validate(running.code(kind), key);
    expect([status, body]).toEqual([404, { status: 'error', msg: 'Invalid purchase code' }]);
  });

  it('a workspace without items: No items found', async () => {
    const empty = await start({ seed: { items: [] } });
    const { body } = await empty.get(`/api/items/all?api_key=${empty.apiKey}`);
    expect(body).toEqual({ status: 'error', msg: 'No items found' });
  });
});
