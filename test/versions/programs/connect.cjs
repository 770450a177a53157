// A connected client of the kind that this project has, the way its users write it.
const { CLIENT, REDIS_URL } = process.env;

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

module.exports = { connect };
