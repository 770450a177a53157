import { once } from 'node:events';
import { connect } from 'node:net';
import supertest from 'supertest';
import { describe, expect, vi } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { ask, it, start } from './support.js';

describe('listen and close', () => {
  it('listens on any free port of loopback and says where', async ({ running }) => {
    expect(running.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(running.authUrl).toBe(running.baseUrl);
    expect(running.apiKey).toMatch(/^[0-9a-f]{64}$/);
    expect((await running.get('/health')).status).toBe(200);
  });

  it('rejects when the port is taken or it listens already, and can be asked again', async ({
    running: { baseUrl, sandbox },
  }) => {
    const other = createSandbox();
    const port = Number(new URL(baseUrl).port);
    await expect(other.listen(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await expect(sandbox.listen()).rejects.toThrow('listening already');
    await sandbox.close();
    await sandbox.close();
    for (const each of [other, sandbox]) {
      expect((await fetch((await each.listen()).baseUrl)).status).toBe(200);
    }
    await other.close();
  });

  it.each([Number('abc'), -1, 65_536])('a port that is %s is named', async (port) => {
    const wrong = 'listen: "port" must be a whole number from 0 to 65535';
    await expect(createSandbox().listen(port)).rejects.toThrow(new TypeError(wrong));
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
    const { text } = await ask(baseUrl + path, { host });
    expect(JSON.parse(text).item.media.thumbnail).toMatch(url);
  });
});

const { items, purchases } = createSandbox().data;
const [item] = items;
const itemWith = (change: object) => ({ seed: { items: [{ ...item, ...change }] } });

it.each<[object | null, string]>([
  [{ sed: {} }, 'createSandbox.sed: there is no such field'],
  [null, 'createSandbox: expected object'],
  [{ clock: () => '5' }, 'createSandbox.clock: expected a function that gives milliseconds'],
  [{ dialect: 'ok' }, 'createSandbox.dialect: expected an object'],
  [{ dialect: { nul: true } }, 'dialect.nul: there is no such switch'],
  [{ dialect: { rateLimit: 0.5 } }, 'dialect.rateLimit: expected true, false or a whole number'],
  [{ redirectUrl: '/callback' }, 'createSandbox.redirectUrl: expected an absolute http'],
  [{ seed: { user: [] } }, 'seed.user: there is no such field'],
  [{ seed: { users: [{ user_id: '1' }] } }, 'seed.users[0].user_name: expected string'],
  [itemWith({ colour: 'red' }), 'seed.items[0].colour: there is no such field'],
  [itemWith({ version: '1.0' }), 'seed.items[0].version: expected three numeric parts'],
  [{ seed: { items: [item, item] } }, 'seed.items.id: given twice'],
  [itemWith({ workspace: 'x' }), 'seed.items[0].workspace: there is no such workspace'],
  [{ seed: { purchases: [{ ...purchases[0], item_id: 5 }] } }, 'seed.purchases[0].item_id: there'],
  [{ seed: { apps: [] } }, 'seed.apps: expected at least one'],
  [{ seed: { status: 'success', items: [] } }, 'seed.status: there is no such field'],
])('createSandbox(%j) is a TypeError: %s', (options, named) => {
  const make = () => Reflect.apply(createSandbox, undefined, [options]);
  expect(make).toThrow(
    expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(named) }),
  );
});

it('an error about an option quotes no value, for it can be a secret', () => {
  const apps = [{ app_id: '1', app_secret: 'sentinel', name: 'a', redirect_url: 'sentinel' }];
  const clean = expect.objectContaining({ message: expect.not.stringContaining('sentinel') });
  expect(() => createSandbox({ seed: { apps } })).toThrow(clean);
});

it.each([
  ...['', 'localhost:3000/callback', 'javascript:alert(1)', 'http:///cb'],
  ...['http://a.example/ b', 'http://a.example/\nSet-Cookie: x'],
])('sandbox.redirectUrl refuses %j', (redirectUrl) => {
  const sandbox = createSandbox({ redirectUrl: 'HTTP://a.example/cb' });
  const wrong = new TypeError('redirectUrl: expected an absolute http or https URL');
  expect(() => Object.assign(sandbox, { redirectUrl })).toThrow(wrong);
  expect(sandbox.redirectUrl).toBe('HTTP://a.example/cb');
});

it('sandbox.clock is callable, runs on its base, and moves by advance and set', () => {
  let base = 1000;
  const { clock } = createSandbox({ clock: () => base });
  clock.advance(500);
  expect([clock(), clock.now()]).toEqual([1500, 1500]);
  clock.set(90_000);
  base += 5;
  expect(clock()).toBe(90_005);
  expect(() => clock.set(Number.NaN)).toThrow(TypeError);
});
