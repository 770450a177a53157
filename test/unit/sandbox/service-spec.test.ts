import { beforeEach, describe, expect, it } from 'vitest';
import {
  at,
  exchange,
  type Json,
  newAuthKey,
  newToken,
  type Running,
  start,
  userInfo,
} from './support.js';

const HOUR = 3_600_000;
/** A clock that stands still: only `advance` moves it. */
const NOW = Date.UTC(2027, 0, 1);
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let running: Running;
beforeEach(async () => {
  running = await start({ clock: () => NOW });
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

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** A record has a value of the documented kind under each documented path. */
function expectKinds(record: unknown, kinds: Record<string, string>): void {
  const found = Object.keys(kinds).map((path) => [path, kindOf(at(record, path))]);
  expect(Object.fromEntries(found)).toEqual(kinds);
}

describe('Account', () => {
  it('has the documented fields', async () => {
    expectKinds(await account(), {
      'name.firstname': 'string',
      'name.lastname': 'string',
      'name.full_name': 'string',
      username: 'string',
      email: 'string',
      balance: 'number',
      currency: 'string',
      'profile.heading': 'string',
      'profile.description': 'string',
      'profile.contact.email': 'string',
      'profile.social_links': 'object',
      'profile.social_links.facebook': 'string',
      'profile.social_links.x': 'string',
      'profile.media.avatar': 'string',
      'profile.media.cover': 'string',
      registered_at: 'string',
    });
  });

  it('registered_at is an ISO 8601 UTC timestamp', async () => {
    expect(at(await account(), 'registered_at')).toMatch(TIMESTAMP);
  });

  it.each(['profile.media.avatar', 'profile.media.cover'])(
    '%s is a URL that answers',
    async (path) => {
      expect((await fetch(String(at(await account(), path)))).status).toBe(200);
    },
  );

  it('social_links are open-ended: names beyond facebook and x', async () => {
    expect(at(await account(), 'profile.social_links.behance')).toMatch(/^https:/);
  });
});

describe('Item', () => {
  it('has the documented fields, in every item', async () => {
    const kinds = {
      id: 'number',
      name: 'string',
      description: 'string',
      category: 'string',
      sub_category: 'string',
      options: 'array',
      version: 'string',
      demo_link: 'string',
      tags: 'array',
      media: 'object',
      'price.regular': 'number',
      'price.extended': 'number',
      currency: 'string',
      published_at: 'string',
    };
    for (const each of await items()) expectKinds(each, kinds);
  });

  it('has no field the specification does not name', async () => {
    const names =
      'category currency demo_link description id media name options price published_at sub_category tags version';
    for (const each of await items()) expect(Object.keys(each).sort().join(' ')).toBe(names);
  });

  it.each<[string, (item: Json) => void]>([
    ['id is an integer', ({ id }) => expect(Number.isInteger(id)).toBe(true)],
    [
      'options and tags are arrays of strings',
      ({ options, tags }) => {
        for (const entry of [options, tags].flat()) expect(typeof entry).toBe('string');
      },
    ],
    [
      'version has three numeric parts',
      ({ version }) => expect(version).toMatch(/^\d+\.\d+\.\d+$/),
    ],
    ['published_at is a timestamp', ({ published_at }) => expect(published_at).toMatch(TIMESTAMP)],
    ['thumbnail is always shown', ({ media }) => expect(at(media, 'thumbnail')).toMatch(/^http/)],
  ])('%s', async (_rule, check) => {
    for (const each of await items()) check(each);
  });

  it('demo_link is a URL that answers', async () => {
    expect((await fetch(String(at(await item(1042), 'demo_link')))).status).toBe(200);
  });
});

describe('media', () => {
  const ofKind = async (kind: string) => {
    const ids = running.sandbox.data.items.filter((each) => each.kind === kind).map(({ id }) => id);
    const found = (await items()).filter((each) => ids.includes(Number(each.id)));
    expect(found.length).toBeGreaterThan(0);
    return found.map((each) => each.media as Json);
  };

  it.each([
    ['preview_image', ['image', 'video'], ['audio']],
    ['preview_video', ['video'], ['image', 'audio']],
    ['preview_audio', ['audio'], ['image', 'video']],
  ])('%s is shown for %j and absent for %j', async (name, shown, absent) => {
    for (const kind of shown) {
      for (const media of await ofKind(kind)) expect(media[name]).toMatch(/^http/);
    }
    for (const kind of absent) {
      for (const media of await ofKind(kind)) expect(media).not.toHaveProperty(name);
    }
  });

  it('screenshots only if the item has screenshots', async () => {
    expect(at(await item(1042), 'media.screenshots')).toHaveLength(4);
    expect(at(await item(1048), 'media')).not.toHaveProperty('screenshots');
  });

  it.each([
    [1042, 'thumbnail', 'image/svg+xml'],
    [1042, 'preview_image', 'image/svg+xml'],
    [1042, 'screenshots.3', 'image/svg+xml'],
    [1049, 'preview_video', 'video/webm'],
    [1055, 'preview_audio', 'audio/wav'],
  ])('item %i: %s is served as %s', async (id, name, type) => {
    const response = await fetch(String(at(await item(id), `media.${name}`)));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain(type);
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });

  it.each([
    '/media/items/1055/preview.svg',
    '/media/items/1042/preview.webm',
    '/media/items/1042/preview.wav',
    '/media/items/1042/screenshot-5.svg',
    '/media/items/9999/thumbnail.svg',
  ])('%s, which no item announces, is not there', async (path) => {
    expect((await running.get(path)).status).toBe(404);
  });
});

describe('Purchase', () => {
  it('has the documented fields', async () => {
    expectKinds(await purchase('supported'), {
      purchase_code: 'string',
      license_type: 'string',
      price: 'number',
      currency: 'string',
      item: 'object',
      supported_until: 'string',
      downloaded: 'boolean',
      date: 'string',
    });
  });

  it('purchase_code is the code that was asked for', async () => {
    expect(at(await purchase('supported'), 'purchase_code')).toBe(running.code('supported'));
  });

  it('item is the full item record', async () => {
    expect(at(await purchase('supported'), 'item')).toEqual(await item(1042));
  });

  it('license_type tells a regular from an extended license', async () => {
    expect(at(await purchase('supported'), 'license_type')).toBe('Regular');
    expect(at(await purchase('extended'), 'license_type')).toBe('Extended');
  });

  it('supported_until is a timestamp, ahead', async () => {
    const until = String(at(await purchase('supported'), 'supported_until'));
    expect(until).toMatch(TIMESTAMP);
    expect(Date.parse(until)).toBeGreaterThan(running.sandbox.clock.now());
  });

  it.each(['unsupported', 'support-over'])('supported_until is absent for %s', async (kind) => {
    const found = await purchase(kind);
    expect(found).toHaveProperty('purchase_code');
    expect(found).not.toHaveProperty('supported_until');
  });

  it('date is a timestamp, and downloaded is told both ways', async () => {
    expect(at(await purchase('supported'), 'date')).toMatch(TIMESTAMP);
    expect(at(await purchase('supported'), 'downloaded')).toBe(true);
    expect(at(await purchase('unsupported'), 'downloaded')).toBe(false);
  });
});

describe('User info', () => {
  const fields =
    'user_id user_name user_email user_firstname user_lastname user_gender user_birthdate user_picture user_cover user_registered user_verified user_relationship user_biography user_website';

  it('has exactly the documented fields, all strings, for every user', async () => {
    for (const { user_id } of running.sandbox.data.users) {
      const { body } = await userInfo(running, await newToken(running, user_id));
      expect(Object.keys(body)).toEqual(['user_info']);
      const info = body.user_info as Json;
      expect(Object.keys(info).join(' ')).toBe(fields);
      for (const value of Object.values(info)) expect(typeof value).toBe('string');
    }
  });

  it.each(['user_birthdate', 'user_registered'])('%s is YYYY-MM-DD', async (field) => {
    const { body } = await userInfo(running, await newToken(running));
    expect(at(body, `user_info.${field}`)).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  it('user_picture and user_cover are URLs that answer', async () => {
    const { body } = await userInfo(running, await newToken(running));
    for (const name of ['user_picture', 'user_cover']) {
      expect((await fetch(String(at(body, `user_info.${name}`)))).status).toBe(200);
    }
  });

  it('user_verified is "1" for a verified user only', async () => {
    const verified = await userInfo(running, await newToken(running, '3001'));
    const other = await userInfo(running, await newToken(running, '3004'));
    expect(at(verified.body, 'user_info.user_verified')).toBe('1');
    expect(at(other.body, 'user_info.user_verified')).toBe('0');
  });
});

describe('States and transitions', () => {
  it('auth_key issued: accepting sends the browser to the redirect URL with auth_key', async () => {
    expect(await newAuthKey(running)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('auth_key valid: its first use returns an access_token', async () => {
    const { body } = await exchange(running, await newAuthKey(running));
    expect(body).toEqual({ access_token: expect.stringMatching(/^\w{32,}$/) });
  });

  it('auth_key used: any further use is refused', async () => {
    const authKey = await newAuthKey(running);
    await exchange(running, authKey);
    const { body } = await exchange(running, authKey);
    expect(body).not.toHaveProperty('access_token');
    expect(body.error).toBe(true);
  });
});

describe('Endpoints of interface A', () => {
  it.each([
    ['/api/account/details?', 'data'],
    ['/api/items/all?', 'items'],
    ['/api/items/item?item_id=1042&', 'item'],
  ])('GET %s: status, %s', async (path, name) => {
    const { status, body } = await running.get(`${path}api_key=${running.apiKey}`);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['status', name]);
    expect(body.status).toBe('success');
  });

  it('POST /api/purchases/validation: status, data.purchase', async () => {
    const { status, body } = await running.validate(running.code('supported'));
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['status', 'data']);
    expect(Object.keys(body.data as Json)).toEqual(['purchase']);
  });

  it.each(['/api/account/details', '/api/items/all', '/api/items/item?item_id=1042'])(
    '%s requires api_key',
    async (path) => {
      const { status, body } = await running.get(path);
      expect(status).toBe(400);
      expect(body).toEqual({ status: 'error', msg: 'The api key field is required.' });
    },
  );

  it('items/item requires item_id', async () => {
    const { status, body } = await running.get(`/api/items/item?api_key=${running.apiKey}`);
    expect([status, body.msg]).toEqual([400, 'The item id field is required.']);
  });

  it('validation requires api_key and purchase_code', async () => {
    const { apiKey } = running;
    const path = '/api/purchases/validation';
    expect((await running.post(path, { purchase_code: 'x' })).status).toBe(400);
    expect((await running.post(path, { api_key: apiKey })).status).toBe(400);
  });

  it('the key is read from the parameter, from no header', async () => {
    const headers = { authorization: `Bearer ${running.apiKey}`, 'x-api-key': running.apiKey };
    expect((await running.get('/api/account/details', headers)).status).toBe(400);
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

describe('Endpoints of interface B', () => {
  it('GET /api/oauth: the user sees a login page', async () => {
    const { status, headers, text } = await running.get(`/api/oauth?app_id=${running.appId}`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text).toContain('Mira Solheim');
  });

  it('POST /api/authorize: form-encoded fields, JSON with access_token', async () => {
    const { status, headers, body } = await exchange(running, await newAuthKey(running));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/json');
    expect(typeof body.access_token).toBe('string');
  });

  it('POST /api/authorize takes no JSON and no query', async () => {
    const fields = {
      app_id: running.appId,
      app_secret: running.appSecret,
      auth_key: await newAuthKey(running),
    };
    const json = await fetch(`${running.authUrl}/api/authorize`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    expect(await json.json()).toEqual({ error: true, message: 'Bad Request, invalid app_id' });
    const query = await running.post(`/api/authorize?${new URLSearchParams(fields)}`, {});
    expect(query.body.error).toBe(true);
    expect((await running.get(`/api/authorize?${new URLSearchParams(fields)}`)).status).toBe(405);
  });

  it('GET /api/get_user_info: JSON with user_info', async () => {
    const { status, body } = await userInfo(running, await newToken(running, '3002'));
    expect(status).toBe(200);
    expect(at(body, 'user_info.user_id')).toBe('3002');
  });
});

describe('Errors of interface A', () => {
  it.each([
    ['/api/account/details?api_key=wrong', 401, 'Invalid request'],
    ['/api/items/all?api_key=wrong', 404, 'No items found'],
    ['/api/items/item?api_key=wrong&item_id=1042', 404, 'Item Not Found'],
  ])('%s: %i %s', async (path, status, msg) => {
    const answer = await running.get(path);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ status: 'error', msg });
  });

  it('validation under a wrong api_key: Invalid purchase code', async () => {
    const answer = await running.validate(running.code('supported'), 'wrong');
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ status: 'error', msg: 'Invalid purchase code' });
  });

  it('an item that does not exist: Item Not Found', async () => {
    const path = `/api/items/item?api_key=${running.apiKey}&item_id=999999`;
    expect((await running.get(path)).body).toEqual({ status: 'error', msg: 'Item Not Found' });
  });

  it.each(['refunded', 'cancelled', 'other-workspace'])(
    'a purchase that is %s: Invalid purchase code',
    async (kind) => {
      const { status, body } = await running.validate(running.code(kind));
      expect([status, body.msg]).toEqual([404, 'Invalid purchase code']);
    },
  );

  it('a workspace without items: No items found', async () => {
    const empty = await start({ seed: { items: [] } });
    const { body } = await empty.get(`/api/items/all?api_key=${empty.apiKey}`);
    expect(body).toEqual({ status: 'error', msg: 'No items found' });
  });
});

describe('Limits', () => {
  it('access_token lifetime: 1 hour, counted from the exchange', async () => {
    const authKey = await newAuthKey(running);
    running.sandbox.clock.advance(5 * 60_000);
    const token = String((await exchange(running, authKey)).body.access_token);
    running.sandbox.clock.advance(HOUR - 1);
    expect((await userInfo(running, token)).body).toHaveProperty('user_info');
    running.sandbox.clock.advance(1);
    expect((await userInfo(running, token)).body).toEqual({
      error: true,
      message: 'Bad Request, expired access_token',
    });
  });

  it('auth_key uses: 1, also when two come at once', async () => {
    const authKey = await newAuthKey(running);
    const answers = await Promise.all([exchange(running, authKey), exchange(running, authKey)]);
    expect(answers.filter(({ body }) => 'access_token' in body)).toHaveLength(1);
  });

  it('the item list has no pages: all items at once, newest first', async () => {
    const dates = (await items()).map((each) => String(each.published_at));
    expect(dates).toHaveLength(18);
    expect(dates).toEqual([...dates].sort().reverse());
  });
});
