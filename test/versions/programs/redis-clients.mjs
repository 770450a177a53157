import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { runShop } from './shop.mjs';

const require = createRequire(import.meta.url);
const { CLIENT, REDIS_URL } = process.env;

/** Two connected clients of the kind that this project has, and what ends one. */
async function connect() {
  if (CLIENT === 'redis') {
    const client = require('redis').createClient({ url: REDIS_URL });
    const clients = [client, client.duplicate()];
    for (const each of clients) await each.on('error', console.error).connect();
    // `disconnect` in node-redis 4, `destroy` since 5.
    return { clients, end: (each) => (each.destroy ? each.destroy() : each.disconnect()) };
  }
  const { Redis = require(CLIENT) } = require(CLIENT);
  const client = new Redis(REDIS_URL);
  return { clients: [client, client.duplicate()], end: (each) => each.disconnect() };
}

export async function runWithRedis(lib) {
  const { clients, end } = await connect();
  const [client, subscriber] = clients;
  try {
    await runShop(lib, undefined, { client, subscriber, prefix: `${randomUUID()}:` });
  } finally {
    for (const each of clients) await end(each);
  }
}
