import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { connect } from 'node:net';
import supertest from 'supertest';
import { describe, expect, vi } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { it, start } from './support.js';

describe('listen and close', () => {
  it('listens on any free port of loopback and says where', async ({ running }) => {
    expect(running.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(running.authUrl).toBe(running.baseUrl);
    expect(running.apiKey).toMatch(/^[0-9a-f]{64}$/);
    expect((await running.get('/')).status).toBe(200);
  });

  it('rejects when the port is taken, and can be asked again', async ({ running }) => {
    const other = createSandbox();
    await expect(other.listen(Number(new URL(running.baseUrl).port))).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    const { baseUrl, close } = await other.listen();
    expect((await fetch(baseUrl)).status).toBe(200);
    await close();
  });

  it.each([Number('abc'), -1, 65_536, 1.5])('a port that is %s is named', async (port) => {
    const wrong = 'listen: "port" must be a whole number from 0 to 65535';
    await expect(createSandbox().listen(port)).rejects.toThrow(new TypeError(wrong));
  });

  it('refuses to listen twice at once, but listens again after close', async () => {
    const { sandbox } = await start();
    await expect(sandbox.listen()).rejects.toThrow('listening already');
    await sandbox.close();
    await sandbox.close();
    expect((await fetch((await sandbox.listen()).baseUrl)).status).toBe(200);
  });

  it('that is closed while it begins to listen rejects, and can listen again', async () => {
    const sandbox = createSandbox();
    const listening = sandbox.listen();
    const refused = expect(listening).rejects.toThrow('The sandbox was closed before it listened.');
    await sandbox.close();
    await refused;
    await sandbox.listen();
    await sandbox.close();
  });

  it('close() ends hanging, endless, delayed and kept-alive connections', async () => {
    const { sandbox, baseUrl } = await start();
    const ask = async () => (await fetch(`${baseUrl}/api/items/all`)).text();
    const ended: Promise<unknown>[] = [];
    for (const faults of [{ hang: true }, { endless: true }, { latency: 60_000 }]) {
      sandbox.faults.clear();
      Object.assign(sandbox.faults, faults);
      ended.push(expect(ask()).rejects.toThrow());
      const arrived = () => expect(sandbox.requests).toHaveLength(ended.length);
      await vi.waitFor(arrived, { interval: 1, timeout: 40_000 });
    }
    const idle = connect(Number(new URL(baseUrl).port), '127.0.0.1');
    idle.once('error', () => undefined);
    await once(idle, 'connect');
    const idleClosed = new Promise((resolve) => idle.once('close', resolve));
    await sandbox.close();
    await Promise.all([idleClosed, ...ended]);
  });

  it('the app answers without listen, for supertest', async () => {
    const sandbox = createSandbox();
    const key = sandbox.data.workspaces[0]?.api_key;
    const query = { api_key: key, item_id: 1042 };
    const answer = await supertest(sandbox.app).get('/api/items/item').query(query);
    expect(answer.body.item.id).toBe(1042);
    expect(new URL(answer.body.item.media.thumbnail).hostname).toBe('127.0.0.1');
  });

  it.each([
    ['sandbox:4000', /^http:\/\/sandbox:4000\/media\//],
    ['[::1]:4000', /^http:\/\/\[::1\]:4000\/media\//],
    // No Host that cannot be one.
    ['a"b<c>', /^http:\/\/127\.0\.0\.1:\d+\/media\//],
  ])('URLs follow the Host that the caller used: %s', async (host, url) => {
    const { baseUrl, apiKey } = await start();
    const path = `/api/items/item?item_id=1042&api_key=${apiKey}`;
    // fetch would not send a Host of ours.
    const [response] = await once(httpGet(baseUrl + path, { headers: { host } }), 'response');
    const { item } = JSON.parse((await response.toArray()).join(''));
    expect(item.media.thumbnail).toMatch(url);
  });
});

describe('a wrong option is a TypeError that names it', () => {
  const { items, purchases } = createSandbox().data;
  const [item] = items;
  const unsold = { ...purchases[0], item_id: 5 };
  const itemWith = (change: object) => ({ seed: { items: [{ ...item, ...change }] } });
  it.each<[string, object | null, string]>([
    ['an unknown option', { sed: {} }, 'sed'],
    ['null', null, 'createSandbox: '],
    ['clock', { clock: 5 }, 'clock'],
    ['a clock that gives no number', { clock: () => '5' }, 'clock'],
    ['dialect', { dialect: 'ok' }, 'dialect'],
    ['an unknown switch', { dialect: { nul: true } }, 'dialect.nul'],
    ['a switch value', { dialect: { errors: 'no' } }, 'dialect.errors'],
    ['a negative limit', { dialect: { rateLimit: -1 } }, 'dialect.rateLimit'],
    ['a limit of a half', { dialect: { rateLimit: 0.5 } }, 'dialect.rateLimit'],
    ['a limit that is no number', { dialect: { rateLimit: Number.NaN } }, 'dialect.rateLimit'],
    ['a time past all dates', { dialect: { tokenMinutes: 1e15 } }, 'dialect.tokenMinutes'],
    ['a number as text', { dialect: { tokenMinutes: '1' } }, 'dialect.tokenMinutes'],
    ['redirectUrl', { redirectUrl: '/callback' }, 'redirectUrl'],
    ['one without a scheme', { redirectUrl: 'localhost:3000/cb' }, 'createSandbox.redirectUrl'],
    ['seed', { seed: 5 }, 'seed'],
    ['an unknown part', { seed: { user: [] } }, 'seed.user'],
    ['a missing field', { seed: { users: [{ user_id: '1' }] } }, 'seed.users[0].user_name'],
    ['a wrong type', itemWith({ price: { regular: '5', extended: 9 } }), '[0].price.regular'],
    ['an unknown field', itemWith({ colour: 'red' }), 'seed.items[0].colour'],
    ['a version of two parts', itemWith({ version: '1.0' }), 'seed.items[0].version'],
    ['an item given twice', { seed: { items: [item, item] } }, 'seed.items[1].id'],
    ['an item of no workspace', itemWith({ workspace: 'x' }), 'seed.items[0].workspace'],
    ['a sale of no item', { seed: { purchases: [unsold] } }, 'seed.purchases[0].item_id'],
    ['no apps', { seed: { apps: [] } }, 'seed.apps'],
  ])('%s', (_name, options, named) => {
    const make = () => Reflect.apply(createSandbox, undefined, [options]);
    expect(make).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(named) }),
    );
  });

  it('quotes no value: a secret in the wrong place does not get into the message', () => {
    const secret = 'sentinel-secret';
    const apps = [{ app_id: '1', app_secret: secret, name: 'a', redirect_url: secret }];
    expect(() => createSandbox({ seed: { apps } })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('sentinel-secret') }),
    );
  });
});

