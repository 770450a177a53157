// The stores with their optional peers, as an app in TypeScript writes them. Only type-checked.
import { Redis } from 'ioredis';
import Keyv from 'keyv';
import { EncryptedTokenStore, KeyApi, type SharedCache, type TokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { RedisCache, RedisGuessLimit, RedisTokenStore } from 'marketgate/redis';
import { describeHolderStore, describeTokenStore } from 'marketgate/testing';
import { createClient } from 'redis';

const url = 'redis://127.0.0.1:6379';

export async function stores(): Promise<TokenStore[]> {
  const nodeRedis = await createClient({ url }).connect();
  const ioRedis = new Redis(url);
  const shared: SharedCache = new RedisCache({
    client: nodeRedis,
    subscriber: await nodeRedis.duplicate().connect(),
    prefix: 'shop:',
  });
  const other: SharedCache = new RedisCache({ client: ioRedis, subscriber: ioRedis.duplicate() });
  const guessLimit = new RedisGuessLimit({ client: ioRedis, limit: 10, windowMs: 60_000 });
  const keyApis = [shared, other].map(
    (cache) => new KeyApi({ baseUrl: 'https://a.example', apiKey: 'k', cache: { shared: cache } }),
  );
  console.log(keyApis.length, guessLimit);
  const plain = new RedisTokenStore({ client: nodeRedis });
  return [
    plain,
    new RedisTokenStore({ client: ioRedis }),
    new KeyvTokenStore({ keyv: new Keyv() }),
    new EncryptedTokenStore(plain, { keys: [Buffer.alloc(32)] }),
  ];
}

export const suites: [typeof describeHolderStore, typeof describeTokenStore] = [
  describeHolderStore,
  describeTokenStore,
];
