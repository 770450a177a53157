import { randomUUID } from 'node:crypto';
import { RedisGuessLimit } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { guessGate } from '../../../src/check/guess-gate.js';
import { hear } from '../../support/hear.js';
import { redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { EveryClient, type Opened } from './support/every-client.js';

const WHO = '203.0.113.7';
const MINUTE = 60_000;

/** The guards of one process, with a limit of four. */
class Process {
  readonly #limit;
  readonly #gate;
  constructor(client: Opened['client'], prefix: string) {
    this.#limit = new RedisGuessLimit({ client, prefix, limit: 4 });
    this.#gate = guessGate('test', this.#limit, {});
  }

  /** Asks about a code. Whether the client had an attempt left. */
  async ask(answer: null | 'purchase' = null, client = WHO): Promise<boolean> {
    try {
      await this.#gate?.attempt(client, async () => answer);
      return true;
    } catch {
      return false;
    }
  }

  /** How many attempts Redis has counted, one more included, which is given back. */
  async count(client = WHO): Promise<number> {
    const { consumedPoints } = await this.#limit.limiter.consume(client);
    await this.#limit.limiter.reward(client);
    return consumedPoints;
  }

  /** How many attempts are left to a client; they are used up by asking. */
  async left(client = WHO): Promise<number> {
    for (let count = 0; ; count++) if (!(await this.ask(null, client))) return count;
  }
}

/** Whether a client has no attempt left in one process after four in the other. */
async function areShared(here: Process, there: Process): Promise<boolean> {
  const client = randomUUID();
  await here.left(client);
  return (await there.left(client)) === 0;
}

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

  /** Two processes; each kind of client is a fleet. */
  const fleet = ({ client }: Opened, kind: string): [Process, Process] => {
    const own = `${prefix}${kind}:`;
    return [new Process(client, own), new Process(client, own)];
  };
  const keys = async (): Promise<string[]> => {
    const found: string[] = [];
    await clients.onServers(async (server) => {
      found.push(...((await server.command('KEYS', `${prefix}*`)) as string[]));
    });
    return found;
  };

  it('counts the failed attempts of all processes, in windows', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = fleet(opened, kind);
      for (const process of [here, there, there]) expect(await process.ask()).toBe(true);
      expect([await here.left(), await there.left()]).toEqual([1, 0]);
      expect(await there.ask(null, '198.51.100.1')).toBe(true);
    });
    await clients.onServers((server) => server.pass(MINUTE));
    expect(await keys()).toEqual([]);
  });

  it('lets no burst past it, however many processes there are', async () => {
    await clients.each(async (opened, kind) => {
      const processes = [...fleet(opened, kind), ...fleet(opened, kind)];
      const burst = Array.from({ length: 40 }, (_, n) => processes[n % 4]?.ask());
      const allowed = (await Promise.all(burst)).filter(Boolean);
      expect(allowed).toHaveLength(4);
    });
  });

  it('gives back to all processes what was no failed attempt, and leaves nothing', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = fleet(opened, kind);
      const burst = Array.from({ length: 15 }, (_, n) => (n % 2 ? here : there).ask('purchase'));
      expect(await Promise.all(burst)).toEqual(Array(15).fill(true));
    });
    await vi.waitFor(async () => expect(await keys()).toEqual([]), SOON);
  });

  it('lets only clients without a failed attempt through, when a fleet of addresses had too many', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = fleet(opened, kind);
      const tried = [];
      for (let n = 0; n < 37; n++) tried.push(await (n % 2 ? here : there).ask(null, `${n % 18}`));
      expect(tried.filter(Boolean)).toHaveLength(30);
      expect([await here.ask(null, 'fresh'), await there.ask(null, 'fresh')]).toEqual([
        true,
        false,
      ]);
    });
  });

  it('takes nothing from customers that a frozen Redis counts later', async () => {
    const fleets = await clients.each(async (opened, kind) => {
      const [here, there] = fleet(opened, kind);
      await vi.waitFor(async () => expect(await areShared(here, there)).toBe(true), SOON);
      return here;
    });
    await clients.onServers(TROUBLES.frozen.begin);
    try {
      const customers = fleets.flatMap((here) => [1, 2, 3].map(() => here.ask('purchase')));
      expect(await Promise.all(customers)).toEqual(customers.map(() => true));
    } finally {
      await clients.onServers(TROUBLES.frozen.end);
    }
    await clients.each(async (opened, kind) => {
      const [other] = fleet(opened, kind);
      await vi.waitFor(async () => expect(await other.count()).toBe(1), SOON);
    });
  });

  it.each(['killed', 'frozen', 'full'] as const)(
    'counts in each process while Redis is %s, reports that, and in all afterwards',
    async (what) => {
      const { begin, end } = TROUBLES[what];
      const drift = hear('drift');
      const fleets = await clients.each(async (opened, kind) => {
        const [here, there] = fleet(opened, kind);
        await vi.waitFor(async () => expect(await areShared(here, there)).toBe(true), SOON);
        return [here, there] as const;
      });
      await clients.onServers(begin);
      try {
        // Nobody is refused whom this process has not counted.
        await Promise.all(
          fleets.flat().map(async (process) => expect(await process.left()).toBe(4)),
        );
        expect(drift).toContainEqual(expect.objectContaining({ kind: 'not-counted' }));
      } finally {
        await clients.onServers(end);
      }
      await Promise.all(
        fleets.map(async ([here, there]) => {
          await vi.waitFor(async () => expect(await areShared(here, there)).toBe(true), SOON);
          // Redis has not counted it, but what was counted here still holds.
          expect(await here.left()).toBe(0);
        }),
      );
    },
  );
});
