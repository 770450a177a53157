import { subscribe } from 'node:diagnostics_channel';
import { KeyApi, LoginApi, type RequestMessage } from 'marketgate';
import { RedisCache, RedisGuessLimit } from 'marketgate/redis';
import { createClient } from 'redis';
import { createApp } from './app.js';

const need = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`Set ${name}.`);
  return value;
};

/** One of several equal processes on the one port. */
export async function runWorker(): Promise<void> {
  const client = await connectRedis(need('REDIS_URL'));
  // A connection that subscribes can do nothing else.
  const subscriber = await connectRedis(need('REDIS_URL'));
  // Wrong codes and failed logins are counted over all processes.
  const guessLimit = new RedisGuessLimit({ client });
  const keyApi = new KeyApi({
    baseUrl: need('MARKETPLACE_BASE_URL'),
    apiKey: need('MARKETPLACE_API_KEY'),
    cache: { shared: new RedisCache({ client, subscriber }) },
    guessLimit,
  });
  const loginApi = new LoginApi({
    authUrl: need('MARKETPLACE_AUTH_URL'),
    appId: need('MARKETPLACE_APP_ID'),
    appSecret: need('MARKETPLACE_APP_SECRET'),
    guessLimit,
  });

  // Counts the requests to the marketplace, for the page /fleet.
  subscribe('marketgate:request', (message) => {
    const { method, endpoint } = message as RequestMessage;
    client.hIncrBy('fleet:requests', `${process.pid} ${method} ${endpoint}`, 1).catch(() => {});
  });

  const app = createApp({ keyApi, loginApi, client });
  const server = app.listen(Number(need('PORT')), '127.0.0.1', (error) => {
    if (!error) return;
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  });
  const close = () => {
    server.close(async () => {
      await Promise.all([keyApi.close(), loginApi.close()]);
      for (const each of [client, subscriber]) each.destroy();
      process.disconnect();
    });
    server.closeIdleConnections();
  };
  // Ctrl-C reaches every process; the primary disconnects its workers.
  process.on('SIGINT', () => {});
  process.once('SIGTERM', close);
}

export type FleetRedis = Awaited<ReturnType<typeof connectRedis>>;

/** A connected client, which reconnects by itself. */
export async function connectRedis(url: string) {
  const client = createClient({
    url,
    // Commands fail at once while Redis is down, instead of waiting for it.
    disableOfflineQueue: true,
    // Notices a server that hangs. Without it, commands would wait for ever.
    pingInterval: 1000,
    socket: { socketTimeout: 3000 },
  });
  // Without a listener, Node ends the process at the first lost connection.
  client.on('error', (error: Error) => console.error(`Redis: ${error.message || error.name}`));
  client.on('ready', () => console.log(`worker ${process.pid} is connected to Redis`));
  await client.connect();
  return client;
}
