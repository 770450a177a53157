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
const PATH = '/api/purchases/validation';

let running: Running;
beforeEach(async () => {
  running = await speaking({});
  // From here on the types of all fields are tested: every answer is as the OpenAPI document says.
  expectDocumented(running);
});

const account = async () =>
  at((await running.get(`/api/account/details?api_key=${running.apiKey}`)).body, 'data');
const items = async (key: unknown = running.apiKey) =>
  (await running.get(`/api/items/all?api_key=${key}`)).body.items as Json[];
const item = async (id: number) =>
  at((await running.get(`/api/items/item?api_key=${running.apiKey}&item_id=${id}`)).body, 'item');
const purchase = async (kind: string) =>
  at((await running.validate(running.code(kind))).body, 'data.purchase');

/** The dotted paths of all values in a record. A list counts as one value. */
const pathsIn = (record: unknown, path = ''): string[] =>
  typeof record === 'object' && record !== null && !Array.isArray(record)
    ? Object.entries(record).flatMap(([name, value]) => pathsIn(value, `${path}.${name}`))
    : [path.slice(1)];

const ITEM =
  'id name description category sub_category options version demo_link tags media.thumbnail media.preview_image media.screenshots price.regular price.extended currency published_at';
const PURCHASE = `purchase_code license_type price currency item.${ITEM.replaceAll(' ', ' item.')} supported_until downloaded date`;
const USER =
  'user_id user_name user_email user_firstname user_lastname user_gender user_birthdate user_picture user_cover user_registered user_verified user_relationship user_biography user_website';
const ACCOUNT =
  'name.firstname name.lastname name.full_name username email balance currency profile.heading profile.description profile.contact.email profile.social_links.facebook profile.social_links.x profile.social_links.behance profile.media.avatar profile.media.cover registered_at';

it.each<[string, string, () => unknown]>([
  ['Account', ACCOUNT, account],
  ['Item', ITEM, () => item(1042)],
  ['Purchase', PURCHASE, () => purchase('supported')],
  ['User info', USER, () => infoOf(running)],
])('%s has exactly the documented fields', async (_name, paths, read) => {
  expect(pathsIn(await read()).sort()).toEqual(paths.split(' ').sort());
});

const IMAGES = { thumbnail: 'image', preview_image: 'image' };

it.each<[number, object]>([
  [1042, { ...IMAGES, screenshots: 'image' }],
  [1048, IMAGES],
  [1049, { ...IMAGES, preview_video: 'video', screenshots: 'image' }],
  [1055, { thumbnail: 'image', preview_audio: 'audio' }],
])('item %i has the media of its kind, which are served: %j', async (id, expected) => {
  const served: Record<string, unknown> = {};
  for (const [name, urls] of Object.entries(at(await item(id), 'media') as Json)) {
    for (const url of [urls].flat()) {
      const response = await fetch(String(url));
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
      served[name] = response.headers.get('content-type')?.replace(/\/.*/, '');
    }
  }
  expect(served).toEqual(expected);
});

it('the other URLs of items, of the account and of users are served too', async () => {
  const media = at(await account(), 'profile.media');
  const { user_picture, user_cover } = await infoOf(running);
  for (const url of [at(await item(1042), 'demo_link'), user_picture, user_cover, media]) {
    for (const each of typeof url === 'object' ? Object.values(url as Json) : [url]) {
      expect((await fetch(String(each))).status).toBe(200);
    }
  }
});

it('a purchase has its own code, its licence and the full record of its item', async () => {
  const sold = { purchase_code: running.code('supported'), license_type: 'Regular' };
  const found = await purchase('supported');
  expect(found).toMatchObject({ ...sold, downloaded: true, item: await item(1042) });
  expect(Date.parse(String(at(found, 'supported_until')))).toBeGreaterThan(NOW);
  expect(Date.parse(String(at(found, 'date')))).toBeLessThan(NOW);
  expect(await purchase('extended')).toMatchObject({ license_type: 'Extended' });
  // As documented in OpenAPI are also the answers to all other codes, and all users.
  for (const { code } of running.sandbox.codes) await running.validate(code);
  for (const { user_id } of running.sandbox.data.users) {
    expect(await infoOf(running, user_id)).toMatchObject({ user_id });
  }
});

it.each(['unsupported', 'support-over'])('supported_until is absent for %s', async (kind) => {
  const found = await purchase(kind);
  expect(found).toHaveProperty('purchase_code');
  expect(found).not.toHaveProperty('supported_until');
});

