import { writeFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { ACTIONS } from '../../../src/sandbox/actions.js';
import { createSandbox, type SandboxOptions } from '../../../src/sandbox/index.js';
import { newPath } from '../../support/new-path.js';
import {
  at,
  authKeyOf,
  exchange,
  infoBehind,
  it,
  type Json,
  type Running,
  start,
} from './support.js';

const NOW = Date.UTC(2027, 0, 1);
const DAY = 86_400_000;
const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

/** Asks a running sandbox for an action, as another process does. */
const act = (running: Running, name: string, fields: object = {}) =>
  running.postJson(`/sandbox/api/${name}`, fields);
const done = async (running: Running, name: string, fields: object = {}): Promise<Json> => {
  const { status, body } = await act(running, name, fields);
  expect([name, status, body.message]).toEqual([name, 200, undefined]);
  return body;
};

describe('the JSON API of a running sandbox', () => {
  it('lists every action with its method, path and fields', async ({ running }) => {
    const { body } = await running.get('/sandbox/api');
    const actions = body.actions as Json[];
    expect(actions.map(({ path }) => path)).toEqual(
      Object.keys(ACTIONS).map((name) => `/sandbox/api/${name}`),
    );
    expect(actions).toContainEqual({
      method: 'POST',
      path: '/sandbox/api/refund',
      about: 'refund a purchase',
      fields: ['purchase_code'],
    });
  });

  it.each([
    ['refund', CODE, 404, /^Was refunded/],
    ['unrefund', '8e4f5b03-c1d6-4e79-a260-fb37d8a0e679', 200, /^Valid, with support until/],
    ['unrefund', '37b9d2e1-650c-4a8f-93be-4d1c76f5a780', 200, /^Valid, without support/],
    ['end-support', CODE, 200, /^Valid; support ended on 2026-12-31/],
    ['renew', '2d94f6c8-71b5-4e03-a4d7-8f0b92e6c153', 200, /with support until 2027-07-02/],
    // 122 days were left.
    ['renew', CODE, 200, /with support until 2027-11-01/],
  ])('%s %s: validation answers %i', async (name, purchase_code, status, description) => {
    const running = await start({ clock: () => NOW });
    const answer = await done(running, name, { purchase_code });
    expect(answer).toMatchObject({
      code: purchase_code,
      description: expect.stringMatching(description),
    });
    expect((await running.validate(purchase_code)).status).toBe(status);
  });

  it.each([
    [{}, { supported_until: '2027-07-02T00:00:00Z', license_type: 'Regular', price: 19 }],
    [{ support: 'over' }, { supported_until: undefined }],
    [{ support: 'none' }, { supported_until: undefined }],
    [{ supported_until: '2030-01-01T00:00:00Z' }, { supported_until: '2030-01-01T00:00:00Z' }],
    [
      { license_type: 'Extended', purchase_code: 'my-own' },
      { price: 150, purchase_code: 'my-own' },
    ],
  ])('add-purchase %j: a code that is valid at once, with %j', async (fields, expected) => {
    const running = await start({ clock: () => NOW });
    const { code } = await done(running, 'add-purchase', { item_id: 1046, ...fields });
    const { body } = await running.validate(String(code));
    const sold = { item: { id: 1046 }, downloaded: false, date: '2027-01-01T00:00:00Z' };
    expect(at(body, 'data.purchase')).toMatchObject({ ...sold, purchase_code: code });
    for (const [name, value] of Object.entries(expected)) {
      expect([name, at(body, `data.purchase.${name}`)]).toEqual([name, value]);
    }
  });

  it('adds an item and a user, who logs in at once', async ({ running }) => {
    const price = { regular: 5, extended: 9 };
    const item = await done(running, 'add-item', { name: 'Own', price });
    const path = `/api/items/item?api_key=${running.apiKey}&item_id=${item.id}`;
    expect((await running.get(path)).body.item).toMatchObject({ name: 'Own', price });
    const { user_id } = await done(running, 'add-user', { user_name: 'kim' });
    const { url } = await done(running, 'accept-login', { user_id });
    expect(await infoBehind(running, String(url))).toMatchObject({ user_id, user_name: 'kim' });
  });

  it('makes keys, and sets where logins lead, also nowhere', async ({ running }) => {
    const { api_key } = await done(running, 'rotate-key', { workspace: 'northlight' });
    const accepts = async (key: unknown) =>
      (await running.get(`/api/account/details?api_key=${key}`)).status === 200;
    expect([await accepts(api_key), await accepts(running.apiKey)]).toEqual([true, false]);
    const { appId: app_id } = running;
    await done(running, 'set-redirect', { app_id, redirect_url: 'http://b.example/' });
    expect(running.sandbox.redirectUrl).toBe('http://b.example/');
    await done(running, 'set-redirect', { app_id });
    expect(running.sandbox.redirectUrl).toBeUndefined();
  });

  it('moves the clock by a duration, to a time, and sets it right', async () => {
    const running = await start({ clock: () => NOW });
    const now = async (fields: object) =>
      Date.parse(String((await done(running, 'clock', fields)).now));
    expect(await now({ advance: '1h' })).toBe(NOW + 3_600_000);
    expect(await now({ advance: '-1.5d' })).toBe(NOW + 3_600_000 - 1.5 * DAY);
    expect(await now({ advance: 500 })).toBe(NOW + 3_600_500 - 1.5 * DAY);
    expect(await now({ set: '2028-01-01T00:00:00Z' })).toBe(Date.UTC(2028, 0, 1));
    expect(await now({ reset: true })).toBe(NOW);
  });

  it('sets some switches and puts others back, and leaves the rest alone', async () => {
    const running = await start({ dialect: { nulls: true, microseconds: true } });
    const { faults, dialect } = running.sandbox;
    const changes = { errorRate: 0.5, 'dialect.nulls': null, 'hang@/api/items/all': true };
    const shown = await done(running, 'set', changes);
    expect(faults.errorRate).toBe(0.5);
    expect(faults.at('/api/items/all').hang).toBe(true);
    expect({ ...dialect }).toMatchObject({ nulls: false, microseconds: true });
    expect(shown).toEqual((await running.get('/sandbox/api/show')).body);
    expect(shown).toMatchObject({ 'faults.times': null, 'faults.hang@/api/items/all': true });
  });

  it.each([
    ['latancy: there is no such switch; "marketgate sandbox switches"', { latancy: 5 }],
    ['dialect.errors: expected', { errors: 'no' }],
    ['rateLimit: there are two; say faults.rateLimit or dialect.', { rateLimit: 5 }],
    ['faults.at: expected', { 'hang@everywhere': true }],
    ['faults.latency@key-api: expected', { 'latency@key-api': -1 }],
    ['expected an object', []],
  ])('set: %s, and sets nothing at all', async (sentence, changes) => {
    const running = await start();
    const given = Array.isArray(changes) ? changes : { bom: true, ...changes };
    const { status, body } = await act(running, 'set', given);
    expect([status, body.message]).toEqual([400, expect.stringContaining(sentence)]);
    expect(running.sandbox.faults.bom).toBe(false);
  });

  it('resets switches, faults, dialect, data, the clock and the log, each by its name', async () => {
    const running = await start({ clock: () => NOW, dialect: { nulls: true } });
    const { sandbox } = running;
    const { faults, dialect, data, clock } = sandbox;
    const initial = sandbox.snapshot();
    const token = (await exchange(running, authKeyOf(sandbox.acceptLogin('3001')))).body
      .access_token;
    Object.assign(faults, { bom: true, html: true });
    faults.at('key-api').latency = 1;
    clock.advance(DAY);
    data.refundPurchase(CODE);
    data.setRedirectUrl(running.appId, 'http://elsewhere.example/cb');

    await done(running, 'reset', { names: ['bom'] });
    expect([faults.bom, faults.at('key-api').latency]).toEqual([false, 1]);
    await done(running, 'reset', { names: ['faults'] });
    expect([faults.html, faults.at('key-api').latency, dialect.nulls]).toEqual([false, 0, true]);
    await done(running, 'reset', { names: ['clock', 'requests'] });
    expect([clock(), sandbox.requests]).toEqual([NOW, []]);
    await done(running, 'reset', { names: ['data'] });
    expect(data.purchases).toEqual(initial.seed.purchases);
    // Where the app is has not changed; its logins are over.
    expect(sandbox.redirectUrl).toBe('http://elsewhere.example/cb');
    expect((await running.get(`/api/get_user_info?access_token=${token}`)).body.error).toBe(true);
    await done(running, 'reset');
    expect(dialect.nulls).toBe(false);
    expect((await act(running, 'reset', { names: ['everything'] })).status).toBe(400);
  });

  it('exports a snapshot, and puts it back', async ({ running }) => {
    const { body } = await running.get('/sandbox/api/snapshot');
    running.sandbox.data.refundPurchase(CODE);
    await done(running, 'restore', body);
    expect(running.sandbox.snapshot()).toEqual(body);
  });

  it.each<[string, string, object, number, string]>([
    ['POST', 'nothing', {}, 404, 'GET /sandbox/api lists them'],
    ['POST', 'refund', { purchase_code: 'sentinel' }, 400, 'purchase_code: there is none with'],
    ['POST', 'refund', {}, 400, 'fields.purchase_code: expected string'],
    ['POST', 'refund', { purchase_code: CODE, a: 1 }, 400, 'fields.a: there is no such field'],
    ['POST', 'clock', { advance: 'soon' }, 400, 'fields.advance: expected a duration'],
    ['POST', 'clock', { advance: 1e300 }, 400, 'clock.advance: expected milliseconds within'],
    ['POST', 'add-app', { name: 'a\nNODE_OPTIONS=x' }, 400, 'without control characters'],
    ['POST', 'add-purchase', { item_id: 1042, purchase_code: CODE }, 400, 'code: given twice'],
    ['GET', 'refund', {}, 405, 'takes POST requests only'],
  ])(
    '%s %s %j: %i in JSON, which says why and repeats no value',
    async (method, name, fields, status, sentence) => {
      const running = await start();
      const { length } = running.sandbox.data.purchases;
      const answer =
        method === 'GET'
          ? await running.get(`/sandbox/api/${name}`)
          : await act(running, name, fields);
      expect([answer.status, answer.body.message]).toEqual([
        status,
        expect.stringContaining(sentence),
      ]);
      expect(answer.text).not.toMatch(/sentinel|6f1c2a54/);
      expect(running.sandbox.data.purchases).toHaveLength(length);
    },
  );

  it('a body of another type, which any website can send, is refused: 415', async ({ running }) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{"bom":true}',
    };
    expect((await running.send('/sandbox/api/set', init)).status).toBe(415);
    expect(running.sandbox.faults.bom).toBe(false);
  });

  it('/health answers, and neither it nor the API is among the requests', async ({ running }) => {
    expect((await running.get('/health')).body).toEqual({ status: 'ok' });
    await running.get('/Sandbox/API/codes');
    expect(running.sandbox.requests).toEqual([]);
  });
});

