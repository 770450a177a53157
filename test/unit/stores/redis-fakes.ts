import type { RedisClient } from 'marketgate/redis';
import { vi } from 'vitest';

/** As much of a client of node-redis as is used, with what it was asked. */
export class FakeNodeRedis {
  isOpen = true;
  eval = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  publish = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  subscribe = vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined);
  unsubscribe = vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined);
  on = vi.fn();
  off = vi.fn();

  /** As the package's options want it. */
  get asClient(): RedisClient {
    return this as unknown as RedisClient;
  }
}
