import { connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { RedisCache } from 'marketgate/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeyApiService } from '../../support/key-api-service.js';
import { portOf } from '../../support/listen.js';
import {
  CLIENTS,
  redisIsMissing,
  SOON,
  sharedRedis,
  TROUBLES,
} from '../../support/redis-server.js';
import { CODE } from '../../support/wire.js';

// "While it does not answer, each process is on its own: a refund is seen after `ttl` and one visit" (contract, section 2). With
// a real Redis, real deadlines, both libraries, and clocks that are hours apart.

const TTL = 1500;

const HOUR = 3_600_000;
const SKEWS = [-3 * HOUR, 0, 5 * HOUR];

/** A way to a port that can be cut. */
async function wayTo(target: number) {
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((from) => {
    if (!isOpen) return from.destroy();
    const to = connect(target, '127.0.0.1');
    for (const socket of [from, to]) {
      sockets.add(socket.setNoDelay(true).once('close', () => sockets.delete(socket)));
    }
    pipeline(from, to, from, () => to.destroy());
  });
  return {
    url: `redis://127.0.0.1:${await portOf(server)}`,
    cut(): void {
      isOpen = false;
      for (const socket of sockets) socket.destroy();
    },
    mend(): void {
      isOpen = true;
    },
  };
}

/** A service, a Redis, and what is a process of the fleet to them: a client of each. */
async function startFleet() {
  const [service, redis] = [new KeyApiService(), await sharedRedis()];
  const join = async (n: number) => {
    const way = await wayTo(redis.port);
    const { client, subscriber, close } = await CLIENTS[n % 2 === 0 ? 'node-redis' : 'ioredis'](
      way.url,
    );
    onTestFinished(() => void close());
    const keyApi = service.client({
      clock: () => Date.now() + (SKEWS[n] ?? 0),
      cache: { ttl: TTL, shared: new RedisCache({ client, subscriber }) },
    });
    /** Whether the purchase is served. */
    const serves = () => keyApi.validatePurchase(CODE).then(Boolean, () => false);
    return { way, keyApi, serves, kill: () => Promise.all([close(), keyApi.close()]) };
  };
  const [hearer, ...others] = [await join(0), await join(1), await join(2)] as const;
  const all = [hearer, ...others];
  // On a busy machine a call can miss its short deadline.
  await vi.waitFor(async () => {
    const code = `code-${service.asked()}`;
    const before = service.asked();
    for (const { keyApi } of all) await keyApi.validatePurchase(code);
    expect(service.asked() - before, 'processes share answers').toBe(1);
  }, SOON);
  for (const each of all) expect(await each.serves()).toBe(true);
  return { service, redis, join, hearer, others, all };
}
type Fleet = Awaited<ReturnType<typeof startFleet>>;
type Fault = [begin: (fleet: Fleet) => unknown, end: (fleet: Fleet) => unknown];

const of = (trouble: keyof typeof TROUBLES): Fault => {
  const { begin, end } = TROUBLES[trouble];
  return [({ redis }) => begin(redis), ({ redis }) => end(redis)];
};

describe.skipIf(redisIsMissing())('a refund that is heard while Redis is', () => {
  it.each<[string, Fault]>([
    ['full', of('full')],
    ['read-only, as after a failover', of('read-only')],
    ['frozen', of('frozen')],
    ['gone, and restarts empty', of('killed')],
    [
      'closed to scripts and writes for this user',
      [
        ({ redis }) => redis.command('ACL', 'SETUSER', 'default', '-eval', '-set'),
        ({ redis }) => redis.command('ACL', 'SETUSER', 'default', '+@all'),
      ],
    ],
    [
      'cut off from the process that hears it',
      [({ hearer }) => hearer.way.cut(), ({ hearer }) => hearer.way.mend()],
    ],
    [
      'cut off from another process',
      [({ others }) => others[0].way.cut(), ({ others }) => others[0].way.mend()],
    ],
  ])(
    '%s counts in its process at once, and in the others after ttl and a visit',
    async (_name, [begin, end]) => {
      const fleet = await startFleet();
      const { service, hearer, all } = fleet;
      const look = () => Promise.all(all.map(({ serves }) => serves()));
      const allRefuse = async () => {
        await vi.waitFor(async () => expect(await look()).toEqual([false, false, false]), SOON);
      };
      await begin(fleet);
      try {
        service.says = 'negative';
        expect(await hearer.keyApi.validatePurchase(CODE, { fresh: true })).toBeNull();
        expect(await hearer.serves()).toBe(false);
        await allRefuse();
      } finally {
        await end(fleet);
      }
      // What is served now comes out of a cache.
      service.says = 'page';
      for (let n = 0; n < 5; n++) expect(await look()).toEqual([false, false, false]);
    },
  );

  it('up counts in all processes at once, also after the one that heard it was killed', async () => {
    const { service, hearer, others, join } = await startFleet();
    service.says = 'negative';
    expect(await hearer.keyApi.validatePurchase(CODE, { fresh: true })).toBeNull();
    await hearer.kill();
    service.says = 'page';
    for (const each of [...others, await join(0)]) {
      await vi.waitFor(async () => expect(await each.serves()).toBe(false), SOON);
    }
  });
});
