import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KeyApi, LoginApi } from 'marketgate';
import { createApp } from './app.js';
import { ConfigError, readConfig, type ServerConfig } from './config.js';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  // Listens before there is an app: the port decides where the marketplace sends visitors back to.
  const server = createServer();
  const port = await listen(server, config);
  const publicUrl = config.publicUrl ?? `http://localhost:${port}`;
  const redirectUrl = `${publicUrl}/callback`;

  const { service, sandbox } = await findService(config, redirectUrl);
  const { baseUrl, apiKey, authUrl, appId, appSecret } = service;
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  const { cookieSecrets, production } = config;
  const mediaOrigin = new URL(baseUrl).origin;
  server.on(
    'request',
    createApp({ cookieSecrets, production, publicUrl, mediaOrigin }, { keyApi, loginApi }),
  );

  const close = () => {
    server.close(() => void Promise.all([keyApi.close(), loginApi.close(), sandbox?.close()]));
    server.closeIdleConnections();
  };
  process.once('SIGINT', close).once('SIGTERM', close);

  console.log(`
  The API is at ${publicUrl}/api/items, its front page at ${publicUrl}/
  ${
    sandbox
      ? `The marketplace is a sandbox inside this process: ${baseUrl}/
  A purchase code of item ${sandbox.codes[0]?.item_id}: ${sandbox.codes[0]?.code}`
      : `Redirect URL to register with your app on the marketplace: ${redirectUrl}`
  }
`);
}

/** The real marketplace, or a sandbox. */
async function findService({ service }: ServerConfig, redirectUrl: string) {
  if (service !== undefined) return { service, sandbox: undefined };
  // Loaded only here: an app in production carries no sandbox around.
  const { startSandbox } = await import('./sandbox.js');
  return startSandbox(redirectUrl);
}

function listen(server: Server, { port, host }: ServerConfig): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      reject(isTaken ? new ConfigError(`Port ${port} is taken. Set PORT to another.`) : error);
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

main().catch((error: unknown) => {
  // The operator's mistakes are told in words; anything else is ours, and shows where it happened.
  console.error(error instanceof ConfigError ? `\n  ${error.message}\n` : error);
  process.exit(1);
});
