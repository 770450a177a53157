// The example for CommonJS and Express 4, as it is, on the Express of this project.
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { join } = require('node:path');
const express = require('express');
const { KeyApi, LoginApi } = require('marketgate');
const { createSandbox } = require('marketgate/sandbox');
const passport = require('passport');

// It lies there only in the projects that these programs are copied into.
const { createApp } = require(join(__dirname, '../commonjs-express4/app.js'));

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';
const ITEM = '/items/1042/download';

async function main() {
  const sandbox = createSandbox();
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen(0);
  const keyApi = new KeyApi({ baseUrl, apiKey, retries: 0 });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  const cookieSecret = 'not-so-secret-but-long-enough-for-a-test';
  const app = createApp({ express, passport, keyApi, loginApi, cookieSecret });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  const ask = async (path, init = {}) => {
    const headers = { accept: 'application/json', ...init.headers };
    const answer = await fetch(origin + path, { redirect: 'manual', ...init, headers });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text && JSON.parse(text) };
  };

  // An outage first, while nothing is remembered: it reaches the error handler, and does not hang.
  sandbox.faults.errorRate = 1;
  const down = await ask(ITEM, { headers: { 'x-purchase-code': CODE } });
  assert.deepEqual([down.status, down.body.code], [503, 'service_unavailable']);
  sandbox.faults.errorRate = 0;

  assert.equal((await ask(ITEM)).body.code, 'purchase_required');
  const wrong = await ask(ITEM, { headers: { 'x-purchase-code': UNKNOWN } });
  assert.deepEqual([wrong.status, wrong.body.code], [403, 'purchase_code_invalid']);
  const file = { file: 'item-1042.zip', license_type: 'Regular' };
  assert.deepEqual((await ask(ITEM, { headers: { 'x-purchase-code': CODE } })).body, file);
  const body = new URLSearchParams({ purchase_code: CODE });
  assert.deepEqual((await ask(ITEM, { method: 'POST', body })).body, file);
  assert.ok((await ask('/items')).body.length > 5);

  const me = await ask('/me');
  assert.deepEqual([me.status, me.body.code], [401, 'login_required']);
  const start = await fetch(`${origin}/login`, { redirect: 'manual' });
  assert.equal(start.headers.get('location'), loginApi.loginUrl());
  const forged = await fetch(`${origin}/callback?auth_key=made-up`);
  assert.equal(forged.status, 403);

  server.closeAllConnections();
  server.close();
  await Promise.all([keyApi.close(), loginApi.close(), sandbox.close()]);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
