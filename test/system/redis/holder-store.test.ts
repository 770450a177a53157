import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { isMarketgateError } from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { guardHolderStore } from '../../../src/stores/holder-store.js';
import {
  CLIENTS,
  type ClientKind,
  type RedisServer,
  redisIsMissing,
  SOON,
  sharedRedis,
  startRedis,
  TROUBLES,
} from '../../support/redis-server.js';

const SECRET = 'holder-secret-of-at-least-32-characters';
const MAX = 3;
const KINDS = ['node-redis', 'ioredis'] as const satisfies ClientKind[];

/** A store on a connection of its own, closed with the test. */
async function openStore(url: string, kind: ClientKind = 'ioredis') {
  const { client, close } = await CLIENTS[kind](url);
  onTestFinished(() => void close());
  return new RedisHolderStore({ client, secret: SECRET });
}

/** A server of the test's own, ended with it. */
async function openServer(fsync?: 'always' | 'everysec'): Promise<RedisServer> {
  const server = await startRedis(fsync);
  onTestFinished(() => server.stop());
  return server;
}

const { killed, frozen } = TROUBLES;
const DURING_TAKES = {
  killed,
  frozen,
  'restarted by its operator': {
    begin: (server: RedisServer) => server.shutDown(),
    end: (server: RedisServer) => server.restart(),
  },
};

describe.skipIf(redisIsMissing())('RedisHolderStore', () => {
  it.each(Object.entries(DURING_TAKES))(
    '%s, with persistence, during takes: never more than max, and none is lost',
    async (what, { begin, end }) => {
      const server = await openServer(what === 'killed' ? 'always' : 'everysec');
      const stores = await Promise.all(
        KINDS.map(async (kind) => guardHolderStore('test', await openStore(server.url, kind))),
      );
      const held = new Map<string, string[]>();
      let [takes, failures, isRunning] = [0, 0, true];
      /** Takes codes that the others are taking too. */
      const taking = async (store: (typeof stores)[number]) => {
        for (let n = 0; isRunning; n++) {
          const [code, holder] = [`code-${n >> 3}`, randomUUID()];
          const isHeld = await store.take(code, holder, MAX).catch((error) => {
            if (!isMarketgateError(error)) throw error;
            failures++;
          });
          if (isHeld) held.set(code, [...(held.get(code) ?? []), holder]);
          if (isHeld !== undefined) takes++;
          await new Promise(setImmediate);
        }
      };
      const running = [...stores, ...stores, ...stores, ...stores].map(taking);
      const happens = async (count: () => number, times: number) => {
        const before = count();
        await vi.waitFor(() => expect(count()).toBeGreaterThan(before + times), SOON);
      };
      await happens(() => takes, 100);
      await begin(server);
      await happens(() => failures, 0);
      await end(server);
      await happens(() => takes, 100);
      isRunning = false;
      await Promise.all(running);
      const patient = await openStore(server.url);
      for (const [code, acknowledged] of held) {
        const holders = await patient.holders(code);
        expect(holders.length).toBeLessThanOrEqual(MAX);
        expect(holders).toEqual(expect.arrayContaining(acknowledged));
      }
    },
  );

  it('shows no code in Redis, and expires nothing', async () => {
    const server = await sharedRedis();
    const store = await openStore(server.url);
    const code = randomUUID();
    await store.take(` ${code.toUpperCase()}\u200b`, 'anna', 1);
    const keys = (await server.command('KEYS', '*')) as string[];
    expect(keys).toEqual([expect.stringMatching(/^marketgate:holder:[\w-]{43}$/)]);
    expect(keys.join().toLowerCase()).not.toContain(code.slice(0, 8));
    expect(await server.command('PTTL', keys[0] as string)).toBe(-1);
    expect(await server.command('SMEMBERS', keys[0] as string)).toEqual(['anna']);
    expect(inspect(store, { depth: 9, showHidden: true })).not.toContain(SECRET);
    // Another secret, another record.
    const { client, close } = await CLIENTS.ioredis(server.url);
    onTestFinished(() => void close());
    const other = new RedisHolderStore({ client, secret: `${SECRET}!` });
    expect(await other.holders(code)).toEqual([]);
    // A key of another kind is no holder, and is not overwritten.
    await server.command('SET', keys[0] as string, 'x');
    await expect(store.take(code, 'bert', 2)).rejects.toThrow('(WRONGTYPE)');
    await store.release(code);
    expect(await server.command('KEYS', '*')).toEqual([]);
  });
});
