import { Cluster, Redis } from 'ioredis';
import {
  RedisCache,
  type RedisClient,
  RedisGuessLimit,
  RedisHolderStore,
  RedisTokenStore,
} from 'marketgate/redis';
import { createClient, createCluster, createSentinel } from 'redis';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { rejection } from '../../support/errors.js';
import { FakeIoRedis, FakeNodeRedis } from './redis-fakes.js';
import { HOUR, NOW, tokenOf } from './support.js';

const clock = () => NOW;
const settle = (): Promise<void> => new Promise(setImmediate);

const MAKERS = {
  RedisTokenStore: (client: RedisClient) => new RedisTokenStore({ client }),
  RedisCache: (client: RedisClient) => new RedisCache({ client }),
  RedisGuessLimit: (client: RedisClient) => new RedisGuessLimit({ client }),
  RedisHolderStore: (client: RedisClient) =>
    new RedisHolderStore({ client, secret: 'x'.repeat(32) }),
};

/** Nobody listens there, and nothing of this connects. */
const URL_WITH_SECRET = 'redis://user:SENTINEL-password@127.0.0.1:1';
const node = { host: '127.0.0.1', port: 1 };
const lazyConnect = true;

describe('a Redis client', () => {
  it.each<[string, () => RedisClient]>([
    ['node-redis', () => createClient()],
    ['a cluster of node-redis', () => createCluster({ rootNodes: [{ url: URL_WITH_SECRET }] })],
    [
      'a sentinel of node-redis',
      () => createSentinel({ name: 'main', sentinelRootNodes: [node] }) as RedisClient,
    ],
    [
      'a sentinel of node-redis 5, which has no duplicate()',
      () =>
        Object.assign(createSentinel({ name: 'main', sentinelRootNodes: [node] }), {
          duplicate: undefined,
        }) as RedisClient,
    ],
    ['ioredis', () => new Redis({ lazyConnect })],
    ['a sentinel of ioredis', () => new Redis({ lazyConnect, name: 'main', sentinels: [node] })],
    ['a cluster of ioredis', () => new Cluster([URL_WITH_SECRET], { lazyConnect })],
  ])('of %s is taken before it is connected, by each store', (_kind, make) => {
    for (const store of Object.values(MAKERS)) expect(() => store(make())).not.toThrow();
  });

  const methods = Object.fromEntries(
    'get set del eval publish subscribe duplicate connect on'
      .split(' ')
      .map((each) => [each, vi.fn()]),
  );
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a URL', URL_WITH_SECRET],
    ['the options of a client', { url: URL_WITH_SECRET }],
    ['a Promise of a client', Promise.resolve(createClient())],
    ['a function that makes one', createClient],
    ['one of redis 3', methods],
    ['half a client', { ...methods, isOpen: true, eval: undefined }],
  ])('is a TypeError that says what to pass when it is %s', (_what, value) => {
    const attempts = Object.entries(MAKERS).map(([owner, make]): [string, () => unknown] => [
      `${owner}: option "client"`,
      () => make(value as RedisClient),
    ]);
    const subscriber = () => new RedisCache({ client: createClient(), subscriber: value as never });
    if (value !== undefined) attempts.push(['RedisCache: option "subscriber"', subscriber]);
    for (const [option, attempt] of attempts) {
      expect(attempt).toThrow(TypeError);
      expect(attempt).toThrow(`${option} must be a client of redis 4.6 or later`);
      expect(attempt).not.toThrow('SENTINEL');
    }
  });

  it('that was never connected fails each call at once, and the error says so', async () => {
    const client = createClient({ url: URL_WITH_SECRET });
    for (const call of [
      () => new RedisTokenStore({ client }).get('anna'),
      () => new RedisCache({ client }).read('key'),
    ]) {
      expect(await rejection(call())).toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('was not sent, because the client is not connected'),
      });
    }
  });

  it('of ioredis with lazyConnect is connected by the first call', async () => {
    const client = new Redis(1, '127.0.0.1', { lazyConnect }).on('error', () => {});
    const store = new RedisTokenStore({ client, timeout: 50 });
    await expect(store.get('anna')).rejects.toThrow('RedisTokenStore.get did not answer within');
    expect(client.status).not.toBe('wait');
    client.disconnect();
  });
});

