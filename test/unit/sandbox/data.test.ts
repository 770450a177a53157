import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { CALLBACK, infoBehind, it, NOW, start } from './support.js';

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

it('data.setSupportedUntil moves the end of support, or takes support away', async () => {
  const running = await start({ clock: () => NOW });
  const code = running.code('unsupported');
  for (const [end, answered] of [
    [NOW + 2000, '2027-01-01T00:00:02Z'],
    [null, undefined],
  ] as const) {
    running.sandbox.data.setSupportedUntil(code, end);
    const { body } = await running.validate(code);
    expect(body.data?.purchase?.supported_until).toBe(answered);
  }
});

it('acceptLogin gives the callback URL of an app that has one, or names what is missing', () => {
  const sandbox = createSandbox({ redirectUrl: CALLBACK });
  const appId = String(sandbox.data.apps[1]?.app_id);
  const accept = (options: object) => sandbox.acceptLogin('3001', options);
  expect(() => accept({ appId })).toThrow('sandbox.data.setRedirectUrl(appId, url)');
  sandbox.data.setRedirectUrl(appId, 'http://localhost:5/in');
  expect(accept({ appId })).toMatch(/^http:\/\/localhost:5\/in\?auth_key=/);
  expect(() => accept({ appId: 'x' })).toThrow('app_id: there is none');
});

it('an id is found as text or as a number, and kept as the record has it', async ({ running }) => {
  const { sandbox, appId } = running;
  const { data } = sandbox;
  expect(await infoBehind(running, sandbox.acceptLogin(3001 as never))).toMatchObject({
    user_id: '3001',
  });
  data.setRedirectUrl(Number(appId) as never, 'http://b.example/');
  expect(sandbox.redirectUrl).toBe('http://b.example/');
  expect(data.addPurchase({ item_id: '1042' as never }).item_id).toBe(1042);
  expect(() => sandbox.acceptLogin(3 as never)).toThrow('there is none with this value');
});

describe('a restart', () => {
  it('changes no key, id or code, and makes other auth_keys', () => {
    const started = () => {
      const sandbox = createSandbox({ redirectUrl: CALLBACK, clock: () => NOW });
      sandbox.data.addPurchase({ item_id: 1042 });
      sandbox.data.addApp({ name: 'Mine' });
      return { ...sandbox.snapshot().seed, login: sandbox.acceptLogin('3001') };
    };
    const { login, ...kept } = started();
    const again = started();
    expect(again).toMatchObject(kept);
    expect(again.login).not.toBe(login);
  });

  it('with what was exported gives purchases that are added other codes', async ({
    running: { sandbox, get },
  }) => {
    const { purchase_code } = sandbox.data.addPurchase({ item_id: 1042 });
    const seed = sandbox.snapshot().seed;
    expect((await get('/sandbox/api/export')).body).toEqual(seed);
    // Also where one was taken out of the file.
    const [, ...purchases] = seed.purchases;
    const { data } = createSandbox({ seed: { ...seed, purchases } });
    expect(data.purchases.at(-1)?.purchase_code).toBe(purchase_code);
    expect(data.addPurchase({ item_id: 1042 }).purchase_code).not.toBe(purchase_code);
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
    faults.at('/api/items/item').latency = 1;
    const snapshot = JSON.parse(JSON.stringify(sandbox.snapshot()));
    data.refundPurchase(CODE);
    data.addPurchase({ item_id: 1042 });
    data.rotateApiKey('northlight');
    sandbox.redirectUrl = undefined;
    Object.assign(faults, { latency: 1, html: true });
    faults.at('/api/items/item').latency = 0;
    dialect.nulls = false;
    expect(sandbox.snapshot()).not.toEqual(snapshot);

    sandbox.restore(snapshot);
    expect(sandbox.snapshot()).toEqual(snapshot);
    expect([faults.html, dialect.nulls, sandbox.redirectUrl]).toEqual([false, true, CALLBACK]);
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