it('setSupportedUntil moves the end of support, which ends by the clock, or takes support away', async () => {
  const running = await start({ clock: () => NOW });
  const { data, clock } = running.sandbox;
  const code = running.code('unsupported');
  const until = async () =>
    at((await running.validate(code)).body, 'data.purchase.supported_until');
  data.setSupportedUntil(code, NOW + DAY);
  clock.set(NOW + DAY - 1000);
  expect(await until()).toBe('2027-01-02T00:00:00Z');
  clock.advance(1000);
  expect(await until()).toBeUndefined();
  clock.set(NOW);
  data.setSupportedUntil(code, null);
  expect(await until()).toBeUndefined();
  expect(() => data.setSupportedUntil(code, 'soon')).toThrow('supported_until: this is no date');
});

it('a deleted item is out of the catalogue, and still inside a purchase', async ({ running }) => {
  const path = `/api/items/item?api_key=${running.apiKey}&item_id=1044`;
  expect((await running.get(path)).body.msg).toBe('Item Not Found');
  const purchase = await running.validate(running.code('deleted-item'));
  expect(at(purchase.body, 'data.purchase.item.id')).toBe(1044);
});

it('revokeApiKey leaves no key that is accepted', async ({ running }) => {
  running.sandbox.data.revokeApiKey('northlight');
  for (const key of [running.apiKey, 'undefined']) {
    expect((await running.get(`/api/account/details?api_key=${key}`)).status).toBe(401);
  }
});

