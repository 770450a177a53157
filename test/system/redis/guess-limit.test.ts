import { randomUUID } from 'node:crypto';
import { KeyApi } from 'marketgate';
import { RedisGuessLimit } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { hear } from '../../support/hear.js';
import { redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { json, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, guess, KEY, refusal, success } from '../../support/wire.js';
import { EveryClient, type Opened } from './support/every-client.js';

const WHO = '203.0.113.7';
const MINUTE = 60_000;

/** A service that knows no code. */
const service = () =>
  new ServiceInMemory(({ path }) =>
    path === '/api/account/details'
      ? json(success({ data: account }))
      : json(refusal('Invalid purchase code'), 404),
  );

let codes = 0;

/** One process of a fleet, with a limit of four. */
class Process {
  readonly #keyApi: KeyApi;
  constructor(client: Opened['client'], prefix: string) {
    const guessLimit = new RedisGuessLimit({ client, prefix, limit: 4 });
    const baseUrl = 'https://market.example';
    const { fetch } = service();
    this.#keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, fetch, guessLimit });
    onTestFinished(() => this.#keyApi.close());
  }

  /** Asks about another code. Whether the client had an attempt left. */
  async ask(client = WHO): Promise<boolean> {
    const answer = this.#keyApi.validatePurchase(guess(codes++), { client });
    return answer.then(
      () => true,
      () => false,
    );
  }

  /** How many attempts are left to a client; they are used up by asking. */
  async left(client = WHO): Promise<number> {
    for (let count = 0; ; count++) if (!(await this.ask(client))) return count;
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

  it('counts the guesses of all processes, in windows', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = fleet(opened, kind);
      for (const process of [here, there, there]) expect(await process.ask()).toBe(true);
      expect([await here.left(), await there.left()]).toEqual([1, 0]);
      expect(await there.ask('198.51.100.1')).toBe(true);
    });
    // The last guess can still be on its way to Redis when its caller has the answer.
    await vi.waitFor(async () => {
      await clients.onServers((server) => server.pass(MINUTE));
      expect(await keys()).toEqual([]);
    }, SOON);
  });

  it('lets a burst reach it once for each process, and no further', async () => {
    // On a busy machine Redis can need longer than a process waits for it, which then counts by itself.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await clients.each(async (opened, kind) => {
      const processes = [...fleet(opened, kind), ...fleet(opened, kind)];
      const burst = Array.from({ length: 80 }, (_, n) => processes[n % 4]?.ask());
      const allowed = (await Promise.all(burst)).filter(Boolean);
      expect(allowed.length).toBeGreaterThanOrEqual(4);
      expect(allowed.length).toBeLessThanOrEqual(16);
      for (const process of processes) expect(await process.left()).toBe(0);
    });
  });

  it('lets only clients without a guess through, when a fleet of addresses had too many', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = fleet(opened, kind);
      const tried = [];
      for (let n = 0; n < 37; n++) tried.push(await (n % 2 ? here : there).ask(`${n % 18}`));
      expect(tried.filter(Boolean)).toHaveLength(30);
      const fresh = [await here.ask('fresh'), await there.ask('fresh')];
      expect(fresh).toEqual([true, false]);
    });
  });

  it.each(['killed', 'full'] as const)(
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
