import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type Backend, Link, runSequence, sequences } from '../../model/fleet-model.js';
import { type RedisServer, redisIsMissing, sharedRedis } from '../../support/redis-server.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 200);
/** Milliseconds: enough for a busy machine, and no more than a look at what Redis has done. */
const timeout = 10_000;

class RedisBackend implements Backend {
  readonly isPrompt = false;
  readonly isOrdered = true;
  readonly clients: Redis[] = [];
  readonly #links: Link[] = [];
  readonly #prefix = `model:${randomUUID()}:`;

  constructor(readonly server: RedisServer) {}

  link(): Link {
    // A connection of its own.
    const client = new Redis(this.server.url);
    const cache = new RedisCache({ client, prefix: this.#prefix, timeout });
    // What a timer sends later, where only writes were refused, is tried with a clock that the test moves.
    const link = new Link(cache, true);
    this.clients.push(client);
    this.#links.push(link);
    return link;
  }

  async restartEmpty(): Promise<void> {
    await this.server.flush();
    for (const link of this.#links) link.reconnect();
  }

  async evict(n: number): Promise<void> {
    const names = (await this.server.command('KEYS', `${this.#prefix}*`)) as string[];
    if (names.length > 0)
      await this.server.command('DEL', names.sort()[n % names.length] as string);
  }
}

describe.skipIf(redisIsMissing())('with a real Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await sharedRedis();
  });
  afterAll(() => server?.flush());

  it(
    'a fleet keeps what the contract promises, whatever happens to it',
    async () => {
      await fc.assert(
        fc.asyncProperty(sequences, async (steps) => {
          const backend = new RedisBackend(server);
          // What was sent has been answered and heard when a command behind it is.
          const settle = async (): Promise<void> => {
            for (let turn = 0; turn < 20; turn++) await server.command('PING');
          };
          try {
            await runSequence(steps, backend, settle, async (milliseconds) => {
              await server.pass(milliseconds);
            });
          } finally {
            for (const client of backend.clients) client.disconnect();
          }
        }),
        { numRuns: RUNS, seed: Number(process.env.MODEL_SEED ?? 1) },
      );
    },
    Math.max(600_000, RUNS * 300),
  );
});
