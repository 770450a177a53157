import { RedisCache, RedisTokenStore } from 'marketgate/redis';
import { describe, expect, it, vi } from 'vitest';
import { NoAnswer } from '../../../src/deadline.js';
import { redisCommands } from '../../../src/stores/redis/clients.js';
import { storeCall } from '../../../src/stores/store-guard.js';
import { deferred } from '../../support/deferred.js';
import { rejection } from '../../support/errors.js';
import { FakeIoRedis, FakeNodeRedis } from './redis-fakes.js';
import { HOUR, NOW, tokenOf } from './support.js';

const clock = () => NOW;
const settle = (): Promise<void> => new Promise(setImmediate);

describe('a failed call', () => {
  const cacheOf = (client: FakeNodeRedis) => new RedisCache({ client: client.asClient });
  const storeOf = (client: FakeNodeRedis) =>
    new RedisTokenStore({ client: client.asClient, clock });
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
  ])('%s says which it was, and what Redis said', async (name, call) => {
    const client = new FakeNodeRedis();
    for (const method of ['get', 'set', 'del', 'eval', 'publish'] as const) {
      client[method].mockRejectedValue(new Error('OOM command not allowed'));
    }
    const error = await rejection(call(client));
    expect([error.code, error.message]).toEqual([
      'store_unavailable',
      expect.stringContaining(`${name} failed (OOM); look at the store`),
    ]);
  });

  it('RedisCache.unlock says so too', async () => {
    const client = new FakeNodeRedis();
    const unlock = await new RedisCache({ client: client.asClient }).lock('a', 5);
    expect(client.eval).not.toHaveBeenCalled();
    client.eval.mockRejectedValue(new Error('BUSY'));
    const error = await rejection((unlock as () => Promise<void>)());
    expect(error.message).toContain('RedisCache.unlock failed (BUSY);');
  });
});

describe('what went wrong, in words', () => {
  it.each([
    ...'ASK BUSY CLUSTERDOWN CROSSSLOT LOADING MASTERDOWN MISCONF MOVED NOAUTH NOPERM NOREPLICAS OOM READONLY TRYAGAIN UNBLOCKED WRONGPASS WRONGTYPE'
      .split(' ')
      .map((reply): [unknown, string] => [new Error(`${reply} the rest`), `failed (${reply})`]),
    [new Error('SECRET the rest'), 'failed (Error)'],
    ['OOM', 'failed'],
    [new NoAnswer('did not answer'), 'did not answer'],
  ])('%s', async (error, words) => {
    const failure = await rejection(storeCall('test', () => Promise.reject(error)));
    expect(failure.message).toContain(`test ${words};`);
  });
});

describe('a wrong argument', () => {
  const cache = new RedisCache({ client: new FakeNodeRedis().asClient });
  const store = new RedisTokenStore({ client: new FakeNodeRedis().asClient });
  it.each<[string, () => Promise<unknown>]>([
    ['RedisCache.write: "value" must be a string', () => cache.write('a', 5 as never, 5, 1)],
    ['RedisCache.write: "ttl" must be a finite number', () => cache.write('a', 'x', Number.NaN, 1)],
    [
      'RedisCache.write: "ttl" must be a finite number',
      () => cache.write('a', 'x', '5' as never, 1),
    ],
    ['RedisCache.write: "order" must be a whole number', () => cache.write('a', 'x', 5, 1.5)],
    ['RedisCache.write: "order" must be a whole number', () => cache.write('a', 'x', 5, -1)],
    ['RedisCache.lock: "ttl" must be a finite number', () => cache.lock('a', Infinity)],
    ['RedisCache.lock: "ttl" must be above 0', () => cache.lock('a', 0)],
    ['RedisCache.subscribe: "onMessage" must be', () => cache.subscribe('x' as never, () => {})],
    ['RedisCache.subscribe: "onListening" must be', () => cache.subscribe(() => {}, true as never)],
    ['RedisTokenStore.set: "token" must be', () => store.set('a', { value: '' } as never)],
  ])('is a TypeError: %s', async (message, call) => {
    const called = call();
    await expect(called).rejects.toThrow(TypeError);
    await expect(called).rejects.toThrow(message);
  });
});

describe('a client is recognised by its shape', () => {
  const common = 'get set del eval publish subscribe connect on'.split(' ');
  it.each<[string, () => object, string[]]>([
    ['node-redis', () => new FakeNodeRedis(), [...common, 'isOpen', 'pTTL']],
    ['ioredis', () => new FakeIoRedis(), [...common, 'status', 'defineCommand', 'pttl']],
  ])('of %s: each of these is needed', (_library, make, names) => {
    for (const name of names) {
      const client = Object.assign(make(), { [name]: 5 });
      expect(() => redisCommands('test', client, 5), name).toThrow(/\(new Redis, new Cluster\)$/);
    }
  });

  it('also when it is a function', () => {
    const { status, defineCommand, pttl } = new FakeIoRedis();
    const methods = Object.fromEntries(common.map((name) => [name, () => {}]));
    const client = Object.assign(() => {}, { ...methods, status, defineCommand, pttl });
    expect(redisCommands('test', client, 5).state).toBe('ready');
  });
});

