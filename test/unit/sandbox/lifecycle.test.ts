import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, vi } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { ask, it, start } from './support.js';

it('listen takes any free port of loopback, says where, and can be called again after close', async ({
  running: { baseUrl, authUrl, sandbox },
}) => {
  expect([baseUrl, authUrl]).toEqual([
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    baseUrl,
  ]);
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

it.each([Number('abc'), 65_536])('listen names a port that is %s', async (port) => {
  const wrong = 'listen: "port" must be a whole number from 0 to 65535';
  await expect(createSandbox().listen(port)).rejects.toThrow(new TypeError(wrong));
});

it('close ends hanging, endless, delayed and kept-alive connections', async ({
  running: { sandbox, baseUrl },
}) => {
  const ended: Promise<unknown>[] = [];
  for (const faults of [{ hang: true }, { endless: true }, { latency: 60_000 }]) {
    sandbox.faults.clear();
    Object.assign(sandbox.faults, faults);
    const answer = fetch(`${baseUrl}/api/items/all`).then((response) => response.text());
    ended.push(expect(answer).rejects.toThrow());
    const arrived = () => expect(sandbox.requests).toHaveLength(ended.length);
    await vi.waitFor(arrived, { interval: 1, timeout: 40_000 });
  }
  const idle = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  idle.once('error', () => undefined);
  await once(idle, 'connect');
  ended.push(new Promise((resolve) => idle.once('close', resolve)));
  await sandbox.close();
  await Promise.all(ended);
});

it.each([
  ['sandbox:4000', 'http://sandbox:4000/media/'],
  // No Host that cannot be one.
  ['a"b<c>', 'http://127.0.0.1:'],
])('URLs follow the Host that the caller used: %s', async (host, url) => {
  const { baseUrl, apiKey } = await start();
  const path = `/api/items/item?item_id=1042&api_key=${apiKey}`;
  const { text } = await ask(baseUrl + path, { host });
  expect(JSON.parse(text).item.media.thumbnail.startsWith(url)).toBe(true);
});

const {
  items: [item],
  purchases,
  apps,
} = createSandbox().data;
const itemWith = (change: object) => ({ seed: { items: [{ ...item, ...change }] } });
const appWith = (change: object) => ({ seed: { apps: [{ ...apps[0], ...change }] } });

it.each<[object, string]>([
  [{ sed: {} }, 'createSandbox.sed: there is no such field'],
  [{ clock: () => '5' }, 'createSandbox.clock: expected a function that gives milliseconds'],
  [{ dialect: { nul: true } }, 'dialect.nul: there is no such switch'],
  [{ redirectUrl: 'javascript:alert(1)' }, 'redirectUrl: expected an absolute http'],
  [{ redirectUrl: 'http://a.example/\nSet-Cookie: x' }, 'redirectUrl: expected an absolute http'],
  [{ seed: { users: [{ user_id: '1' }] } }, 'seed.users[0].user_name: expected string'],
  [itemWith({ version: '1.0' }), 'seed.items[0].version: expected three numeric parts'],
  [itemWith({ workspace: 'x' }), 'seed.items[0].workspace: there is no such workspace'],
  [{ seed: { items: [item, item] } }, 'seed.items.id: given twice'],
  [{ seed: { purchases: [{ ...purchases[0], item_id: 5 }] } }, 'seed.purchases[0].item_id: there'],
  [{ seed: { apps: [] } }, 'seed.apps: expected at least one'],
  [appWith({ redirect_url: 'sentinel' }), 'seed.apps[0].redirect_url: expected an absolute http'],
  [appWith({ 'app\x1b[2J': 'x' }), 'seed.apps[0].app?[2J: there is no such field'],
])('createSandbox(%j) is a TypeError that quotes no value: %s', (options, named) => {
  const message = expect.stringMatching(/^(?!.*sentinel)/);
  const wrong = { name: 'TypeError', message };
  expect(() => createSandbox(options)).toThrow(expect.objectContaining(wrong));
  expect(() => createSandbox(options)).toThrow(named);
});