it.each([
  ...['', 'localhost:3000/callback', 'javascript:alert(1)', 'http:///cb'],
  ...['http://a.example/ b', 'http://a.example/\nSet-Cookie: x'],
])('sandbox.redirectUrl refuses %j', (url) => {
  const sandbox = createSandbox({ redirectUrl: 'HTTP://a.example/cb' });
  const assign = () => Object.assign(sandbox, { redirectUrl: url });
  expect(assign).toThrow(new TypeError('redirectUrl: expected an absolute http or https URL'));
  expect(sandbox.redirectUrl).toBe('HTTP://a.example/cb');
});

it('acceptLogin gives the callback URL of an app that has one, or names what is missing', ({
  running: { sandbox },
}) => {
  const other = String(sandbox.data.apps[1]?.app_id);
  const accept =
    (options: object, userId = '3001') =>
    () =>
      sandbox.acceptLogin(userId, options);
  expect(accept({ appId: other })).toThrow('sandbox.data.setRedirectUrl(appId, url)');
  sandbox.data.setRedirectUrl(other, 'http://localhost:5/in');
  expect(accept({ appId: other })()).toMatch(/^http:\/\/localhost:5\/in\?auth_key=/);
  expect(accept({ state: 'a b' })()).not.toContain('state');
  sandbox.dialect.echoState = true;
  expect(accept({ state: 'a b' })()).toMatch(/\?auth_key=[0-9a-f]{32}&state=a%20b$/);
  expect(accept({}, '9')).toThrow('user_id: there is none');
  expect(accept({ appId: 'x' })).toThrow('app_id: there is none');
});