describe('the state of a client', () => {
  it.each([
    [false, false, 'closed'],
    [true, false, 'waiting'],
    [true, true, 'ready'],
    // A cluster of node-redis 4 and 5 does not say.
    [true, undefined, 'ready'],
  ])('of node-redis that is open: %s, ready: %s, is %s', (isOpen, isReady, state) => {
    const client = Object.assign(new FakeNodeRedis(), { isOpen, isReady });
    expect(redisCommands('test', client, 5).state).toBe(state);
  });

  it.each([
    ['ready', 'ready'],
    ['wait', 'waiting'],
    ['reconnecting', 'waiting'],
    ['end', 'closed'],
  ])('of ioredis "%s" is %s', (status, state) => {
    const client = Object.assign(new FakeIoRedis(), { status });
    expect(redisCommands('test', client, 5).state).toBe(state);
  });

  it.each([
    ['a client of node-redis', new FakeNodeRedis(), 'ready'],
    ['a cluster of node-redis', Object.assign(new FakeNodeRedis(), { nodeClient() {} }), 'connect'],
    ['a sentinel of node-redis', Object.assign(new FakeNodeRedis(), { acquire() {} }), 'ready'],
    ['a client of ioredis', new FakeIoRedis(), 'ready'],
  ])('%s says by an event when that may have changed', (_name, client, event) => {
    const listener = vi.fn();
    redisCommands('test', client, 5).onceReady(listener);
    client.emit(event);
    client.emit(event);
    expect(listener).toHaveBeenCalledOnce();
  });

  it('a client of ioredis is connected when it waits for its first command, and never else', () => {
    const client = new FakeIoRedis();
    const commands = redisCommands('test', client, 5);
    for (const status of ['ready', 'reconnecting', 'end']) {
      client.status = status;
      commands.onceReady(() => {});
    }
    expect(client.connect).not.toHaveBeenCalled();
    client.status = 'wait';
    client.connect.mockRejectedValue(new Error('refused'));
    commands.onceReady(() => {});
    expect(client.connect).toHaveBeenCalledOnce();
  });
});

describe('commands of node-redis', () => {
  it.each([
    ['a client has no timer of its own', new FakeNodeRedis(), 0],
    ['a cluster has', Object.assign(new FakeNodeRedis(), { nodeClient() {} }), 50],
    ['a sentinel has', Object.assign(new FakeNodeRedis(), { acquire() {} }), 50],
  ])('%s', (_name, client, timeout) => {
    redisCommands('test', client, 50);
    expect(client.withCommandOptions).toHaveBeenCalledWith({ timeout, typeMapping: {} });
  });

  it('are sent as the app configured them on a client of version 4', async () => {
    const client = new FakeNodeRedis();
    client.withCommandOptions = undefined;
    client.get.mockResolvedValue('there');
    expect(await redisCommands('test', client, 5).get('a')).toBe('there');
  });

  it('are sent by the client that its options made', async () => {
    const [client, sender] = [new FakeNodeRedis(), new FakeNodeRedis()];
    client.withCommandOptions = () => sender;
    sender.get.mockResolvedValue('there');
    expect(await redisCommands('test', client, 5).get('a')).toBe('there');
    expect(client.get).not.toHaveBeenCalled();
  });
});

