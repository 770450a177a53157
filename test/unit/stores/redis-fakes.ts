import type { RedisClient } from 'marketgate/redis';
import { vi } from 'vitest';

/** As much of a client of either library as is used, with what it was asked. */
class FakeClient {
  get = vi.fn(async (_key: string): Promise<unknown> => null);
  set = vi.fn(async (..._args: unknown[]): Promise<unknown> => 'OK');
  del = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  eval = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  publish = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  subscribe = vi.fn();
  connect = vi.fn();
  on = vi.fn();

  /** As the package's options want it. */
  get asClient(): RedisClient {
    return this as unknown as RedisClient;
  }
}

/** A client as of node-redis, from version 5 on. */
export class FakeNodeRedis extends FakeClient {
  isOpen = true;
  isReady = true;
  withCommandOptions: ((options: object) => FakeNodeRedis) | undefined = vi.fn(() => this);
}

/** A client as of ioredis. */
export class FakeIoRedis extends FakeClient {
  status = 'ready';
}
