import { beforeEach, describe, expect, it } from 'vitest';
import {
  CALLBACK,
  exchange,
  infoBehind,
  type Json,
  NOW,
  newAuthKey,
  newToken,
  type Running,
  speaking,
  userInfo,
} from './support.js';

// The sentences of the service's specification. The types of all fields are for test/unit/openapi, the pages for
// pages.test, and what it leaves "not shown" for the other files.

const HOUR = 3_600_000;

let running: Running;
beforeEach(async () => {
  running = await speaking({});
});

const account = async () =>
  (await running.get(`/api/account/details?api_key=${running.apiKey}`)).body.data;
const items = async (key: unknown = running.apiKey) =>
  (await running.get(`/api/items/all?api_key=${key}`)).body.items as unknown as Json[];
const item = (id: number, key: unknown = running.apiKey) =>
  running.get(`/api/items/item?api_key=${key}&item_id=${id}`);
const purchase = async (kind: string) =>
  (await running.validate(running.code(kind))).body.data?.purchase;

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

it('accounts, items, purchases and users have exactly the documented fields', async () => {
  for (const [record, fields] of [
    [await account(), ACCOUNT],
    [(await item(1042)).body.item, ITEM],
    [await purchase('supported'), PURCHASE],
    [await infoBehind(running), USER],
  ] as const) {
    expect(pathsIn(record).sort()).toEqual(fields.split(' ').sort());
  }
});