describe('a connection to subscribe with', () => {
  const listenTo = async (client: FakeNodeRedis | FakeIoRedis, isGiven = false) => {
    const [onMessage, onLost] = [vi.fn(), vi.fn()];
    const listeners = new Map([['channel', onMessage]]);
    const subscriber = await redisCommands('test', client, 5).subscriber(
      listeners,
      isGiven,
      onLost,
    );
    return { subscriber, onMessage, onLost };
  };
  const KINDS: [string, () => FakeNodeRedis | FakeIoRedis][] = [
    ['node-redis', () => new FakeNodeRedis()],
    ['ioredis', () => new FakeIoRedis()],
  ];
  const LOST = ['error', 'close', 'end', 'topology-change'];

  describe.each(KINDS)('of %s', (_library, make) => {
    it.each(LOST)('is lost with the event "%s"', async (event) => {
      const client = make();
      const { onLost } = await listenTo(client);
      expect(onLost).not.toHaveBeenCalled();
      client.double.emit(event, new Error('away'));
      expect(onLost).toHaveBeenCalled();
    });

    it('is a duplicate of the client, connected when it is opened', async () => {
      const client = make();
      const { subscriber } = await listenTo(client);
      expect(client.double.connect).not.toHaveBeenCalled();
      await subscriber.open();
      expect(client.double.connect).toHaveBeenCalledOnce();
      expect(client.double.subscribe).toHaveBeenCalledOnce();
      for (const method of ['connect', 'subscribe'] as const) {
        expect(client[method]).not.toHaveBeenCalled();
      }
    });

    it("can be the app's subscriber, which is neither connected nor closed", async () => {
      const client = make();
      const { subscriber, onLost } = await listenTo(client, true);
      await subscriber.open();
      subscriber.close(true);
      client.emit('close');
      expect(onLost).not.toHaveBeenCalled();
      expect(client.subscribe).toHaveBeenCalledOnce();
      for (const method of ['connect', 'duplicate', 'disconnect'] as const) {
        expect(client[method]).not.toHaveBeenCalled();
      }
    });
  });

  it('of node-redis has no cache of its own', async () => {
    const client = new FakeNodeRedis();
    await listenTo(client);
    expect(client.duplicate).toHaveBeenCalledWith({ clientSideCache: undefined });
  });

  it('of node-redis is closed within the event of its loss, or it would reconnect', async () => {
    const client = new FakeNodeRedis();
    await listenTo(client);
    client.double.emit('error', new Error('away'));
    expect(client.double.destroy).toHaveBeenCalledOnce();
  });

  it("the app's subscriber of node-redis is unsubscribed at the end, and not before", async () => {
    const client = new FakeNodeRedis();
    const { subscriber, onMessage } = await listenTo(client, true);
    subscriber.close(false);
    expect(client.unsubscribe).not.toHaveBeenCalled();
    client.unsubscribe.mockRejectedValue(new Error('closed already'));
    subscriber.close(true);
    expect(client.unsubscribe).toHaveBeenCalledWith('channel', onMessage);
  });

  it('of ioredis passes on messages of its channels alone', async () => {
    const client = new FakeIoRedis();
    const { onMessage } = await listenTo(client, true);
    client.emit('message', 'channel', 'said');
    client.emit('message', 'channel');
    client.emit('message', 'another', 'of the app');
    expect(onMessage.mock.calls).toEqual([['said'], ['']]);
  });

  it.each([
    ['destroyed', (double: FakeNodeRedis) => double.destroy],
    [
      'disconnected, where that is all it can (version 4)',
      (double: FakeNodeRedis) => {
        double.destroy = undefined;
        double.disconnect.mockRejectedValue(new Error('closed already'));
        return double.disconnect;
      },
    ],
  ])('of node-redis is %s', async (_name, prepare) => {
    const client = new FakeNodeRedis();
    const ended = prepare(client.double);
    const { subscriber } = await listenTo(client);
    subscriber.close(false);
    await settle();
    expect(ended).toHaveBeenCalledOnce();
  });

  it.each([false, true])(
    'is to one node of a cluster, any of them (given as subscriber: %s)',
    async (isGiven) => {
      const clusters = [new FakeNodeRedis(), new FakeIoRedis()].map((client) => {
        const nodes = [0, 1, 2].map(() => new (client.constructor as new () => FakeIoRedis)());
        const masters = client instanceof FakeNodeRedis ? nodes : undefined;
        const nodeClient = masters && (async (node: unknown) => node);
        const given = masters ? { masters, nodeClient } : { nodes: () => nodes };
        return { client: Object.assign(client, given), nodes };
      });
      for (const { client, nodes } of clusters) {
        for (const [random, expected] of [
          [0, 0],
          [0.5, 1],
          [0.999, 2],
        ] as const) {
          vi.spyOn(Math, 'random').mockReturnValue(random);
          await listenTo(client, isGiven);
          expect(nodes[expected]?.duplicate).toHaveBeenCalledOnce();
        }
        expect(client.duplicate).not.toHaveBeenCalled();
      }
    },
  );

  it('of a sentinel of node-redis is the one that it opens itself', async () => {
    const client = Object.assign(new FakeNodeRedis(), { acquire() {} });
    const { subscriber, onMessage } = await listenTo(client);
    await subscriber.open();
    expect(client.subscribe).toHaveBeenCalledWith('channel', onMessage);
    for (const method of ['connect', 'duplicate'] as const) {
      expect(client[method]).not.toHaveBeenCalled();
    }
  });

  it('cannot be made while no node of a cluster is known', async () => {
    const cluster = Object.assign(new FakeIoRedis(), { nodes: () => [] });
    await expect(listenTo(cluster)).rejects.toThrow('no node of the cluster is known');
  });
});

