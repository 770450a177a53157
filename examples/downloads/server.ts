import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { createApp } from './app.js';
import { LicenceStore } from './licences.js';

const sandbox = createSandbox();
const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
const app = createApp({
  keyApi: new KeyApi({ baseUrl, apiKey }),
  loginApi: new LoginApi({ authUrl, appId, appSecret }),
  licences: await LicenceStore.open(join(tmpdir(), `licences-${process.pid}.json`)),
  secret: randomBytes(32).toString('hex'),
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) {
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  }
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  console.log(`Your files are at ${origin}/; the marketplace is a sandbox at ${baseUrl}/`);
  for (const { code, item_name } of sandbox.codes.slice(0, 3)) console.log(`${code}  ${item_name}`);
});