it('delete puts a switch back, and a misspelt one is a TypeError', () => {
  const { faults, dialect } = createSandbox({ dialect: { tokenMinutes: 1 } });
  Object.assign(faults, { latency: 5, only: 'key-api' });
  for (const name of ['latency', 'only']) expect(Reflect.deleteProperty(faults, name)).toBe(true);
  expect(Reflect.deleteProperty(dialect, 'tokenMinutes')).toBe(true);
  const initial = createSandbox();
  expect([{ ...faults }, { ...dialect }]).toStrictEqual([
    { ...initial.faults },
    { ...initial.dialect },
  ]);
  const misspelt = 'faults.latancy: there is no such switch';
  expect(() => Reflect.deleteProperty(faults, 'latancy')).toThrow(misspelt);
});

describe('seed', () => {
  it('has UUID v4 codes that do not change between sandboxes', () => {
    const codes = createSandbox().codes.map(({ code }) => code);
    expect(codes.length).toBeGreaterThanOrEqual(10);
    for (const code of codes) {
      expect(code).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    expect(createSandbox().codes.map(({ code }) => code)).toEqual(codes);
  });

  it('a part replaces the default part and leaves the others', async () => {
    const user = {
      user_id: '1',
      user_name: 'solo',
      user_email: 'solo@x.example',
      user_registered: '2024-01-01',
      user_verified: '0',
    };
    const running = await start({ seed: { users: [user] } });
    const { text } = await running.get(`/api/oauth?app_id=${running.appId}`);
    expect(text).toContain('solo');
    expect(text).not.toContain('Mira');
    expect((await running.validate(running.code('supported'))).status).toBe(200);
  });

  it('is copied: changing the sandbox does not change the object that was passed', () => {
    const [purchase] = createSandbox().data.purchases;
    const purchases = purchase ? [{ ...purchase }] : [];
    createSandbox({ seed: { purchases } }).data.refundPurchase(String(purchase?.purchase_code));
    expect(purchases[0]).not.toHaveProperty('void');
  });
});
