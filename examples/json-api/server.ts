import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { createApp } from './app.js';

const sandbox = createSandbox();
const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
const app = createApp({
  keyApi: new KeyApi({ baseUrl, apiKey }),
  loginApi: new LoginApi({ authUrl, appId, appSecret }),
  cookieSecret: process.env.COOKIE_SECRET ?? randomBytes(32).toString('hex'),
});

const port = Number(process.env.PORT ?? 3000);
if (!(port >= 0 && port < 65_536)) {
  console.error('PORT must be a number from 0 to 65535.');
  process.exit(1);
}
const server = app.listen(port, '127.0.0.1', (error) => {
  if (error) {
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  }
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  console.log(`The API is at ${origin}/api/items, the login at ${origin}/login`);
});
