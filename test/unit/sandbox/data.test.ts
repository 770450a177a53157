import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { at, CALLBACK, exchange, it, NOW, newAuthKey, start } from './support.js';

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

describe('a restart', () => {
  const started = async () => {
    const running = await start();
    const { data, codes } = running.sandbox;
    const added = [data.addPurchase({ item_id: 1042 }), data.addApp({ name: 'Mine' })];
    const { apiKey, appId, appSecret } = running;
    const authKey = newAuthKey(running);
    return {
      kept: [
        apiKey,
        appId,
        appSecret,
        codes.map(({ code }) => code),
        Object.values(added[1] ?? {}),
      ],
      code: (added[0] as { purchase_code: string }).purchase_code,
      secrets: [authKey, (await exchange(running, authKey)).body.access_token],
    };
  };

  it('changes no key, id or code, and makes other auth_keys and access tokens', async () => {
    const [first, second] = [await started(), await started()];
    expect(second.kept).toEqual(first.kept);
    expect(second.code).toBe(first.code);
    for (const secret of second.secrets) expect(first.secrets).not.toContain(secret);
  });

  it('with what was exported gives purchases that are added other codes', async () => {
    const { sandbox, get } = await start();
    const { purchase_code } = sandbox.data.addPurchase({ item_id: 1042 });
    const { body: seed } = await get('/sandbox/api/export');
    expect(seed).toEqual(sandbox.snapshot().seed);
    const { data, codes } = createSandbox({ seed: seed as never });
    expect(codes.map(({ code }) => code)).toContain(purchase_code);
    expect(data.addPurchase({ item_id: 1042 }).purchase_code).not.toBe(purchase_code);
    // Also where some were taken out of the file.
    const purchases = sandbox.data.purchases.slice(1);
    const fewer = createSandbox({ seed: { purchases } });
    expect(fewer.data.addPurchase({ item_id: 1042 }).purchase_code).not.toBe(purchase_code);
  });
});

describe('a seed', () => {
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
  const profile = workspaces[0]?.profile;
  it.each<[string, (text: string) => object]>([
    ['app_secret', (app_secret) => ({ apps: [{ ...apps[0], app_secret }] })],
    ['api_key', (api_key) => ({ workspaces: [{ ...workspaces[0], api_key }] })],
    ['purchase_code', (purchase_code) => ({ purchases: [{ ...purchases[0], purchase_code }] })],
    [
      'social_links.*',
      (name) => ({
        workspaces: [{ ...workspaces[0], profile: { ...profile, social_links: { [name]: 'x' } } }],
      }),
    ],
  ])('with a control character in the %s is refused, and the field is named', (field, seedWith) => {
    for (const text of ['1\nNODE_OPTIONS=--inspect', 'a\x9b']) {
      expect(() => createSandbox({ seed: seedWith(text) })).toThrow(
        new RegExp(`\\.${field}: expected text without control characters$`),
      );
    }
    expect(() => createSandbox({ seed: seedWith('plain-1') })).not.toThrow();
  });

  it('with a control character in the name of a field is refused, and it is not printed', () => {
    const seed = { apps: [{ ...apps[0], 'app\x1b[2J': 'x' }] } as never;
    expect(() => createSandbox({ seed })).toThrow('seed.apps[0].app?[2J: there is no such');
  });
});

describe('snapshot and restore', () => {
  it('put data and switches back, also from JSON', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { sandbox } = running;
    const { data, faults } = sandbox;
    faults.at('/api/none').latency = 1;
    const snapshot = JSON.parse(JSON.stringify(sandbox.snapshot()));
    data.refundPurchase(CODE);
    data.addPurchase({ item_id: 1042 });
    data.addUser({ user_name: 'kim' });
    data.rotateApiKey('northlight');
    sandbox.redirectUrl = undefined;
    Object.assign(faults, { latency: 1, html: true });
    faults.at('/api/none').latency = 0;
    sandbox.dialect.nulls = false;
    expect(sandbox.snapshot()).not.toEqual(snapshot);

    sandbox.restore(snapshot);
    expect(sandbox.snapshot()).toEqual(snapshot);
    expect((await running.validate(CODE)).status).toBe(200);
    expect([faults.html, faults.at('/api/none').latency, sandbox.dialect.nulls]).toEqual([
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
