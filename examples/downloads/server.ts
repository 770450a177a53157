import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KeyApi, LoginApi } from 'marketgate';
import { createApp } from './app.js';
import { LicenceStore } from './licences.js';
import { Secrets } from './secrets.js';
import { readSettings, type Settings, SettingsError } from './settings.js';

async function main(): Promise<void> {
  const settings = readSettings(process.env);
  const { secret, licenceFile, production } = settings;
  // Listens before there is an app: the port decides where the marketplace sends visitors back to.
  const server = createServer();
  const port = await listen(server, settings);
  const publicUrl = settings.publicUrl ?? `http://localhost:${port}`;
  const { service, sandbox } = await findService(settings, `${publicUrl}/callback`);
  const { baseUrl, apiKey, authUrl, appId, appSecret } = service;
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  const licences = await LicenceStore.open({ file: licenceFile, secrets: new Secrets(secret) });
  const mediaOrigin = new URL(baseUrl).origin;
  server.on('request', createApp({ keyApi, loginApi, licences, secret, production, mediaOrigin }));

  const close = () => {
    server.close(() => void Promise.all([keyApi.close(), loginApi.close(), sandbox?.close()]));
    server.closeIdleConnections();
  };
  process.once('SIGINT', close).once('SIGTERM', close);

  const codes = sandbox?.codes
    .slice(0, 3)
    .map(({ code, item_name }) => `\n    ${code}  ${item_name}`);
  console.log(`
  Your files are at ${publicUrl}/
  ${
    codes
      ? `The marketplace is a sandbox inside this process: ${baseUrl}/\n  Codes to redeem:${codes.join('')}`
      : `Redirect URL to register with your app on the marketplace: ${publicUrl}/callback`
  }
`);
}

/** The real marketplace, or a sandbox that is loaded only if it is needed. */
async function findService({ service }: Settings, redirectUrl: string) {
  if (service !== undefined) return { service, sandbox: undefined };
  const { createSandbox } = await import('marketgate/sandbox');
  const sandbox = createSandbox({ redirectUrl });
  return { sandbox, service: await sandbox.listen() };
}

function listen(server: Server, { port, service }: Settings): Promise<number> {
  // A sandbox lets anybody log in as anybody, so the network does not see it.
  const host = service === undefined ? '127.0.0.1' : undefined;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      reject(isTaken ? new SettingsError(`Port ${port} is taken. Set PORT to another.`) : error);
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

main().catch((error: unknown) => {
  // The operator's mistakes are told in words; anything else is ours, and shows where it happened.
  console.error(error instanceof SettingsError ? `\n  ${error.message}\n` : error);
  process.exit(1);
});
