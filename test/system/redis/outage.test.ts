import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { isMarketgateError } from 'marketgate';
import { RedisCache, RedisTokenStore } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CLIENT_KINDS,
  CLIENTS,
  isClusterKind,
  type RedisServer,
  redisIsMissing,
  startRedis,
} from '../../support/redis-server.js';
import { SECRET, tokenOf } from '../../unit/stores/support.js';

const HOUR = 3_600_000;
/** Milliseconds: how long a store may take, and what must be enough on any machine. */
const TIMEOUT = 50;
const BOUND = 5000;
const RECOVERY = { timeout: 15_000, interval: 25 };

/** What is done to the server, and how it is undone. */
interface Trouble {
  readonly begin: (server: RedisServer) => unknown;
  readonly end: (server: RedisServer) => unknown;
  /** Which calls cannot succeed meanwhile. */
  readonly fails: 'all' | 'writes';
}

const BIG = 'x'.repeat(50_000);

const TROUBLES: Record<string, Trouble> = {
  killed: { begin: (server) => server.kill(), end: (server) => server.restart(), fails: 'all' },
  frozen: { begin: (server) => server.freeze(), end: (server) => server.thaw(), fails: 'all' },
  'paused (CLIENT PAUSE)': {
    begin: (server) => server.command('CLIENT', 'PAUSE', '2000', 'ALL'),
    // It ends by itself: UNPAUSE is a command too, and paused.
    end: () => {},
    fails: 'all',
  },
  'full (OOM)': {
    begin: (server) => server.configSet('maxmemory', '1mb'),
    end: (server) => server.configSet('maxmemory', '0'),
    fails: 'writes',
  },
};