describe('a call to Redis', () => {
  const COMMANDS = ['get', 'set', 'del', 'eval', 'publish'] as const;
  const cacheOf = (client: FakeNodeRedis) => new RedisCache({ client: client.asClient });
  const storeOf = (client: FakeNodeRedis, timeout = 5000) =>
    new RedisTokenStore({ client: client.asClient, clock, timeout });

  it.each<[string, (client: FakeNodeRedis) => Promise<unknown>]>([
    ['RedisCache.read', (client) => cacheOf(client).read('a')],
    ['RedisCache.write', (client) => cacheOf(client).write('a', 'x', 5, 1)],
    ['RedisCache.delete', (client) => cacheOf(client).delete('a')],
    ['RedisCache.publish', (client) => cacheOf(client).publish('a')],
    ['RedisCache.lock', (client) => cacheOf(client).lock('a', 5)],
    ['RedisTokenStore.get', (client) => storeOf(client).get('a')],
    ['RedisTokenStore.set', (client) => storeOf(client).set('a', tokenOf())],
    ['RedisTokenStore.delete', (client) => storeOf(client).delete('a')],
    ['RedisTokenStore.claim', (client) => storeOf(client).claim('a', 5)],
  ])('that fails names the method and the code of Redis: %s', async (name, call) => {
    const client = new FakeNodeRedis();
    for (const method of COMMANDS)
      client[method].mockRejectedValue(new Error('OOM command SECRET'));
    const error = await rejection(call(client));
    expect([error.code, error.message]).toEqual([
      'store_unavailable',
      expect.stringContaining(`${name} failed (OOM); look at the store`),
    ]);
  });

  it('that takes a lock too late releases it', async () => {
    const client = new FakeNodeRedis();
    const reply = deferred<unknown>();
    client.eval.mockReturnValueOnce(reply.promise);
    await rejection(new RedisCache({ client: client.asClient, timeout: 5 }).lock('a', HOUR));
    expect(client.eval).toHaveBeenCalledOnce();
    reply.resolve(1);
    await settle();
    const [taken] = client.eval.mock.calls as [[unknown, { arguments: string[] }]];
    expect(client.eval).toHaveBeenCalledTimes(2);
    expect(client.eval).toHaveBeenLastCalledWith(
      expect.stringContaining('DEL'),
      expect.objectContaining({ arguments: taken[1].arguments.slice(0, 1) }),
    );
  });

  it.each<[string, () => FakeNodeRedis | FakeIoRedis, object, object]>([
    ['node-redis', () => new FakeNodeRedis(), { isReady: false }, { isReady: true }],
    ['ioredis', () => new FakeIoRedis(), { status: 'reconnecting' }, { status: 'ready' }],
  ])(
    'waits for a lost connection of %s, and is sent when it is back',
    async (_library, make, lost, back) => {
      const client = Object.assign(make(), lost);
      const store = new RedisTokenStore({ client: client.asClient, clock });
      const stored = store.set('anna', tokenOf());
      await settle();
      expect(client.set).not.toHaveBeenCalled();
      Object.assign(client, back);
      await stored;
      expect(client.set).toHaveBeenCalledOnce();
    },
  );

  it('whose deadline has passed is not sent when the connection is back', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    vi.useFakeTimers();
    const outcome = rejection(storeOf(client, 20).set('anna', tokenOf()));
    await vi.advanceTimersByTimeAsync(21);
    expect((await outcome).message).toContain('the client is not connected');
    client.isReady = true;
    await storeOf(client).get('anna');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.set).not.toHaveBeenCalled();
  });

  it('fails when the client is closed while it waits', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    const outcome = rejection(storeOf(client).get('anna'));
    await settle();
    client.isOpen = false;
    expect((await outcome).message).toContain('the client is not connected');
    expect(client.get).not.toHaveBeenCalled();
  });

  it('that claims a name shows Redis a hash of it', async () => {
    const client = new FakeNodeRedis();
    expect(await storeOf(client).claim('auth_key:very-secret', HOUR)).toBe(true);
    expect(client.set).toHaveBeenCalledWith(
      expect.stringMatching(/^marketgate:token:claim:[\w-]{43}$/),
      '1',
      { PX: HOUR, NX: true },
    );
  });

  it('works on node-redis 4, which has no withCommandOptions', async () => {
    const client = Object.assign(new FakeNodeRedis(), { withCommandOptions: undefined });
    client.get.mockResolvedValue('no token');
    expect(await storeOf(client).get('a')).toBeUndefined();
    expect(client.get).toHaveBeenCalledOnce();
  });
});
