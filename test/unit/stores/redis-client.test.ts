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
import { rejection } from '../../support/errors.js';
import { hearWarnings } from '../../support/warnings.js';
import { FakeNodeRedis } from './redis-fakes.js';
import { NOW, tokenOf } from './support.js';

const clock = () => NOW;
const secret = 'x'.repeat(32);
const subscriber = new FakeNodeRedis().asClient;

const MAKERS = {
  RedisTokenStore: (client: RedisClient) => new RedisTokenStore({ client }),
  RedisCache: (client: RedisClient) => new RedisCache({ client, subscriber }),
  RedisGuessLimit: (client: RedisClient) => new RedisGuessLimit({ client }),
  RedisHolderStore: (client: RedisClient) => new RedisHolderStore({ client, secret }),
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
    ['ioredis', () => new Redis({ lazyConnect })],
    ['a sentinel of ioredis', () => new Redis({ lazyConnect, name: 'main', sentinels: [node] })],
    ['a cluster of ioredis', () => new Cluster([URL_WITH_SECRET], { lazyConnect })],
  ])('of %s is taken before it is connected, by each store', (_kind, make) => {
    for (const store of Object.values(MAKERS)) expect(() => store(make())).not.toThrow();
    const client = new FakeNodeRedis().asClient;
    expect(() => new RedisCache({ client, subscriber: make() })).not.toThrow();
  });

  const methods = Object.fromEntries(
    'eval publish subscribe unsubscribe on off'.split(' ').map((each) => [each, vi.fn()]),
  );
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a URL', URL_WITH_SECRET],
    ['the options of a client', { url: URL_WITH_SECRET }],
    ['a Promise of a client', Promise.resolve(createClient())],
    ['a function that makes one', createClient],
    ['one of redis 3', methods],
    ['one in legacyMode', { ...methods, isOpen: true, options: { legacyMode: true } }],
    ['half a client', { ...methods, isOpen: true, eval: undefined, subscribe: undefined }],
  ])('is a TypeError that says what to pass when it is %s', (_what, value) => {
    const attempts = Object.entries(MAKERS).map(([owner, make]): [string, () => unknown] => [
      `${owner}: option "client"`,
      () => make(value as RedisClient),
    ]);
    const given = () => new RedisCache({ client: createClient(), subscriber: value as never });
    if (value !== undefined) attempts.push(['RedisCache: option "subscriber"', given]);
    for (const [option, attempt] of attempts) {
      expect(attempt).toThrow(TypeError);
      expect(attempt).toThrow(`${option} must be a client of redis 4.6 or later`);
      expect(attempt).toThrow('without legacyMode');
      expect(attempt).not.toThrow('SENTINEL');
    }
  });

  it('that subscribes is a second one', () => {
    const client = createClient();
    for (const wrong of [undefined, client]) {
      const make = () => new RedisCache({ client, subscriber: wrong as never });
      expect(make).toThrow(TypeError);
      expect(make).toThrow(/^RedisCache: option "subscriber" must .*client\.duplicate\(\)/);
    }
  });

  it('that was never connected fails each call at once', async () => {
    const client = createClient({ url: URL_WITH_SECRET });
    for (const call of [
      () => new RedisTokenStore({ client }).get('anna'),
      () => new RedisCache({ client, subscriber }).read('key'),
    ]) {
      expect(await rejection(call())).toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('failed (Error)'),
      });
    }
  });
});

describe('a call to Redis', () => {
  const cacheOf = (client: FakeNodeRedis) =>
    new RedisCache({ client: client.asClient, subscriber });
  const storeOf = (client: FakeNodeRedis) =>
    new RedisTokenStore({ client: client.asClient, clock });
  /** A client to which Redis answers with an error. */
  const refusing = (message: string) => {
    const client = new FakeNodeRedis();
    for (const method of ['eval', 'publish'] as const)
      client[method].mockRejectedValue(new Error(message));
    return client;
  };

  it.each<[string, (client: FakeNodeRedis) => Promise<unknown>]>([
    ['RedisCache.read', (client) => cacheOf(client).read('a')],
    ['RedisCache.write', (client) => cacheOf(client).write('a', 'x', 0, 5, '')],
    ['RedisCache.withdraw', (client) => cacheOf(client).withdraw('a', 'x', 5)],
    ['RedisCache.publish', (client) => cacheOf(client).publish('a')],
    ['RedisTokenStore.get', (client) => storeOf(client).get('a')],
    ['RedisTokenStore.set', (client) => storeOf(client).set('a', tokenOf())],
    ['RedisTokenStore.delete', (client) => storeOf(client).delete('a')],
  ])('that is refused names the method and the reason: %s', async (name, call) => {
    const warnings = hearWarnings();
    for (const _twice of [1, 2]) {
      const error = await rejection(call(refusing('OOM command SECRET')));
      expect([error.code, error.message]).toEqual([
        'store_unavailable',
        expect.stringContaining(`${name} failed (OOM); look at the store`),
      ]);
    }
    expect(warnings).toEqual(['MARKETGATE_REDIS_REFUSES']);
  });

  const MAY_NOT = 'NOPERM: this user may not';
  // What Redis 6.2 to 8 and Valkey 8 answer.
  it.each<[string, string, boolean]>([
    ["NOPERM this user has no permissions to run the 'eval' command", `${MAY_NOT} run EVAL`, true],
    ["NOPERM User app has no permissions to run the 'eval' command", `${MAY_NOT} run EVAL`, true],
    [
      "ERR ACL failure in script: User app has no permissions to run the 'time' command script: 5c2a, on @user_script:1.",
      `${MAY_NOT} run TIME`,
      true,
    ],
    [
      "ERR The user executing the script can't run this command or subcommand script: 5c2a, on @user_script:1.",
      `${MAY_NOT} run a command of this script`,
      true,
    ],
    [
      "ERR The user executing the script can't access at least one of the keys mentioned in the command script: 5c2a, on @user_script:1.",
      `${MAY_NOT} use this key`,
      true,
    ],
    [
      'NOPERM this user has no permissions to access one of the keys used as arguments',
      `${MAY_NOT} use this key`,
      true,
    ],
    [
      'NOPERM this user has no permissions to access one of the channels used as arguments',
      `${MAY_NOT} use this channel`,
      true,
    ],
    ["ERR unknown command 'EVAL', with args beginning with: 'SECRET'", 'it has no EVAL', true],
    ['ERR unknown command `EVAL`, with args beginning with: `SECRET`', 'it has no EVAL', true],
    ["READONLY You can't write against a read only replica. script: 1", 'READONLY', true],
    [
      'ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory',
      'OOM',
      true,
    ],
    ['MISCONF Redis is configured to save RDB snapshots, but', 'MISCONF', true],
    ['LOADING Redis is loading the dataset in memory', 'LOADING', false],
    ['CLUSTERDOWN The cluster is down', 'CLUSTERDOWN', false],
    ['WRONGTYPE Operation against a key', 'WRONGTYPE', false],
    ['SECRET the rest', 'Error', false],
    ['ERR value is not an integer: SECRET OOM', 'Error', false],
  ])('that is answered with "%s" says: %s', async (message, text, isWarning) => {
    const warnings = hearWarnings();
    const error = await rejection(storeOf(refusing(message)).get('a'));
    expect(error.message).toContain(`RedisTokenStore.get failed (${text}); look at`);
    expect(warnings).toEqual(isWarning ? ['MARKETGATE_REDIS_REFUSES'] : []);
  });
});
