import { createClient } from 'redis';

/** A connected client. It reconnects by itself, for as long as it takes. */
export async function connectRedis(url: string) {
  const client = createClient({
    url,
    // A request must not wait for Redis to come back: it fails, or does without.
    disableOfflineQueue: true,
    // A server that hangs answers no ping; without this, commands would wait for it for ever.
    pingInterval: 1000,
    socket: { socketTimeout: 3000 },
  });
  let isDown = false;
  // Without a listener, Node would end the process with the first lost connection.
  client.on('error', (error: Error) => {
    if (!isDown) console.error(`Redis: ${error.message || error.name}`);
    isDown = true;
  });
  client.on('ready', () => {
    if (isDown) console.error('Redis: back');
    isDown = false;
  });
  await client.connect();
  return client;
}

export type FleetRedis = Awaited<ReturnType<typeof connectRedis>>;
