import { createServer } from 'node:http';
import { isMarketgateError } from 'marketgate';
import type { Sandbox } from 'marketgate/sandbox';
import { createApp } from './app.js';
import { ConfigError, readConfig, type ServerConfig, type ServiceConfig } from './config.js';
import { listen, PortTakenError } from './listen.js';
import { connect } from './marketplace.js';
import type { OnError } from './shop.js';
import { closeOnSignal } from './shutdown.js';
import { startMessage } from './start-message.js';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  // Listens before there is an app: the port decides where the marketplace sends visitors back to.
  const server = createServer();
  const port = await listen(server, config);
  const origin = config.publicUrl ?? `http://localhost:${port}`;
  const redirectUrl = `${origin}/callback`;
  // In production only PUBLIC_URL can tell the address that visitors see.
  const publicUrl = config.production ? config.publicUrl : origin;

  const { service, sandbox } = await findService(config, redirectUrl);
  const marketplace = connect(service);
  const app = createApp({ ...config, service, publicUrl }, { ...marketplace, onError });
  server.on('request', app);
  closeOnSignal(server, async () => {
    await marketplace.close();
    await sandbox?.close();
  });

  console.log(
    startMessage({
      origin,
      redirectUrl,
      shopName: config.shopName,
      sandbox: sandbox && { baseUrl: service.baseUrl, codes: sandbox.codes },
    }),
  );
}

/** The real marketplace, or a sandbox that sends visitors back to this shop. */
async function findService(
  { service, shopName }: ServerConfig,
  redirectUrl: string,
): Promise<{ service: ServiceConfig; sandbox?: Sandbox }> {
  if (service !== undefined) return { service };
  // Loaded only here: a shop in production carries no sandbox around.
  const { startSandbox } = await import('./sandbox.js');
  return startSandbox(shopName, redirectUrl);
}

/** The path and no query: that of the callback holds an auth_key. */
const onError: OnError = (error, req) => {
  const what = isMarketgateError(error) ? `${error.code}: ${error.message}` : error;
  console.error(`${req.method} ${req.path}:`, what);
};

main().catch((error: unknown) => {
  // The operator's mistakes are told in words; anything else is ours, and shows where it happened.
  const isTold = error instanceof ConfigError || error instanceof PortTakenError;
  console.error(isTold ? `\n  ${error.message.replaceAll('\n', '\n  ')}\n` : error);
  process.exit(1);
});
