// A subject: answers that another process has put into Redis, read 50 at a time.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { createClient } from '@redis/client';
import { Redis } from 'ioredis';
import { KeyApi } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { codeOf, purchase } from '../fixtures/catalogue.mjs';
import { atATime } from './at-a-time.mjs';

const CODES = 500;

const CLIENTS = {
  async 'node-redis'(url) {
    const client = await createClient({ url }).connect();
    const subscriber = await client.duplicate().connect();
    // Its timer for each command costs more than the command.
    return { client, subscriber, bare: client.withCommandOptions({ timeout: 0 }) };
  },
  async ioredis(url) {
    const client = new Redis(url);
    return { client, subscriber: client.duplicate(), bare: client };
  },
};

/** Each fills Redis and makes a function that finds a code there. */
const SIDES = {
  /** The least that reads what nobody else can read or make up: node:crypto, and nothing around it. */
  async byHand({ bare }) {
    const [nameKey, valueKey] = [randomBytes(32), randomBytes(32)];
    const nameOf = (code) => createHmac('sha256', nameKey).update(code).digest('base64url');
    for (let i = 0; i < CODES; i++) {
      const name = nameOf(codeOf(i));
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', valueKey, nonce).setAAD(Buffer.from(name));
      const parts = [nonce, cipher.update(JSON.stringify(purchase(1)), 'utf8'), cipher.final()];
      await bare.set(name, Buffer.concat([...parts, cipher.getAuthTag()]).toString('base64url'));
    }
    return async (code) => {
      const name = nameOf(code);
      const bytes = Buffer.from(await bare.get(name), 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', valueKey, bytes.subarray(0, 12));
      decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-16));
      const text = decipher.update(bytes.subarray(12, -16));
      decipher.final();
      return JSON.parse(text.toString('utf8'));
    };
  },
  async marketgate({ client, subscriber }, service) {
    const shared = new RedisCache({ client, subscriber });
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

/** @param {{ side: keyof SIDES, library: keyof CLIENTS, redis: string, service: string }} options */
export default async function makeReader({ side, library, redis, service }) {
  const clients = await CLIENTS[library](redis);
  const find = await SIDES[side](clients, service);
  const once = async (number) => {
    const found = await find(codeOf(number % CODES));
    if (found?.item.id !== 1042) throw new Error(`${side}: not what was put there`);
  };
  return {
    work: atATime(50, once),
    async answer() {
      const { purchase_code, license_type, item } = await find(codeOf(1));
      return { purchase_code, license_type, name: item.name };
    },
  };
}
