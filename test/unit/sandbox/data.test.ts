import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { CALLBACK, it, NOW, newToken, start } from './support.js';

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

it('data.setSupportedUntil moves the end of support, which ends by the clock, or takes support away', async () => {
  const running = await start({ clock: () => NOW });
  const { data, clock } = running.sandbox;
  const code = running.code('unsupported');
  const until = async () => (await running.validate(code)).body.data?.purchase?.supported_until;
  data.setSupportedUntil(code, NOW + 2000);
  expect(await until()).toBe('2027-01-01T00:00:02Z');
  clock.advance(2000);
  expect(await until()).toBeUndefined();
  clock.set(NOW);
  data.setSupportedUntil(code, null);
  expect(await until()).toBeUndefined();
});

it('acceptLogin gives the callback URL of an app that has one, or names what is missing', () => {
  const sandbox = createSandbox({ redirectUrl: CALLBACK });
  const appId = String(sandbox.data.apps[1]?.app_id);
  const accept = (options: object, userId = '3001') => sandbox.acceptLogin(userId, options);
  expect(() => accept({ appId })).toThrow('sandbox.data.setRedirectUrl(appId, url)');
  sandbox.data.setRedirectUrl(appId, 'http://localhost:5/in');
  expect(accept({ appId })).toMatch(/^http:\/\/localhost:5\/in\?auth_key=/);
  expect(() => accept({}, '9')).toThrow('user_id: there is none');
  expect(() => accept({ appId: 'x' })).toThrow('app_id: there is none');
});

it('codes has every kind of purchase, with what the service answers for it', () => {
  const { codes } = createSandbox();
  const kinds = 'supported support-over unsupported other-item extended other-workspace refunded';
  expect(codes.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds.split(' ')));
  for (const { description } of codes) expect(description).toMatch(/^[A-Z].+\.$/);
  const gone = codes.find(({ kind }) => kind === 'deleted-item');
  expect(gone?.description).toMatch(/^Valid, with support until .+; its item has left/);
});

describe('a restart', () => {
  it('changes no key, id or code, and makes other auth_keys and access tokens', async () => {
    const started = async () => {
      const running = await start();
      const { data, codes } = running.sandbox;
      const added = [data.addPurchase({ item_id: 1042 }), data.addApp({ name: 'Mine' })];
      const { apiKey, appId, appSecret } = running;
      const kept = [apiKey, appId, appSecret, codes.map(({ code }) => code)];
      return { kept: [...kept, ...added.flatMap(Object.values)], token: await newToken(running) };
    };
    const [first, second] = [await started(), await started()];
    const dated = (values: unknown[]) => values.filter((each) => !/^20\d\d-/.test(String(each)));
    expect(dated(second.kept)).toEqual(dated(first.kept));
    expect(first.kept[3]).toContain(CODE);
    expect(second.token).not.toBe(first.token);
  });

  it('with what was exported gives purchases that are added other codes', async ({
    running: { sandbox, get },
  }) => {
    const { purchase_code } = sandbox.data.addPurchase({ item_id: 1042 });
    const seed = sandbox.snapshot().seed;
    expect((await get('/sandbox/api/export')).body).toEqual(seed);
    // Also where some were taken out of the file.
    for (const purchases of [seed.purchases, seed.purchases.slice(1)]) {
      const { data } = createSandbox({ seed: { ...seed, purchases } });
      expect(data.purchases.at(-1)?.purchase_code).toBe(purchase_code);
      expect(data.addPurchase({ item_id: 1042 }).purchase_code).not.toBe(purchase_code);
    }
  });
});

it('a seed replaces parts, leaves the others, and is copied', () => {
  const { purchases: all, users } = createSandbox().data;
  const purchases = [{ ...all[0] }];
  const { data } = createSandbox({ seed: { purchases } as never });
  expect([data.purchases, data.users]).toEqual([purchases, users]);
  data.refundPurchase(CODE);
  expect(purchases[0]).not.toHaveProperty('void');
  // Purchases of items that were replaced are left out.
  expect(createSandbox({ seed: { items: [] } }).data.purchases).toEqual([]);
});

describe('snapshot and restore', () => {
  it('put data and switches back, also from JSON', () => {
    const sandbox = createSandbox({ dialect: { nulls: true }, redirectUrl: CALLBACK });
    const { data, faults, dialect } = sandbox;
    faults.at('/api/none').latency = 1;
    const snapshot = JSON.parse(JSON.stringify(sandbox.snapshot()));
    data.refundPurchase(CODE);
    data.addPurchase({ item_id: 1042 });
    data.rotateApiKey('northlight');
    sandbox.redirectUrl = undefined;
    Object.assign(faults, { latency: 1, html: true });
    faults.at('/api/none').latency = 0;
    dialect.nulls = false;
    expect(sandbox.snapshot()).not.toEqual(snapshot);

    sandbox.restore(snapshot);
    expect(sandbox.snapshot()).toEqual(snapshot);
    const switches = [faults.html, faults.at('/api/none').latency, dialect.nulls];
    expect(switches).toEqual([false, 1, true]);
    expect([data.purchases.length, sandbox.redirectUrl]).toEqual([12, CALLBACK]);
  });

  it('refuse what is no snapshot, and then change nothing', () => {
    const sandbox = createSandbox();
    const before = sandbox.snapshot();
    for (const [wrong, message] of [
      [null, /expected an object/],
      [{ seed: { users: [] }, switches: { 'faults.latancy': 1 } }, /faults\.latancy/],
    ] as [never, RegExp][]) {
      expect(() => sandbox.restore(wrong)).toThrow(message);
      expect(sandbox.snapshot()).toEqual(before);
    }
    // A snapshot is a copy: what comes later does not change it.
    sandbox.data.refundPurchase(CODE);
    expect(sandbox.snapshot()).not.toEqual(before);
  });
});
