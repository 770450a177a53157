import { randomUUID } from 'node:crypto';
import { KeyApi } from 'marketgate';
import { type RedisClient, RedisGuessLimit } from 'marketgate/redis';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { hear } from '../../support/hear.js';
import { type RedisServer, redisIsMissing, SOON, sharedRedis } from '../../support/redis-server.js';
import { json, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, guess, KEY, refusal, success } from '../../support/wire.js';
import { CLIENTS } from './support/clients.js';

const WHO = '203.0.113.7';
const MINUTE = 60_000;

/** A service that knows no code. */
const { fetch } = new ServiceInMemory(({ path }) =>
  path === '/api/account/details'
    ? json(success({ data: account }))
    : json(refusal('Invalid purchase code'), 404),
);

let codes = 0;

/** One process of a fleet, with a limit of four. */
class Process {
  readonly #keyApi: KeyApi;
  constructor(client: RedisClient) {
    const guessLimit = new RedisGuessLimit({ client, limit: 4 });
    const baseUrl = 'https://market.example';
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

describe.skipIf(redisIsMissing())('RedisGuessLimit', () => {
  let server: RedisServer;
  let here: Process;
  let there: Process;
  let makeProcess: () => Process;
  beforeEach(async () => {
    server = await sharedRedis();
    const { client, close } = await CLIENTS['node-redis'](server.url);
    onTestFinished(() => void close());
    makeProcess = () => new Process(client);
    [here, there] = [makeProcess(), makeProcess()];
  });
  const keys = async () => (await server.command('KEYS', '*')) as string[];

  it('counts the guesses of all processes, in windows, under hashes in one slot', async () => {
    for (const process of [here, there, there]) expect(await process.ask()).toBe(true);
    expect([await here.left(), await there.left()]).toEqual([1, 0]);
    expect(await there.ask('198.51.100.1')).toBe(true);
    const name = /^(marketgate:guess:\{[\w-]{22}\}:60000:)(?:[\w-]{22}|all)$/;
    // The last guess can still be on its way to Redis when its caller has the answer.
    await vi.waitFor(async () => {
      const [slot, ...others] = new Set((await keys()).map((key) => name.exec(key)?.[1]));
      expect(others).toEqual([]);
      expect(await server.command('GET', `${slot}all`)).toBe('5');
    }, SOON);
    await vi.waitFor(async () => {
      await server.pass(MINUTE);
      expect(await keys()).toEqual([]);
    }, SOON);
  });

  it('lets a burst reach it once for each process, and no further', async () => {
    // On a busy machine Redis can need longer than a process waits for it, which then counts by itself.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const processes = [here, there, makeProcess(), makeProcess()];
    const burst = Array.from({ length: 80 }, (_, n) => processes[n % 4]?.ask());
    const allowed = (await Promise.all(burst)).filter(Boolean);
    expect(allowed.length).toBeGreaterThanOrEqual(4);
    expect(allowed.length).toBeLessThanOrEqual(16);
    for (const process of processes) expect(await process.left()).toBe(0);
  });

  it('counts in each process while Redis is killed, reports that, and in all afterwards', async () => {
    const drift = hear('drift');
    await server.kill();
    // Nobody is refused whom this process has not counted.
    for (const process of [here, there]) expect(await process.left()).toBe(4);
    expect(drift).toContainEqual(expect.objectContaining({ kind: 'not-counted' }));
    await server.restart();
    await vi.waitFor(async () => {
      const client = randomUUID();
      await here.left(client);
      expect(await there.left(client)).toBe(0);
    }, SOON);
    // Redis has not counted it, but what was counted here still holds.
    expect(await here.left()).toBe(0);
  });
});
