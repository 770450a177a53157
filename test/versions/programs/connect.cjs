const { randomUUID } = require('node:crypto');

const { CLIENT, REDIS_URL } = process.env;

/** A connected client of the kind that this project has, and one that subscribes, the way its users write it. */
async function connect() {
  if (CLIENT === 'redis') {
    const client = require('redis').createClient({ url: REDIS_URL });
    const clients = [client, client.duplicate()];
    for (const each of clients) {
      each.on('error', (error) => console.error(error));
      await each.connect();
    }
    // `disconnect` in node-redis 4, `destroy` since 5.
    return { clients, end: (each) => (each.destroy ? each.destroy() : each.disconnect()) };
  }
  // `ioredis` or `iovalkey`.
  const { Redis } = require(CLIENT);
  const client = new (Redis ?? require(CLIENT))(REDIS_URL);
  return { clients: [client, client.duplicate()], end: (each) => each.disconnect() };
}

/** Runs the shop with what it shares in Redis. */
async function withRedis(lib, express) {
  const { inExpress, runShopOf } = await import('./shop.mjs');
  const { clients, end } = await connect();
  const [client, subscriber] = clients;
  const redis = { client, subscriber, prefix: `smoke-${randomUUID()}:` };
  await runShopOf(lib, inExpress(express), redis);
  for (const each of clients) await end(each);
}

module.exports = { withRedis };