describe('a client that is away', () => {
  it('is not waited for by a cache, once it was there: nothing old is written later', async () => {
    const client = new FakeNodeRedis();
    const cache = new RedisCache({ client: client.asClient });
    await cache.read('a');
    client.isReady = false;
    const error = await rejection(cache.read('a'));
    expect(error.message).toContain('was not sent, because the connection is lost');
  });

  it('is waited for by a cache as long as it was never there, or apps would fail at start', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    client.eval.mockResolvedValue(['7:there', '1800000000', '5']);
    const cache = new RedisCache({ client: client.asClient, timeout: 5000 });
    const found = Promise.all([cache.read('a'), cache.read('b')]);
    // All who wait share one listener.
    expect(client.listenerCount('ready')).toBe(1);
    client.comeBack();
    const row = { value: 'there', order: 7, now: 1_800_000_000_000_005 };
    expect(await found).toEqual([row, row]);
    client.isReady = false;
    expect((await rejection(cache.read('a'))).message).toContain('the connection is lost');
  });

  it('is waited for by a token store, within its time', async () => {
    const client = new FakeNodeRedis();
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 5000 });
    await store.get('anna');
    client.isReady = false;
    const stored = store.set('anna', tokenOf());
    await settle();
    expect(client.set).not.toHaveBeenCalled();
    client.comeBack();
    await stored;
    expect(client.set).toHaveBeenCalledOnce();
  });

  it('is waited for as long as a timer can, where the timeout is longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 1e12 });
    const found = store.get('anna');
    await vi.advanceTimersByTimeAsync(5000);
    client.comeBack();
    expect(await found).toBeUndefined();
  });

  it('is waited for again only after it was back, once somebody has waited in vain', async () => {
    const client = new FakeNodeRedis();
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 20 });
    await store.get('anna');
    client.isReady = false;
    expect((await rejection(store.get('anna'))).message).toContain('did not answer within 20 ms');
    expect((await rejection(store.get('anna'))).message).toContain(
      'was not sent, because the connection is lost',
    );
    // It was back, although nobody asked then.
    client.comeBack();
    client.isReady = false;
    await settle();
    const found = store.get('anna');
    await settle();
    client.comeBack();
    expect(await found).toBeUndefined();
  });

  it('is waited for again after a call that was sent and lost with its connection', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 20 });
    client.get.mockReturnValueOnce(new Promise(() => {}));
    const lost = rejection(store.get('anna'));
    await settle();
    client.comeBack();
    await settle();
    client.isReady = false;
    expect((await lost).message).toContain('did not answer within 20 ms');
    client.comeBack();
    await store.get('anna');
    client.isReady = false;
    const found = store.get('anna');
    await settle();
    client.comeBack();
    expect(await found).toBeUndefined();
  });

  it('and comes back for a moment only, is waited for again', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 5000 });
    const found = store.get('anna');
    await settle();
    client.emit('ready');
    await settle();
    expect(client.listenerCount('ready')).toBe(1);
    client.comeBack();
    expect(await found).toBeUndefined();
  });

  it('and is closed while it is waited for, is not asked', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 5000 });
    const outcome = rejection(store.get('anna'));
    await settle();
    client.isOpen = false;
    client.emit('ready');
    expect((await outcome).message).toContain('the client is not connected');
    expect(client.get).not.toHaveBeenCalled();
  });

  it('and comes back when nobody waits any more, is not asked', async () => {
    const client = Object.assign(new FakeNodeRedis(), { isReady: false });
    const store = new RedisTokenStore({ client: client.asClient, clock, timeout: 5 });
    const error = await rejection(store.set('anna', tokenOf()));
    expect(error.message).toContain('did not answer within 5 ms');
    client.comeBack();
    await settle();
    expect(client.set).not.toHaveBeenCalled();
  });
});

describe('a lock', () => {
  it('that was taken too late is given back at once, for nobody knows of it', async () => {
    const client = new FakeNodeRedis();
    const reply = deferred<string>();
    client.set.mockReturnValue(reply.promise);
    const cache = new RedisCache({ client: client.asClient, timeout: 5 });
    const error = await rejection(cache.lock('a', 5000));
    expect(error.message).toContain('RedisCache.lock did not answer within 5 ms');
    reply.resolve('OK');
    await settle();
    expect(client.eval).toHaveBeenCalledOnce();
  });
});

describe('what Redis is shown', () => {
  it('of a claim is a hash of its name', async () => {
    const client = new FakeNodeRedis();
    const store = new RedisTokenStore({ client: client.asClient, clock });
    expect(await store.claim('auth_key:very-secret', HOUR)).toBe(true);
    expect(client.set).toHaveBeenCalledWith(
      expect.stringMatching(/^marketgate:token:claim:[\w-]{43}$/),
      '1',
      { PX: HOUR, NX: true },
    );
  });
});
