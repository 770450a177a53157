import { randomUUID } from 'node:crypto';
import type { Reservation } from 'marketgate';
import { RedisGuessLimit } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type GuessGate, guessGate } from '../../../src/check/guess-gate.js';
import { RedisConnection } from '../../../src/stores/redis/connection.js';
import { hear } from '../../support/hear.js';
import { type RedisServer, redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { EveryClient, type Opened } from './support/every-client.js';

const WHO = '203.0.113.7';
const MINUTE = 60_000;

/** How many attempts are left to a client; they are used up by asking. */
async function left(limit: RedisGuessLimit, client = WHO): Promise<number> {
  let count = 0;
  while (await isIn(limit, client)) count++;
  return count;
}

/** The same for guards with the limit, in one process. */
async function leftAtGuards(gate: GuessGate): Promise<number> {
  for (let count = 0; ; count++) {
    try {
      await gate.attempt(WHO, randomUUID(), async () => null);
    } catch {
      return count;
    }
  }
}

type Refused = Extract<Reservation, { isAllowed: false }>;

interface Process {
  readonly limit: RedisGuessLimit;
  readonly gate: GuessGate;
}

/** Whether what one process counts is counted for the other; nothing of it stays. */
async function areShared(here: Process, there: Process): Promise<boolean> {
  const client = randomUUID();
  const made = [await here.limit.reserve(client)];
  // Without Redis, there is no end.
  while (made.at(-1)?.isAllowed && made.length < 6) made.push(await there.limit.reserve(client));
  for (const each of made) if (each.isAllowed) await each.release();
  return made.length === 5;
}

const isIn = async (limit: RedisGuessLimit, client = WHO): Promise<boolean> =>
  (await limit.reserve(client)).isAllowed;

describe.skipIf(redisIsMissing())('RedisGuessLimit, with all kinds of clients', () => {
  let clients: EveryClient;
  let prefix: string;
  beforeAll(async () => {
    clients = await EveryClient.open();
  });
  beforeEach(() => {
    prefix = `${randomUUID()}:`;
  });
  afterAll(() => clients?.close());

  /** A limit as one process has it; each kind of client is a fleet. */
  const limitOf = ({ client }: Pick<Opened, 'client'>, kind: string, timeout = 10_000) =>
    new RedisGuessLimit({
      client,
      timeout,
      limit: 4,
      windowMs: MINUTE,
      prefix: `${prefix}${kind}:`,
    });

  async function keysOn(server: RedisServer): Promise<string[]> {
    return (await server.command('KEYS', `${prefix}*`)) as string[];
  }

  it('counts the failed attempts of all processes, in windows', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = [limitOf(opened, kind), limitOf(opened, kind)];
      for (const limit of [here, there, there]) expect(await isIn(limit)).toBe(true);
      expect(await left(here)).toBe(1);
      const { retryAfter, ...refused } = (await there.reserve(WHO)) as Refused;
      expect(refused).toEqual({ isAllowed: false, isPending: true });
      expect(retryAfter).toBeGreaterThan(30);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect(await isIn(there, '198.51.100.1')).toBe(true);
    });
    await clients.onServers((server) => server.pass(MINUTE));
    await clients.each(async (opened, kind) => {
      expect(await left(limitOf(opened, kind))).toBe(4);
    });
  });

  it('lets no burst past it, however many processes there are', async () => {
    await clients.each(async (opened, kind) => {
      const processes = Array.from({ length: 4 }, () => limitOf(opened, kind));
      const burst = Array.from({ length: 40 }, (_, n) => isIn(processes[n % 4] as RedisGuessLimit));
      expect((await Promise.all(burst)).filter(Boolean)).toHaveLength(4);
    });
  });

  it('gives back to all processes what was no failed attempt', async () => {
    await clients.each(async (opened, kind) => {
      const limit = limitOf(opened, kind);
      for (let n = 0; n < 20; n++) {
        const reservation = await limit.reserve(WHO);
        expect(reservation.isAllowed).toBe(true);
        if (reservation.isAllowed) await reservation.release();
      }
    });
    await clients.onServers(async (server) => expect(await keysOn(server)).toEqual([]));
    await clients.each(async (opened, kind) => expect(await left(limitOf(opened, kind))).toBe(4));
    await clients.onServers(async (server) => {
      // What was refused has left nothing either.
      for (const key of await keysOn(server)) {
        expect(await server.command('ZCARD', key)).toBe(4);
      }
    });
  });

  it.each<[string, (made: Reservation[], server: RedisServer) => unknown]>([
    [
      'that has failed',
      (made) => Promise.all(made.map((each) => each.isAllowed && each.settle?.())),
    ],
    ['of a process that has ended', (_made, server) => server.pass(10_001)],
  ])('lets a client wait for no attempt %s', async (_what, end) => {
    const made = await clients.each((opened, kind) =>
      Promise.all([1, 2, 3, 4].map(() => limitOf(opened, kind).reserve(WHO))),
    );
    const expectPending = (isPending: boolean) =>
      clients.each(async (opened, kind) => {
        expect(await limitOf(opened, kind).reserve(WHO)).toMatchObject({ isPending });
      });
    await expectPending(true);
    await clients.onServers((server) => end(made.flat(), server));
    await expectPending(false);
  });

  it('gives back nothing of the next window', async () => {
    const late = await clients.each((opened, kind) => limitOf(opened, kind).reserve(WHO));
    await clients.onServers((server) => server.pass(MINUTE));
    await clients.each(async (opened, kind) => expect(await left(limitOf(opened, kind))).toBe(4));
    for (const each of late) if (each.isAllowed) await each.release();
    await clients.each(async (opened, kind) => expect(await left(limitOf(opened, kind))).toBe(0));
  });

  it.each(['cut off', 'frozen'] as const)(
    'gives back afterwards, once, what it could not while Redis is %s',
    async (what) => {
      const { begin, end } = TROUBLES[what];
      hearWarnings();
      const calls = vi.spyOn(RedisConnection.prototype, 'call').mock;
      const releases = (type?: string) =>
        calls.settledResults.filter(
          (result, i) => calls.calls[i]?.[0] === 'release' && (type ?? result.type) === result.type,
        ).length;
      // Time goes on by itself, and the test can let more of it pass.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
      // Long enough for the reservations on a busy machine: one that is late takes fewer counts to give back.
      const limits = await clients.each(async (opened, kind) => limitOf(opened, kind, 500));
      const made = await Promise.all(
        limits.flatMap((each) => [1, 2, 3].map(() => each.reserve(WHO))),
      );
      await Promise.all(limits.map((each) => each.reserve(WHO)));
      await clients.onServers(begin);
      try {
        await Promise.all(made.map((each) => each.isAllowed && each.release()));
      } finally {
        await clients.onServers(end);
      }
      // For each kind of client, three of its client key and three of that of all clients.
      await vi.waitFor(() => expect(releases('fulfilled')).toBe(24), SOON);
      const sent = releases();
      await vi.advanceTimersByTimeAsync(MINUTE);
      expect(releases()).toBe(sent);
      await clients.onServers(async (server) => {
        const keys = await keysOn(server);
        expect(keys).toHaveLength(4);
        for (const key of keys) expect(await server.command('ZCARD', key)).toBe(1);
      });
    },
  );

  it('leaves a new customer a turn when a fleet of addresses had too many', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = [limitOf(opened, kind), limitOf(opened, kind)];
      let tried = 0;
      for (let n = 0; n < 111; n++) {
        const limit = n % 2 ? here : there;
        if (await isIn(limit, `203.0.113.${n % 37}`)) tried++;
      }
      expect(tried).toBe(100);
      expect(await isIn(limitOf(opened, kind), '192.0.2.1')).toBe(true);
      expect(await isIn(limitOf(opened, kind), '192.0.2.1')).toBe(false);
    });
  });

  it('repairs a count that does not expire, full or not, or is not a number', async () => {
    const warnings = hearWarnings();
    const visit = () =>
      clients.each(async (opened, kind) => {
        for (const who of [WHO, '198.51.100.1']) await limitOf(opened, kind).reserve(who);
      });
    const eachKey = (check: (key: string, server: RedisServer) => unknown) =>
      clients.onServers(async (server) => {
        for (const key of await keysOn(server)) await check(key, server);
      });
    const expectExpiry = () =>
      eachKey(async (key, server) =>
        expect(Number(await server.command('PTTL', key))).toBeGreaterThan(0),
      );
    await clients.each(async (opened, kind) => expect(await left(limitOf(opened, kind))).toBe(4));
    await eachKey(async (key, server) => expect(await server.command('PERSIST', key)).toBe(1));
    await visit();
    await expectExpiry();
    await eachKey((key, server) => server.command('SET', key, 'x'));
    await clients.each(async (opened, kind) => expect(await left(limitOf(opened, kind))).toBe(4));
    await visit();
    await expectExpiry();
    expect(warnings).toEqual([]);
  });

  it.each(['killed', 'frozen', 'full'] as const)(
    'counts in each process while Redis is %s, says so, and in all afterwards',
    async (what) => {
      const { begin, end } = TROUBLES[what];
      const heard = hear('drift');
      const timeout = 40;
      const all = await clients.each(async (opened, kind) => {
        const [here, there] = [1, 2].map(() => {
          const limit = limitOf(opened, kind, timeout);
          return { limit, gate: guessGate('test', limit, {}) as GuessGate };
        }) as [Process, Process];
        await vi.waitFor(async () => expect(await areShared(here, there)).toBe(true), SOON);
        return { here, there };
      });
      const warnings = hearWarnings();
      await clients.onServers(begin);
      try {
        await Promise.all(
          all.map(async ({ here, there }) => {
            // A client that this process has not counted is admitted: an outage refuses nobody.
            for (const { gate } of [here, there]) expect(await leftAtGuards(gate)).toBe(4);
          }),
        );
        expect(warnings).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
        expect(heard).toContainEqual(expect.objectContaining({ kind: 'not-counted' }));
      } finally {
        await clients.onServers(end);
      }
      await Promise.all(
        all.map(async ({ here, there }) => {
          await vi.waitFor(async () => expect(await areShared(here, there)).toBe(true), SOON);
          // Redis has not counted it, but what was counted here still holds.
          expect(await leftAtGuards(here.gate)).toBe(0);
        }),
      );
    },
  );
});
