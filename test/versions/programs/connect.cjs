const { randomUUID } = require('node:crypto');

const { CLIENT, REDIS_URL } = process.env;

/** A connected client of the kind that this project has, the way its users write it. */
async function connect() {
  if (CLIENT === 'redis') {
    const client = require('redis').createClient({ url: REDIS_URL });
    client.on('error', (error) => console.error(error));
    await client.connect();
    // `disconnect` in node-redis 4, `destroy` since 5.
    return { client, close: () => (client.destroy ? client.destroy() : client.disconnect()) };
  }
  // `ioredis` or `iovalkey`.
  const { Redis } = require(CLIENT);
  const client = new (Redis ?? require(CLIENT))(REDIS_URL);
  return { client, close: () => client.disconnect() };
}

/** Runs the shop with what it shares in Redis. */
async function withRedis(lib, express) {
  const { inExpress, runShopOf } = await import('./shop.mjs');
  const { client, close } = await connect();
  await runShopOf(lib, inExpress(express), { client, prefix: `smoke-${randomUUID()}:` });
  await close();
}

module.exports = { withRedis };
