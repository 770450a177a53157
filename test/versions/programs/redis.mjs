// The shop with its Redis; the package is loaded by `import`, or by `require`.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import express from 'express';
import session from 'express-session';
import passport from 'passport';
import { runShop } from './shop.mjs';

const require = createRequire(import.meta.url);
const { CLIENT, REDIS_URL } = process.env;
const load = { import: (name) => import(name), require };
const [how] = process.argv.slice(2);

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

const lib = { Passport: passport.Passport, express, session };
for (const entry of ['marketgate', 'marketgate/redis', 'marketgate/sandbox']) {
  Object.assign(lib, await load[how](entry));
}
const { clients, end } = await connect();
const [client, subscriber] = clients;
try {
  await runShop(lib, undefined, { client, subscriber, prefix: `${randomUUID()}:` });
} finally {
  for (const each of clients) await end(each);
}
