import { Cluster, Redis } from 'ioredis';
import {
  RedisCache,
  type RedisClient,
  RedisGuessLimit,
  RedisHolderStore,
  RedisTokenStore,
} from 'marketgate/redis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { describe, expect, it } from 'vitest';

const MAKERS = {
  RedisTokenStore: (client: RedisClient) => new RedisTokenStore({ client }),
  RedisCache: (client: RedisClient) => new RedisCache({ client }),
  RedisGuessLimit: (client: RedisClient) => new RedisGuessLimit({ client }),
  RedisHolderStore: (client: RedisClient) =>
    new RedisHolderStore({ client, secret: 'x'.repeat(32) }),
};

/** Nobody listens there, and nothing of this connects. */
const URL_WITH_SECRET = 'redis://user:SENTINEL-password@127.0.0.1:1';

/** How the message ends when there is nothing special to say. */
const GENERAL = 'of ioredis 5 or later or iovalkey (new Redis, new Cluster)';

const WRONG: [string, unknown, string][] = [
  ['nothing', undefined, GENERAL],
  ['null', null, GENERAL],
  ['a number', 6379, GENERAL],
  ['a URL', URL_WITH_SECRET, 'this is a URL'],
  ['a URL object', new URL(URL_WITH_SECRET), 'this is a URL'],
  ['the options of a client', { url: URL_WITH_SECRET }, GENERAL],
  ['a Map', new Map(), GENERAL],
  ['a Promise of a client', Promise.resolve(createClient()), 'this is a Promise of one: await it'],
  ['a function that makes one', createClient, GENERAL],
  ['a client of redis 3', { ...methods(), internal_send_command() {} }, 'this is of redis 3'],
  [
    'a client of redis 4 in legacyMode',
    { ...methods(), isOpen: true, options: { legacyMode: true } },
    'this one is in legacyMode',
  ],
  ['a pool of node-redis', createClientPool(), 'this is a pool of node-redis'],
  ['a client of valkey-glide', { customCommand() {} }, 'this is of valkey-glide'],
  ['a client of ioredis without its class', { ...methods(), status: 'ready' }, GENERAL],
  [
    'a client without publish and subscribe',
    { get() {}, set() {}, del() {}, isOpen: true },
    GENERAL,
  ],
];

function methods(): Record<string, () => void> {
  const names = ['get', 'set', 'del', 'eval', 'publish', 'subscribe', 'duplicate', 'connect', 'on'];
  return Object.fromEntries(names.map((name) => [name, () => {}]));
}

describe.each(Object.entries(MAKERS))('%s', (owner, make) => {
  it.each(WRONG)('refuses %s, and says what to pass', (_what, client, said) => {
    const attempt = () => make(client as RedisClient);
    expect(attempt).toThrow(TypeError);
    expect(attempt).toThrow(`${owner}: option "client" must be a client of redis 4.6 or later`);
    expect(attempt).toThrow(said);
    expect(attempt).not.toThrow('SENTINEL');
  });

  it('takes clients of each kind that are not connected yet', () => {
    const settings = { lazyConnect: true };
    const clients = [
      createClient(),
      createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] }),
      createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
      // As in node-redis 5.
      Object.assign(
        createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
        { duplicate: undefined },
      ),
      new Redis(settings),
      new Redis({ ...settings, name: 'main', sentinels: [{ host: '127.0.0.1', port: 1 }] }),
      new Cluster(['redis://127.0.0.1:1'], settings),
    ];
    for (const client of clients) expect(() => make(client)).not.toThrow();
  });
});

it.each(WRONG.slice(1))('RedisCache refuses %s as subscriber', (_what, subscriber, said) => {
  const attempt = () => new RedisCache({ client: createClient(), subscriber } as never);
  expect(attempt).toThrow(TypeError);
  expect(attempt).toThrow('RedisCache: option "subscriber" must be a client of redis 4.6 or later');
  expect(attempt).toThrow(said);
  expect(attempt).not.toThrow('SENTINEL');
});

describe('a client that was never connected', () => {
  it('of node-redis: calls fail at once, and say why', async () => {
    const client = createClient({ url: URL_WITH_SECRET });
    await expect(new RedisTokenStore({ client }).get('anna')).rejects.toMatchObject({
      code: 'store_unavailable',
      message:
        'RedisTokenStore.get was not sent, because the client is not connected; look at the store and its connection (npx marketgate explain store_unavailable)',
    });
    await expect(new RedisCache({ client }).read('key')).rejects.toThrow('is not connected');
  });

  it('of ioredis: it is connected by the first call, and waited for within the time', async () => {
    const client = new Redis(1, '127.0.0.1', { lazyConnect: true }).on('error', () => {});
    const store = new RedisTokenStore({ client, timeout: 50 });
    await expect(store.get('anna')).rejects.toThrow('RedisTokenStore.get did not answer within');
    expect(client.status).not.toBe('wait');
    client.disconnect();
  });
});

describe('options', () => {
  const client = createClient();
  it.each([
    ['prefix', () => new RedisTokenStore({ client, prefix: ' ' })],
    ['prefix', () => new RedisCache({ client, prefix: '' })],
    ['prefix', () => new RedisGuessLimit({ client, prefix: 5 as never })],
    ['timeout', () => new RedisTokenStore({ client, timeout: 0 })],
    ['timeout', () => new RedisCache({ client, timeout: Number.NaN })],
    ['timeout', () => new RedisGuessLimit({ client, timeout: -1 })],
    ['clock', () => new RedisTokenStore({ client, clock: 5 as never })],
    ['limit', () => new RedisGuessLimit({ client, limit: 1.5 })],
    ['windowMs', () => new RedisGuessLimit({ client, windowMs: 0 })],
    ['keyGenerator', () => new RedisGuessLimit({ client, keyGenerator: 'ip' as never })],
    ['ttl', () => new RedisCache({ client, ttl: 5 } as never)],
  ])('a wrong "%s" is a TypeError that names it', (name, make) => {
    expect(make).toThrow(TypeError);
    const unit = name === 'timeout' ? ' must be a positive number (milliseconds)' : '';
    expect(make).toThrow(`option "${name}"${unit}`);
  });
});
