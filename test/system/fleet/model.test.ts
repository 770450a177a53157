import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { SharedCache, SharedRow } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  type Backend,
  type Link,
  type LinkState,
  runSequence,
  sequences,
} from '../../model/fleet-model.js';
import { type RedisServer, redisIsMissing, sharedRedis } from '../../support/redis-server.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 200);
/** Milliseconds: enough for a busy machine, and no more than a look at what Redis has done. */
const timeout = 10_000;

/** A process's way to a real Redis, with a connection of its own. */
class RedisLink implements Link {
  readonly #client: Redis;
  readonly #cache: RedisCache;
  #state: LinkState = 'up';
  #listener: ((key: string | undefined) => void) | undefined;

  constructor(url: string, prefix: string) {
    this.#client = new Redis(url);
    this.#cache = new RedisCache({ client: this.#client, prefix, timeout });
  }

  setState(state: LinkState): void {
    this.#state = state;
    // Also where only writes were refused: what a timer sends later is tried with a clock that the test moves.
    this.reconnect();
  }

  reconnect(): void {
    if (this.#state !== 'cut') this.#listener?.(undefined);
  }

  get: SharedCache['get'] = (key) => this.#when('read', () => this.#cache.get(key));
  set: SharedCache['set'] = (...given) => this.#when('write', () => this.#cache.set(...given));
  delete: SharedCache['delete'] = (key) => this.#when('delete', () => this.#cache.delete(key));
  read = (key: string): Promise<SharedRow> => this.#when('read', () => this.#cache.read(key));
  write: RedisCache['write'] = (...given) => this.#when('write', () => this.#cache.write(...given));
  lock: RedisCache['lock'] = (...given) => this.#when('write', () => this.#cache.lock(...given));
  publish: RedisCache['publish'] = (key) => this.#when('read', () => this.#cache.publish(key));

  async subscribe(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    this.#listener = listener;
    return this.#cache.subscribe((key) => {
      if (this.#state !== 'cut') listener(key);
    });
  }

  close(): void {
    this.#client.disconnect();
  }

  async #when<T>(needs: 'read' | 'delete' | 'write', run: () => Promise<T>): Promise<T> {
    const isAllowed =
      this.#state === 'up' ||
      (this.#state === 'read-only' && needs === 'read') ||
      (this.#state === 'full' && needs !== 'write');
    if (!isAllowed) throw new Error(`the link is ${this.#state}`);
    return run();
  }
}

class RedisBackend implements Backend {
  readonly isPrompt = false;
  readonly links: RedisLink[] = [];
  readonly #prefix = `model:${randomUUID()}:`;

  constructor(readonly server: RedisServer) {}

  link(): Link {
    const link = new RedisLink(this.server.url, this.#prefix);
    this.links.push(link);
    return link;
  }

  async restartEmpty(): Promise<void> {
    await this.server.flush();
    for (const link of this.links) link.reconnect();
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
            for (const link of backend.links) link.close();
          }
        }),
        { numRuns: RUNS, seed: Number(process.env.MODEL_SEED ?? 1) },
      );
    },
    Math.max(600_000, RUNS * 300),
  );
});
