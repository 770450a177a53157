// A subject: answers that another process has put into Redis, read 50 at a time.
import { createClient } from '@redis/client';
import { Redis } from 'ioredis';
import { Keyv } from 'keyv';
import { KeyApi } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { codeOf, purchase } from '../fixtures/catalogue.mjs';
import { fiftyAtATime } from './at-a-time.mjs';

const CODES = 500;

const CLIENTS = {
  async 'node-redis'(url) {
    const client = await createClient({ url }).connect();
    // Its timer for each command costs more than the command.
    return { client, bare: client.withCommandOptions({ timeout: 0 }) };
  },
  async ioredis(url) {
    const client = new Redis(url);
    return { client, bare: client };
  },
};

/** Each fills Redis and makes a function that finds a code there. */
const READERS = {
  async bare({ bare }) {
    for (let i = 0; i < CODES; i++)
      await bare.set(`bare:${codeOf(i)}`, JSON.stringify(purchase(1)));
    return async (code) => JSON.parse(await bare.get(`bare:${code}`));
  },
  async keyv({ bare }) {
    const store = {
      opts: {},
      on: () => {},
      get: (key) => bare.get(key),
      set: (key, value) => bare.set(key, value),
      delete: async (key) => (await bare.del(key)) === 1,
      clear: async () => {},
    };
    const keyv = new Keyv({ store, ttl: 3_600_000 });
    for (let i = 0; i < CODES; i++) await keyv.set(codeOf(i), purchase(1));
    return (code) => keyv.get(code);
  },
  async marketgate({ client }, service) {
    const shared = new RedisCache({ client, timeout: 5000 });
    // Room for one purchase: the next one is always found in Redis and not here.
    const settings = {
      baseUrl: service,
      apiKey: 'bench',
      cache: { shared, max: 1, ttl: 3_600_000 },
    };
    const other = new KeyApi(settings);
    for (let i = 0; i < CODES; i++) await other.validatePurchase(codeOf(i));
    await other.close();
    const keyApi = new KeyApi(settings);
    return (code) => keyApi.validatePurchase(code);
  },
};

/** @param {{ reader: keyof READERS, library: keyof CLIENTS, redis: string, service: string }} options */
export default async function makeReader({ reader, library, redis, service }) {
  const clients = await CLIENTS[library](redis);
  const find = await READERS[reader](clients, service);
  const once = async (number) => {
    const found = await find(codeOf(number % CODES));
    if (found?.item.id !== 1042) throw new Error(`${reader}: not what was put there`);
  };
  return {
    work: fiftyAtATime(once),
    async answer() {
      const { purchase_code, license_type, item } = await find(codeOf(1));
      return { purchase_code, license_type, name: item.name };
    },
  };
}