describe('States and transitions', () => {
  it('an auth_key is exchanged for an access_token once, also when two come at once', async () => {
    const authKey = newAuthKey(running);
    const answers = await Promise.all([exchange(running, authKey), exchange(running, authKey)]);
    const [won, lost] = answers.map(({ body }) => body).sort((a) => ('access_token' in a ? -1 : 1));
    expect(won).toEqual({ access_token: expect.stringMatching(/^\w{32,}$/) });
    expect(lost).toEqual({ error: true, message: 'Bad Request, invalid auth_key' });
  });

  it('an auth_key is valid until its first use, however late, also when its user accepts again', async () => {
    const keys = [newAuthKey(running), newAuthKey(running)];
    running.sandbox.clock.advance(24 * HOUR);
    for (const key of keys) {
      expect((await exchange(running, key)).body).toHaveProperty('access_token');
    }
  });

  it('an auth_key is not spent by wrong fields nor by another app', async () => {
    const authKey = newAuthKey(running);
    const { app_id = '', app_secret = '' } = running.sandbox.data.apps[1] ?? {};
    for (const [fields, fault] of [
      [{ app_id: 'nope' }, 'invalid app_id'],
      [{ app_id: '' }, 'invalid app_id'],
      [{ app_secret: 'nope' }, 'invalid app_secret'],
      [{ auth_key: '' }, 'invalid auth_key'],
      [{ app_id, app_secret }, 'invalid auth_key'],
    ] as [Record<string, string>, string][]) {
      const { status, body } = await exchange(running, authKey, fields);
      expect([status, body]).toEqual([200, { error: true, message: `Bad Request, ${fault}` }]);
    }
    expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
  });

  it('an access_token lives 1 hour, counted from the exchange; a later one is another', async () => {
    const authKey = newAuthKey(running);
    running.sandbox.clock.advance(5 * 60_000);
    const token = String((await exchange(running, authKey)).body.access_token);
    running.sandbox.clock.advance(HOUR - 1);
    const next = await newToken(running);
    expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    running.sandbox.clock.advance(1);
    const message = 'Bad Request, expired access_token';
    expect((await userInfo(running, token)).body).toEqual({ error: true, message });
    expect((await userInfo(running, next)).body).toHaveProperty('user_info');
  });

  it.each(['', '?access_token=', '?access_token=nope'])(
    'an access_token that was not issued is refused: "%s"',
    async (query) => {
      const { status, body } = await running.get(`/api/get_user_info${query}`);
      const message = 'Bad Request, invalid access_token';
      expect([status, body]).toEqual([200, { error: true, message }]);
    },
  );
});

describe('Endpoints', () => {
  it.each([
    ['/api/account/details?', 'data'],
    ['/api/items/all?', 'items'],
    ['/api/items/item?item_id=1042&', 'item'],
  ])('GET %s: status and %s; the api_key is read from no header', async (path, name) => {
    const { status, body } = await running.get(`${path}api_key=${running.apiKey}`);
    expect([status, body.status, Object.keys(body)]).toEqual([200, 'success', ['status', name]]);
    const headers = { authorization: `Bearer ${running.apiKey}`, 'x-api-key': running.apiKey };
    const { status: without, body: refused } = await running.get(path, headers);
    const msg = 'The api key field is required.';
    expect([without, refused]).toEqual([400, { status: 'error', msg }]);
  });

  it('POST /api/purchases/validation: status, data.purchase; both parameters are required', async () => {
    const { status, body } = await running.validate(running.code('supported'));
    expect([status, body]).toEqual([
      ...[200, { status: 'success', data: { purchase: expect.any(Object) } }],
    ]);
    expect((await running.post(PATH, { purchase_code: 'x' })).status).toBe(400);
    expect((await running.post(PATH, { api_key: running.apiKey })).status).toBe(400);
  });

  it('items/all has no pages: all items at once, newest first', async () => {
    const dates = (await items()).map((each) => String(each.published_at));
    expect(dates).toHaveLength(15);
    expect(dates).toEqual([...dates].sort().reverse());
  });

  it('each operation acts on what belongs to the account of the key', async () => {
    const other = String(running.sandbox.data.workspaces[1]?.api_key);
    const ids = (await items(other)).map((each) => each.id);
    expect([ids.includes(1061), ids.includes(1042)]).toEqual([true, false]);
    const missing = await running.get(`/api/items/item?api_key=${other}&item_id=1042`);
    expect(missing.body.msg).toBe('Item Not Found');
    expect((await running.validate(running.code('supported'), other)).status).toBe(404);
    expect((await running.validate(running.code('other-workspace'), other)).status).toBe(200);
  });

  it('GET /api/oauth shows a login and a consent page at every visit; acceptance leads to the redirect URL with auth_key', async () => {
    const browser = new Browser(running.authUrl);
    for (const [user_id, name] of [
      ['3002', 'Tomás Aguilar Ibáñez'],
      ['3001', 'Mira Solheim'],
    ] as const) {
      const login = await browser.visit(`/api/oauth?app_id=${running.appId}`);
      expect(login.text).toContain('Choose an account');
      const attempt = attemptOn(login.text);
      const chosen = await browser.submit('/sandbox/login', { attempt, user_id });
      const consent = await browser.visit(chosen.location);
      expect(consent.text).toContain('Northlight Studio wants to know who you are');
      expect(consent.text).toContain(name);
      const accepted = { attempt, decision: 'accept' };
      const { status, location } = await browser.submit('/sandbox/consent', accepted);
      expect(status).toBe(303);
      expect(location).toMatch(/^http:\/\/localhost:3999\/callback\?auth_key=[0-9a-f]{32}$/);
      expect(await infoBehind(running, location)).toMatchObject({ user_id });
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
    const inQuery = `/api/authorize?${new URLSearchParams(fields)}`;
    expect((await running.post(inQuery, {})).body.error).toBe(true);
    expect((await running.get(inQuery)).status).toBe(405);
    expect((await exchange(running, auth_key)).status).toBe(200);
  });
});

describe('Errors of the key API', () => {
  it.each([
    ['/api/account/details?api_key=wrong', 401, 'Invalid request'],
    ['/api/items/all?api_key=wrong', 404, 'No items found'],
    ['/api/items/item?api_key=wrong&item_id=1042', 404, 'Item Not Found'],
    ['/api/items/item?api_key=KEY&item_id=999999', 404, 'Item Not Found'],
  ])('%s: %i %s', async (path, expected, msg) => {
    const { status, body } = await running.get(path.replace('KEY', running.apiKey));
    expect([status, body]).toEqual([expected, { status: 'error', msg }]);
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
    const { get, apiKey } = await start({ seed: { items: [] } });
    const { body } = await get(`/api/items/all?api_key=${apiKey}`);
    expect(body).toEqual({ status: 'error', msg: 'No items found' });
  });
});
