import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { isMarketgateError } from 'marketgate';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RedisServer, redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { HOUR, SECRET, tokenOf } from '../../unit/stores/support.js';
import { EveryClient, type Opened } from './support/every-client.js';

/** Milliseconds: the deadline of a store while Redis is in trouble, and one that nothing misses. */
const SHORT = 40;
const LONG = 15_000;

/** What is done to the server, how it is undone, and which calls fail meanwhile, with which words. */
interface Trouble {
  readonly begin: (server: RedisServer) => unknown;
  readonly end: (server: RedisServer) => unknown;
  readonly failing: readonly ('reads' | 'writes' | 'others')[];
  readonly words: RegExp;
  readonly timeout: number;
}

const BIG = 'x'.repeat(50_000);

const CASES: Record<string, Trouble> = {
  killed: {
    ...TROUBLES.killed,
    failing: ['reads', 'writes', 'others'],
    words: /was not sent|did not answer|failed/,
    timeout: SHORT,
  },
  frozen: {
    ...TROUBLES.frozen,
    failing: ['reads', 'writes', 'others'],
    words: /did not answer|failed/,
    timeout: SHORT,
  },
  'full (OOM)': {
    ...TROUBLES.full,
    failing: ['writes'],
    words: /\(OOM\)/,
    timeout: LONG,
  },
};

const KEY = `key-${SECRET}`;
const token = { ...tokenOf(SECRET), expiresAt: Date.now() + HOUR };

/** A store and a cache, whose calls take that many milliseconds at most. */
function storesOf({ client }: Opened, timeout: number) {
  return {
    store: new RedisTokenStore({ client, timeout }),
    cache: new RedisCache({ client, timeout }),
    holders: new RedisHolderStore({ client, timeout, secret: 'x'.repeat(32) }),
  };
}

function callsOn({ store, cache, holders }: ReturnType<typeof storesOf>) {
  const reads = { 'store.get': () => store.get(KEY) };
  const writes = {
    'store.set': () => store.set(KEY, token),
    'store.claim': () => store.claim(`${KEY}${randomUUID()}`, HOUR),
    'cache.write': () => cache.write(KEY, `${SECRET}${BIG}`, HOUR, 2),
    'cache.lock': () => cache.lock(`${KEY}${randomUUID()}`, HOUR),
    'holders.take': () => holders.take(`${KEY}${randomUUID()}`, SECRET, 1),
  };
  const others = {
    'store.delete': () => store.delete(`${KEY}${randomUUID()}`),
    'cache.delete': () => cache.delete(`${KEY}${randomUUID()}`),
    'cache.publish': () => cache.publish(KEY),
    // Scripts, which wait with the writes.
    'cache.read': () => cache.read(KEY),
    'holders.holders': () => holders.holders(KEY),
    'holders.release': () => holders.release(`${KEY}${randomUUID()}`),
  };
  return { reads, writes, others };
}

/** That each call rejects as it should, and shows nothing of the key and the value. */
const expectFailures = (calls: Record<string, () => Promise<unknown>>, words: RegExp) =>
  Promise.all(
    Object.entries(calls).map(async ([name, call]) => {
      const error = await call().then(
        (value) => expect.fail(`${name} gave ${inspect(value)}`),
        (reason: unknown) => reason,
      );
      expect(error, name).toMatchObject({ code: 'store_unavailable' });
      expect(isMarketgateError(error)).toBe(true);
      expect((error as Error).message).toMatch(words);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
      expect(JSON.stringify(error)).not.toContain(SECRET);
    }),
  );

describe.skipIf(redisIsMissing())('with all kinds of clients', () => {
  let clients: EveryClient;
  beforeEach(async () => {
    clients = await EveryClient.open();
  });
  afterEach(() => clients?.close());

  it.each(Object.entries(CASES))(
    '%s: every call ends, and all is well afterwards',
    async (_what, { begin, end, failing, words, timeout }) => {
      await clients.each(async (opened) => {
        const { store, cache } = storesOf(opened, LONG);
        await cache.write(KEY, 'before', HOUR, 1);
        await store.set(KEY, token);
      });
      await clients.onServers(begin);
      try {
        await clients.each(async (opened) => {
          const calls = callsOn(storesOf(opened, timeout));
          const failingCalls = Object.assign({}, ...failing.map((group) => calls[group]));
          // First, for a connection on which a command waits answers no other.
          if (!failing.includes('reads')) {
            const patient = storesOf(opened, LONG);
            if (!failing.includes('others')) {
              expect((await patient.cache.read(KEY)).value).toBe('before');
            }
            expect(await patient.store.get(KEY)).toEqual(token);
          }
          if (!failing.includes('others')) {
            await Promise.all(Object.values(calls.others).map((call) => call()));
          }
          // The second time the client knows already that something is wrong.
          for (const _round of [1, 2]) await expectFailures(failingCalls, words);
        });
      } finally {
        await clients.onServers(end);
      }
      await clients.each(async (opened, kind) => {
        const { store, cache } = storesOf(opened, LONG);
        await vi.waitFor(async () => {
          await cache.write(kind, 'after', HOUR, 3);
          expect((await cache.read(kind)).value).toBe('after');
          expect(await store.claim(randomUUID(), HOUR)).toBe(true);
        }, SOON);
      });
    },
  );

  it('a client that was closed fails at once, and says so', async () => {
    clients.close();
    await clients.each(async (opened) => {
      const { store, cache } = storesOf(opened, SHORT);
      await vi.waitFor(
        () => expect(store.get(KEY)).rejects.toThrow('the client is not connected'),
        SOON,
      );
      await expect(cache.read(KEY)).rejects.toThrow('RedisCache.read was not sent');
    });
  });
});
