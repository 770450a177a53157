import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/index.js';
import { Browser, infoBehind, start } from '../../unit/sandbox/support.js';

// The consumer's Express may be 4: the same app must stand on it. The CommonJS build is loaded while
// Express 4 stands in the place of Express 5; what other tests of this worker have loaded, or will, has its own.
const require = createRequire(join(inject('builtPackage'), 'package.json'));
const at = require.resolve('express');
const express5 = require.cache[at];
const express4 = require('express4');
const built = dirname(require.resolve('marketgate/sandbox'));
const forgetBuild = () => {
  for (const path of Object.keys(require.cache)) {
    if (path.startsWith(built)) delete require.cache[path];
  }
};
forgetBuild();
require.cache[at] = require.cache[require.resolve('express4')];
const { createSandbox } = require('marketgate/sandbox') as {
  createSandbox: (options?: SandboxOptions) => Sandbox;
};
if (express5 === undefined) delete require.cache[at];
else require.cache[at] = express5;
forgetBuild();

it('the sandbox answers on Express 4 as on Express 5', async () => {
  const running = await start({}, createSandbox);
  // Express 5 creates the router with the app; only 4 has it lazily, under this name.
  await running.get('/');
  expect(Reflect.has(running.sandbox.app, '_router')).toBe(true);
  const { apiKey, appId, authUrl, code, get, postJson } = running;
  const item = (query: string) => `/api/items/item?api_key=${apiKey}&${query}`;
  const valid = JSON.stringify({ api_key: apiKey, purchase_code: code('supported') });
  for (const [answer, status, body] of [
    [get(item('item_id=1042')), 200, { item: { id: 1042 } }],
    [postJson('/api/purchases/validation', valid), 200, { status: 'success' }],
    [postJson('/api/purchases/validation', ''), 400, { status: 'error' }],
    [postJson('/api/purchases/validation', '{"api_key":'), 400, { status: 'error' }],
    [get('/sandbox/console'), 200, {}],
    [get('/nothing'), 404, {}],
    [get('/media/items/%E0%A4%A/preview.svg'), 400, {}],
  ] as const) {
    expect(await answer).toMatchObject({ status, body });
  }
  const callback = await new Browser(authUrl).logIn(appId);
  expect(await infoBehind(running, callback)).toMatchObject({ user_id: '3001' });

  // Express 4 parses a query once, for all apps: that of an app which parses more is not the sandbox's.
  const shop = express4().set('query parser', 'extended').use(running.sandbox.app).listen(0);
  const nested = await fetch(`http://127.0.0.1:${shop.address().port}${item('item_id[]=1042')}`);
  const msg = 'The item id field is required.';
  expect([nested.status, await nested.json()]).toEqual([400, { status: 'error', msg }]);
  shop.close();
});
