import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createSandbox, type SandboxOptions } from '../../../src/sandbox/index.js';
import { newPath } from '../../support/new-path.js';
import { at, CALLBACK, it, type Json, NOW, newToken, start } from './support.js';

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

describe('sandbox.data', () => {
  it('setSupportedUntil moves the end of support, which ends by the clock, or takes support away', async () => {
    const running = await start({ clock: () => NOW });
    const { data, clock } = running.sandbox;
    const code = running.code('unsupported');
    const until = async () =>
      at((await running.validate(code)).body, 'data.purchase.supported_until');
    data.setSupportedUntil(code, NOW + 2000);
    clock.advance(1000);
    expect(await until()).toBe('2027-01-01T00:00:02Z');
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

  it('acceptLogin gives the callback URL of an app that has one, or names what is missing', ({
    running: { sandbox },
  }) => {
    const appId = String(sandbox.data.apps[1]?.app_id);
    const accept = (options: object, userId = '3001') => sandbox.acceptLogin(userId, options);
    expect(() => accept({ appId })).toThrow('sandbox.data.setRedirectUrl(appId, url)');
    sandbox.data.setRedirectUrl(appId, 'http://localhost:5/in');
    expect(accept({ appId })).toMatch(/^http:\/\/localhost:5\/in\?auth_key=/);
    expect(accept({ state: 'a b' })).not.toContain('state');
    sandbox.dialect.echoState = true;
    expect(accept({ state: 'a b' })).toMatch(/\?auth_key=[0-9a-f]{32}&state=a%20b$/);
    expect(() => accept({}, '9')).toThrow('user_id: there is none');
    expect(() => accept({ appId: 'x' })).toThrow('app_id: there is none');
  });
});

it('sandbox.codes has every kind of purchase, under UUIDs that do not change, and what became of it', () => {
  const sandbox = createSandbox();
  const kinds = 'supported support-over unsupported other-item extended other-workspace refunded';
  const kindsOf = sandbox.codes.map(({ kind }) => kind);
  expect(kindsOf).toEqual(expect.arrayContaining(kinds.split(' ')));
  for (const { code, description } of sandbox.codes) {
    expect(code).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(description).toMatch(/^[A-Z].+\.$/);
  }
  expect(createSandbox().codes[0]?.code).toBe(CODE);
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
    return [purchase_code, data.rotateApiKey('northlight'), await newToken(running)];
  };

  it('makes the same codes, keys and tokens in every run, unlike each other', async () => {
    const one = await drawn({ deterministic: true });
    expect(await drawn({ deterministic: true })).toEqual(one);
    expect(new Set(one).size).toBe(3);
    expect(await drawn({})).not.toEqual(one);
  });

  it('makes other ones after a restart with the same state file', async () => {
    const options = { deterministic: true, state: newPath('state.json') };
    const values = await drawn(options);
    const { purchase_code } = createSandbox(options).data.addPurchase({ item_id: 1042 });
    expect(values).not.toContain(purchase_code);
  });
});

describe('a seed', () => {
  const OTHERS = {
    ...{ nulls: true, tagsAsString: true, screenshotsAsObject: true, microseconds: true },
    ...{ numericStrings: true, localised: true },
  } as const;
  it.each([
    ['as documented', {}],
    ['of other deployments', OTHERS],
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
    expect(text).toMatch(/solo(?![\s\S]*Mira)/);
    expect((await running.validate(CODE)).status).toBe(200);
    running.sandbox.data.refundPurchase(CODE);
    expect(purchases[0]).not.toHaveProperty('void');
  });

  const { workspaces, purchases, apps } = createSandbox().data;
  it.each<[string, (text: string) => object]>([
    ['app_secret', (app_secret) => ({ apps: [{ ...apps[0], app_secret }] })],
    ['api_key', (api_key) => ({ workspaces: [{ ...workspaces[0], api_key }] })],
    ['purchase_code', (purchase_code) => ({ purchases: [{ ...purchases[0], purchase_code }] })],
  ])('with a control character in the %s is refused, also in a state file', (field, seedWith) => {
    const state = newPath('state.json');
    for (const text of ['1\nNODE_OPTIONS=--inspect', 'a\x9b']) {
      const seed = seedWith(text);
      writeFileSync(state, JSON.stringify({ seed }));
      const named = `${field}: expected text without control characters`;
      expect(() => createSandbox({ seed })).toThrow(named);
      expect(() => createSandbox({ state })).toThrow(named);
    }
    expect(() => createSandbox({ seed: seedWith('plain-1') })).not.toThrow();
  });
});

describe('snapshot and restore', () => {
  it('put data and switches back, also through the JSON API', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { sandbox } = running;
    const { data, faults } = sandbox;
    faults.at('/api/none').latency = 1;
    const { body: snapshot } = await running.get('/sandbox/api/snapshot');
    data.refundPurchase(CODE);
    data.addPurchase({ item_id: 1042 });
    data.addUser({ user_name: 'kim' });
    data.revokeApiKey('northlight');
    sandbox.redirectUrl = undefined;
    Object.assign(faults, { latency: 1, bom: true });
    faults.at('/api/none').latency = 0;
    sandbox.dialect.nulls = false;
    expect(sandbox.snapshot()).not.toEqual(snapshot);

    expect((await running.postJson('/sandbox/api/restore', snapshot)).status).toBe(200);
    expect(sandbox.snapshot()).toEqual(snapshot);
    expect((await running.validate(CODE)).status).toBe(200);
    expect([faults.bom, faults.at('/api/none').latency, sandbox.dialect.nulls]).toEqual([
      ...[false, 1, true],
    ]);
    expect([data.purchases.length, sandbox.redirectUrl]).toEqual([12, CALLBACK]);
  });

  it.each([
    [null, /expected an object/],
    [{ seed: { users: [] }, switches: { 'faults.latancy': 1 } }, /faults\.latancy/],
  ])('%j is refused, and changes nothing', (wrong, message) => {
    const sandbox = createSandbox();
    const before = sandbox.snapshot();
    expect(() => Reflect.apply(sandbox.restore, sandbox, [wrong])).toThrow(message);
    // A snapshot is a copy: what comes later does not change it.
    expect(sandbox.snapshot()).toEqual(before);
    sandbox.data.refundPurchase(CODE);
    expect(sandbox.snapshot()).not.toEqual(before);
  });
});