it('items have the media of their kind; every URL of an answer is served', async () => {
  const records: unknown[] = [await account(), await infoBehind(running)];
  for (const [id, media] of [
    [1042, 'thumbnail preview_image screenshots'],
    [1048, 'thumbnail preview_image'],
    [1049, 'thumbnail preview_image preview_video screenshots'],
    [1055, 'thumbnail preview_audio'],
  ] as const) {
    const { body } = await item(id);
    expect(Object.keys(body.item?.media as object).sort()).toEqual(media.split(' ').sort());
    records.push(body.item);
  }
  const urls = JSON.stringify(records).match(/http:[^"]+/g) ?? [];
  expect(urls.length).toBeGreaterThan(15);
  for (const url of urls) expect([url, (await fetch(url)).status]).toEqual([url, 200]);
});

it('a purchase has its own code, its licence, and the full record of its item; an end of support while it has any', async () => {
  const sold = { purchase_code: running.code('supported'), license_type: 'Regular' };
  const found = await purchase('supported');
  const { body } = await item(1042);
  expect(found).toMatchObject({ ...sold, downloaded: true, item: body.item });
  expect(Date.parse(String(found?.supported_until))).toBeGreaterThan(NOW);
  expect(await purchase('extended')).toMatchObject({ license_type: 'Extended' });
  for (const kind of ['unsupported', 'support-over']) {
    expect(await purchase(kind)).toHaveProperty('purchase_code');
    expect(await purchase(kind)).not.toHaveProperty('supported_until');
  }
});

describe('States and transitions', () => {
  it('an auth_key is valid until its first use, however late; two at once get one access_token', async () => {
    const authKey = newAuthKey(running);
    // A user who accepts again ends none.
    newAuthKey(running);
    running.sandbox.clock.advance(24 * HOUR);
    const answers = await Promise.all([exchange(running, authKey), exchange(running, authKey)]);
    const [won, lost] = answers.map(({ body }) => body).sort((a) => ('access_token' in a ? -1 : 1));
    expect(won).toEqual({ access_token: expect.stringMatching(/^\w{32,}$/) });
    expect(lost).toEqual({ error: true, message: 'Bad Request, invalid auth_key' });
  });

  it('an auth_key is not spent by wrong fields, another app, JSON or a query', async () => {
    const authKey = newAuthKey(running);
    const { app_id, app_secret } = running.sandbox.data.addApp({
      ...{ name: 'Mine', redirect_url: CALLBACK },
    });
    for (const [fields, name] of [
      [{ app_id: 'nope' }, 'app_id'],
      [{ app_id: '' }, 'app_id'],
      [{ app_secret: 'nope' }, 'app_secret'],
      [{ auth_key: '' }, 'auth_key'],
      [{ app_id, app_secret }, 'auth_key'],
    ] as [Record<string, string>, string][]) {
      const { status, body } = await exchange(running, authKey, fields);
      const message = `Bad Request, invalid ${name}`;
      expect([status, body]).toEqual([200, { error: true, message }]);
    }
    const fields = { app_id: running.appId, app_secret: running.appSecret, auth_key: authKey };
    const query = `/api/authorize?${new URLSearchParams(fields)}`;
    expect((await running.postJson('/api/authorize', fields)).body.error).toBe(true);
    expect((await running.post(query, {})).body.error).toBe(true);
    expect((await running.get(query)).status).toBe(405);
    expect((await exchange(running, authKey)).body).toHaveProperty('access_token');
    // The other app logs users in with its own.
    const own = running.sandbox.acceptLogin('3001', { appId: app_id }).slice(-32);
    const { body } = await exchange(running, own, { app_id, app_secret });
    expect(body).toHaveProperty('access_token');
  });

  it.each([
    [{}, HOUR],
    [{ tokenMinutes: 1 }, 60_000],
  ])('an access_token lives, by the dialect %j, %i ms from its exchange', async (dialect, ms) => {
    Object.assign(running.sandbox.dialect, dialect);
    const { clock } = running.sandbox;
    const callback = running.sandbox.acceptLogin('3001');
    clock.advance(5 * 60_000);
    const token = await newToken(running, callback);
    clock.advance(ms - 1);
    const next = await newToken(running);
    expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    clock.advance(1);
    const message = 'Bad Request, expired access_token';
    expect((await userInfo(running, token)).body).toEqual({ error: true, message });
    expect((await userInfo(running, next)).body).toHaveProperty('user_info');
  });
});

describe('Endpoints', () => {
  it('items/all has no pages: all items at once, newest first', async () => {
    const dates = (await items()).map((each) => String(each.published_at));
    expect(dates).toHaveLength(15);
    expect(dates).toEqual([...dates].sort().reverse());
  });

  it('each operation acts on what belongs to the account of the key', async () => {
    const other = String(running.sandbox.data.workspaces[1]?.api_key);
    const ids = (await items(other)).map((each) => Number(each.id));
    expect([ids.includes(1061), ids.includes(1042)]).toEqual([true, false]);
    expect((await item(1042, other)).body.msg).toBe('Item Not Found');
    expect((await running.validate(running.code('supported'), other)).status).toBe(404);
    expect((await running.validate(running.code('other-workspace'), other)).status).toBe(200);
  });
});

describe('Errors of the key API', () => {
  it.each([
    ['account/details?', 401, 'Invalid request'],
    ['items/all?', 404, 'No items found'],
    ['items/item?item_id=1042&', 404, 'Item Not Found'],
  ])('/api/%s: under a wrong key %i %s, under none 400', async (path, ...expected) => {
    const { status, body } = await running.get(`/api/${path}api_key=wrong`);
    expect([status, body]).toEqual([expected[0], { status: 'error', msg: expected[1] }]);
    const without = await running.get(`/api/${path}`);
    const msg = 'The api key field is required.';
    expect([without.status, without.body]).toEqual([400, { status: 'error', msg }]);
  });

  it('a deleted item is out of the catalogue, and still inside a purchase', async () => {
    expect((await item(1044)).body.msg).toBe('Item Not Found');
    expect(await purchase('deleted-item')).toMatchObject({ item: { id: 1044 } });
  });

  it.each([
    ['supported', 'wrong'],
    ['refunded', undefined],
    ['cancelled', undefined],
  ])('a code that is %s, under the key %s: Invalid purchase code', async (kind, key) => {
    const { status, body } = await running.validate(running.code(kind), key);
    expect([status, body]).toEqual([404, { status: 'error', msg: 'Invalid purchase code' }]);
  });
});
