import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { createApp } from './app.js';

const sandbox = createSandbox();
const { baseUrl, apiKey } = await sandbox.listen();
const app = createApp({
  keyApi: new KeyApi({ baseUrl, apiKey }),
  secret: randomBytes(32).toString('hex'),
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (error) => {
  if (error) {
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  }
  console.log(`The shop is at http://localhost:${(server.address() as AddressInfo).port}/`);
  for (const { code, item_id } of sandbox.codes.slice(0, 3))
    console.log(`${code}  /items/${item_id}`);
});