describe('a state file', () => {
  it('lets purchases, keys, users and switches outlive a restart, for its owner alone', async () => {
    const state = newPath('state.json');
    const first = await start({ state });
    const { data, faults } = first.sandbox;
    const { purchase_code } = data.addPurchase({ item_id: 1046 });
    const key = data.rotateApiKey('northlight');
    data.addUser({ user_name: 'kim' });
    faults.errorRate = 0.5;
    await first.sandbox.close();

    const { apiKey, sandbox, validate } = await start({ state, dialect: { microseconds: true } });
    expect([apiKey, sandbox.data.users.length, sandbox.faults.errorRate]).toEqual([key, 6, 0.5]);
    // What the file says counts, not what a new sandbox would start with.
    expect(sandbox.dialect.microseconds).toBe(false);
    sandbox.faults.clear();
    expect((await validate(purchase_code)).status).toBe(200);
    expect(JSON.parse(readFileSync(state, 'utf8')).switches['faults.errorRate']).toBe(0);
    // Windows has no such mode.
    if (process.platform !== 'win32') expect(statSync(state).mode & 0o077).toBe(0);
  });

  it('has what faults that end after some requests have come to', async () => {
    const state = newPath('state.json');
    const running = await start({ state });
    Object.assign(running.sandbox.faults, { html: true, times: 2 });
    await running.validate('x');
    expect(createSandbox({ state }).faults).toMatchObject({ html: true, times: 1 });
    await running.validate('x');
    expect(createSandbox({ state }).faults).toMatchObject({ html: false, times: undefined });
  });

  it('that cannot be written is named, in code and by the API', async () => {
    const folder = newPath('folder');
    mkdirSync(folder);
    const { sandbox, postJson } = await start({ state: join(folder, 'state.json') });
    rmSync(folder, { recursive: true });
    const message = /^state: .*state\.json cannot be written \(ENOENT\)$/;
    expect(() => sandbox.data.addPurchase({ item_id: 1046 })).toThrow(message);
    const { status, body } = await postJson('/sandbox/api/set', { nulls: true });
    expect([status, body.message]).toEqual([400, expect.stringMatching(message)]);
  });

  it.each([
    ['{"seed":', ' cannot be read as JSON'],
    ['{"seed":{"users":[{}]}}', ': seed.users[0].user_id'],
    ['[]', ': snapshot: expected an object'],
  ])('that has %s is refused, and named', (text, problem) => {
    const state = newPath('state.json');
    writeFileSync(state, text);
    expect(() => createSandbox({ state })).toThrow(`state: ${state}${problem}`);
  });
});
