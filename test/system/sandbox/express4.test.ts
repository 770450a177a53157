import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/index.js';
import { Browser, infoBehind, start as startOn } from '../../unit/sandbox/support.js';

// The consumer's Express may be 4: the same app must stand on it. The CommonJS build is loaded while
// Express 4 stands in the place of Express 5, so what other tests have imported is left alone.
const require = createRequire(join(inject('builtPackage'), 'package.json'));
const at = require.resolve('express');
const express5 = require.cache[at];
require('express4');
require.cache[at] = require.cache[require.resolve('express4')];
const { createSandbox } = require('marketgate/sandbox') as {
  createSandbox: (options?: SandboxOptions) => Sandbox;
};
if (express5 === undefined) delete require.cache[at];
else require.cache[at] = express5;

const start = () => startOn({}, createSandbox);

it('answers both interfaces from end to end, on Express 4 indeed', async () => {
  const running = await start();
  // Express 5 creates the router with the app; only 4 has it lazily, under this name.
  expect(Reflect.has(running.sandbox.app, '_router')).toBe(true);
  const path = `/api/items/item?api_key=${running.apiKey}&item_id=1042`;
  expect((await running.get(path)).body).toMatchObject({ item: { id: 1042 } });
  expect((await running.validate(running.code('supported'))).status).toBe(200);
  const callback = await new Browser(running.authUrl).logIn(running.appId);
  expect(await infoBehind(running, callback)).toMatchObject({ user_id: '3001' });
});

it('answers JSON bodies, missing and unreadable ones as on Express 5', async () => {
  const running = await start();
  const send = async (body: string) => {
    const answer = await running.postJson('/api/purchases/validation', body);
    return [answer.status, Object.keys(answer.body)];
  };
  const refused = [400, ['status', 'msg']];
  expect(await send('')).toEqual(refused);
  expect(await send('{"api_key":')).toEqual(refused);
  const valid = { api_key: running.apiKey, purchase_code: running.code('supported') };
  expect(await send(JSON.stringify(valid))).toEqual([200, ['status', 'data']]);
});

it('serves pages, media and the console, and says 404 and 400', async () => {
  const running = await start();
  const statusOf = async (path: string) => (await running.get(path)).status;
  for (const page of ['', 'sandbox/console', 'preview/1042', 'media/items/1042/thumbnail.svg']) {
    expect(await statusOf(`/${page}`)).toBe(200);
  }
  expect([await statusOf('/nothing'), await statusOf('/preview/%E0%A4%A')]).toEqual([404, 400]);
});
