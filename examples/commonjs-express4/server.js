'use strict';

const { randomBytes } = require('node:crypto');
const express = require('express');
const { KeyApi, LoginApi } = require('marketgate');
const passport = require('passport');
const { createApp } = require('./app.js');

const { env } = process;
const NAMES = ['BASE_URL', 'API_KEY', 'AUTH_URL', 'APP_ID', 'APP_SECRET'];

/** The real marketplace, when its five variables are set; otherwise a sandbox in this process. */
async function findService() {
  const [baseUrl, apiKey, authUrl, appId, appSecret] = NAMES.map(
    (name) => env[`MARKETPLACE_${name}`],
  );
  if (baseUrl && apiKey && authUrl && appId && appSecret) {
    return { baseUrl, apiKey, authUrl, appId, appSecret, close: async () => {} };
  }
  if (NAMES.some((name) => env[`MARKETPLACE_${name}`])) {
    throw new Error(`Set all of MARKETPLACE_${NAMES.join(', _')}, or none for the sandbox.`);
  }
  const { createSandbox } = require('marketgate/sandbox');
  const sandbox = createSandbox();
  console.log(`  Try code ${sandbox.codes[0].code} on /items/${sandbox.codes[0].item_id}/download`);
  return { ...(await sandbox.listen()), sandbox };
}

async function main() {
  const port = Number(env.PORT || 3000);
  const service = await findService();
  const keyApi = new KeyApi(pick(service, 'baseUrl', 'apiKey'));
  const loginApi = new LoginApi(pick(service, 'authUrl', 'appId', 'appSecret'));
  const cookieSecret = env.COOKIE_SECRET || randomBytes(32).toString('hex');
  const app = createApp({ express, passport, keyApi, loginApi, cookieSecret });
  const server = app.listen(port, '127.0.0.1', () => {
    const origin = `http://localhost:${server.address().port}`;
    // A real marketplace is told once, in its developer dashboard.
    if (service.sandbox) service.sandbox.redirectUrl = `${origin}/callback`;
    console.log(`  The API is at ${origin}/items`);
  });
  const close = () => {
    server.close(() => Promise.all([keyApi.close(), loginApi.close(), service.close()]));
    if (server.closeIdleConnections) server.closeIdleConnections();
  };
  process.once('SIGINT', close).once('SIGTERM', close);
}

const pick = (object, ...names) => Object.fromEntries(names.map((name) => [name, object[name]]));

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