it('sandbox.codes has every kind of purchase, under UUIDs that do not change, and what became of it', () => {
  const sandbox = createSandbox();
  const { codes } = sandbox;
  const kinds = 'supported support-over unsupported other-item extended other-workspace refunded';
  expect(codes.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds.split(' ')));
  for (const { code, description } of codes) {
    expect(code).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(description).toMatch(/^[A-Z].+\.$/);
  }
  expect(createSandbox().codes.map(({ code }) => code)).toEqual(codes.map(({ code }) => code));
  const said = (kind: string) => sandbox.codes.find((code) => code.kind === kind)?.description;
  expect(said('deleted-item')).toMatch(/^Valid, with support until .+; its item has left/);
  sandbox.data.addPurchase({ item_id: 1061 });
  expect(said('added')).toContain('invalid under the first one’s key');
});

describe('deterministic: true', () => {
  const drawn = async (options: SandboxOptions) => {
    const running = await start({ clock: () => NOW, ...options });
    const { data } = running.sandbox;
    const { purchase_code } = data.addPurchase({ item_id: 1042 });
    const token = (await exchange(running, authKeyOf(running.sandbox.acceptLogin('3001')))).body;
    return [purchase_code, data.rotateApiKey('northlight'), token.access_token];
  };

  it('makes the same codes, keys and tokens in every run, unlike each other', async () => {
    const one = await drawn({ deterministic: true });
    expect(await drawn({ deterministic: true })).toEqual(one);
    expect(one[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(one).size).toBe(3);
    expect(await drawn({})).not.toEqual(one);
  });

  it('makes other ones after a restart with the same state file', async () => {
    const state = newPath('state.json');
    const values = await drawn({ deterministic: true, state });
    const next = createSandbox({ deterministic: true, state });
    expect(values).not.toContain(next.data.addPurchase({ item_id: 1042 }).purchase_code);
  });
});

it('a control character in what is printed is refused, in a seed and in a state file', () => {
  const { workspaces, purchases, apps } = createSandbox().data;
  for (const text of ['1\nNODE_OPTIONS=--inspect', 'a\x9b']) {
    for (const [field, seed] of [
      ['app_secret', { apps: [{ ...apps[0], app_secret: text }] }],
      ['api_key', { workspaces: [{ ...workspaces[0], api_key: text }] }],
      ['purchase_code', { purchases: [{ ...purchases[0], purchase_code: text }] }],
    ] as [string, object][]) {
      const named = `${field}: expected text without control characters`;
      expect(() => createSandbox({ seed })).toThrow(named);
      const state = newPath('state.json');
      writeFileSync(state, JSON.stringify({ seed }));
      expect(() => createSandbox({ state })).toThrow(named);
    }
  }
  const name = 'plain — ünïcode';
  expect(() => createSandbox({ seed: { apps: [{ ...apps[0], name }] } as never })).not.toThrow();
});

describe('a seed', () => {
  it.each([
    ['as documented', {}],
    [
      'of other deployments',
      {
        ...{ nulls: true, tagsAsString: true, screenshotsAsObject: true, microseconds: true },
        ...{ numericStrings: true, localised: true },
      },
    ],
  ] as const)(
    'that is the answer of items/all, %s: the same items and media, with codes for them',
    async (_how, dialect) => {
      const service = await start({ dialect });
      const path = `/api/items/all?api_key=${service.apiKey}`;
      const answer = (await service.get(path)).body;
      const running = await start({ seed: answer as never });
      const { body } = await running.get(path);
      const pick = (items: unknown) =>
        (items as Json[]).map(({ id, name, category, media }) => {
          const { screenshots = null, ...others } = media as Json;
          return [id, name, category, others, screenshots && Object.values(screenshots)];
        });
      expect(pick(body.items)).toEqual(pick(answer.items));
      if (!('nulls' in dialect)) expect(body).toEqual(answer);
      const kinds = ['supported', 'extended', 'support-over', 'unsupported', 'refunded'];
      expect(running.sandbox.codes.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
      expect((await running.validate(running.code('supported'))).status).toBe(200);
    },
  );

  it('replaces parts, leaves the others, and is copied', async () => {
    const user = {
      ...{ user_id: '1', user_name: 'solo', user_email: 'solo@x.example' },
      ...{ user_registered: '2024-01-01', user_verified: '0' },
    };
    const purchases = [{ ...createSandbox().data.purchases[0] }];
    const running = await start({ seed: { users: [user], purchases } as never });
    const { text } = await running.get(`/api/oauth?app_id=${running.appId}`);
    expect(text).toContain('solo');
    expect(text).not.toContain('Mira');
    expect((await running.validate(CODE)).status).toBe(200);
    running.sandbox.data.refundPurchase(CODE);
    expect(purchases[0]).not.toHaveProperty('void');
  });
});