/** All calls of a store, each with one settled answer, and none later than the bound. */
async function settled(calls: Record<string, () => Promise<unknown>>) {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('a call hangs')), BOUND).unref();
  });
  const entries = Object.entries(calls).map(async ([name, call]) => {
    const answer = await Promise.race([
      call().then(
        (value) => ({ value, error: undefined }),
        (error: unknown) => ({ value: undefined, error }),
      ),
      late,
    ]);
    return [name, answer] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

const KEY = `key-${SECRET}`;

function callsOn(store: RedisTokenStore, cache: RedisCache) {
  const token = { ...tokenOf(SECRET), expiresAt: Date.now() + HOUR };
  const reads = { 'store.get': () => store.get(KEY), 'cache.get': () => cache.get(KEY) };
  const writes = {
    'store.set': () => store.set(KEY, token),
    'store.claim': () => store.claim(`${KEY}${randomUUID()}`, HOUR),
    'cache.set': () => cache.set(KEY, `${SECRET}${BIG}`, HOUR),
    'cache.lock': () => cache.lock(`${KEY}${randomUUID()}`, HOUR),
  };
  const others = {
    'store.delete': () => store.delete(`${KEY}${randomUUID()}`),
    'cache.delete': () => cache.delete(`${KEY}${randomUUID()}`),
    'cache.publish': () => cache.publish(KEY),
  };
  return { reads, writes, others };
}

describe.skipIf(redisIsMissing()).each(CLIENT_KINDS)('with %s', (kind) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ cluster: isClusterKind(kind) });
    await server.configSet('maxmemory-policy', 'noeviction');
  });
  afterAll(() => server?.stop());

  async function open(timeout = BOUND) {
    const { client, close } = await CLIENTS[kind](server.url);
    return {
      store: new RedisTokenStore({ client, timeout: Math.min(BOUND, 4 * timeout) }),
      cache: new RedisCache({ client, timeout }),
      close,
    };
  }

  it.each(Object.entries(TROUBLES))(
    '%s: every call ends, and all is well afterwards',
    async (_what, { begin, end, fails }) => {
      // Where Redis answers, it may take its time; where not, the call is to end.
      const { store, cache, close } = await open(fails === 'all' ? TIMEOUT : BOUND);
      const { reads, writes, others } = callsOn(store, cache);
      // A cluster client can still be learning where what is.
      await vi.waitFor(() => cache.set(KEY, 'before', HOUR), RECOVERY);
      const token = { ...tokenOf(SECRET), expiresAt: Date.now() + HOUR };
      await vi.waitFor(() => store.set(KEY, token), RECOVERY);
      await begin(server);
      try {
        const failing = fails === 'all' ? { ...reads, ...writes, ...others } : writes;
        // The second time the client knows already that something is wrong.
        for (const _round of [1, 2]) {
          const answers = await settled(failing);
          for (const [name, { error, value }] of Object.entries(answers)) {
            expect(error, `${name} gave ${inspect(value)}`).toMatchObject({
              code: 'store_unavailable',
            });
            expect(isMarketgateError(error)).toBe(true);
            expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
            expect(JSON.stringify(error)).not.toContain(SECRET);
            if (fails === 'writes') expect(inspect(error)).toContain('(OOM)');
          }
        }
        if (fails === 'writes') {
          const answers = await settled({ ...reads, ...others });
          for (const { error } of Object.values(answers)) expect(error).toBeUndefined();
          expect(answers['cache.get']?.value).toBe('before');
        }
      } finally {
        await end(server);
      }
      await vi.waitFor(async () => {
        await cache.set(KEY, 'after', HOUR);
        expect(await cache.get(KEY)).toBe('after');
        expect(await store.claim(randomUUID(), HOUR)).toBe(true);
      }, RECOVERY);
      close();
    },
  );

  it('flushed: what was there is absent, and nothing fails', async () => {
    const { store, cache, close } = await open();
    await vi.waitFor(() => cache.set(KEY, 'value', HOUR), RECOVERY);
    const token = { ...tokenOf(), expiresAt: Date.now() + HOUR };
    await store.set('anna', token);
    const release = await cache.lock(KEY, HOUR);
    await server.flush();
    expect(await cache.get(KEY)).toBeUndefined();
    expect(await store.get('anna')).toBeUndefined();
    await release?.();
    await store.set('anna', token);
    expect(await store.get('anna')).toEqual(token);
    close();
  });

  it('restarted empty: the same client goes on', async () => {
    const { store, cache, close } = await open();
    const token = { ...tokenOf(), expiresAt: Date.now() + HOUR };
    await vi.waitFor(() => store.set('anna', token), RECOVERY);
    await server.kill();
    await server.restart();
    await vi.waitFor(async () => expect(await store.get('anna')).toBeUndefined(), RECOVERY);
    await vi.waitFor(() => cache.set(KEY, 'value', HOUR), RECOVERY);
    await store.set('anna', token);
    expect(await store.get('anna')).toEqual(token);
    close();
  });

  it('what failed in an outage is not written after it', async () => {
    const { store, cache, close } = await open(TIMEOUT);
    await vi.waitFor(() => cache.set(KEY, 'before', HOUR), RECOVERY);
    await server.kill();
    const token = { ...tokenOf(), expiresAt: Date.now() + HOUR };
    // The client notices first, as in an outage that lasts.
    await vi.waitFor(() => expect(store.get('bert')).rejects.toThrow(), RECOVERY);
    for (let round = 0; round < 3; round++) {
      await expect(store.set('bert', token)).rejects.toThrow('RedisTokenStore.set');
      await expect(cache.set(`${KEY}2`, 'old', HOUR)).rejects.toThrow('RedisCache.set');
    }
    await server.restart();
    await vi.waitFor(() => cache.set(KEY, 'after', HOUR), RECOVERY);
    for (const read of [() => store.get('bert'), () => cache.get(`${KEY}2`)]) {
      await vi.waitFor(async () => expect(await read()).toBeUndefined(), RECOVERY);
    }
    close();
  });

  it('a client that was closed fails at once, and says so', async () => {
    const { store, cache, close } = await open();
    await vi.waitFor(() => cache.get(KEY), RECOVERY);
    close();
    await vi.waitFor(
      () => expect(store.get('anna')).rejects.toThrow('the client is not connected'),
      RECOVERY,
    );
    await expect(cache.get(KEY)).rejects.toThrow('RedisCache.get was not sent');
  });
});
