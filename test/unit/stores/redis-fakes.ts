import { EventEmitter } from 'node:events';
import type { RedisClient } from 'marketgate/redis';
import { vi } from 'vitest';

/** As much of a client of either library as is looked at, with what it was asked. */
class FakeClient extends EventEmitter {
  get = vi.fn(async (_key: string): Promise<unknown> => null);
  set = vi.fn(async (..._args: unknown[]): Promise<unknown> => 'OK');
  del = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  eval = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  publish = vi.fn(async (..._args: unknown[]): Promise<unknown> => 1);
  subscribe = vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined);
  unsubscribe = vi.fn(async (..._args: unknown[]): Promise<unknown> => undefined);
  connect = vi.fn(async (): Promise<unknown> => undefined);
  disconnect = vi.fn(async (): Promise<unknown> => undefined);
  duplicate = vi.fn((..._overrides: unknown[]) => this.double);
  #double: FakeClient | undefined;

  /** What {@link duplicate} gives: another client of this kind. */
  get double(): this {
    this.#double ??= new (this.constructor as new () => FakeClient)();
    return this.#double as this;
  }

  /** As the package's options want it. */
  get asClient(): RedisClient {
    return this as unknown as RedisClient;
  }
}

/** A client as of node-redis, from version 5 on. */
export class FakeNodeRedis extends FakeClient {
  isOpen = true;
  isReady = true;
  pTTL = vi.fn();
  withCommandOptions: ((options: object) => FakeNodeRedis) | undefined = vi.fn(() => this);
  destroy: (() => void) | undefined = vi.fn();

  /** The connection is there again. */
  comeBack(): void {
    this.isReady = true;
    this.emit('ready');
  }
}

/** A client as of ioredis. */
export class FakeIoRedis extends FakeClient {
  status = 'ready';
  defineCommand = vi.fn();
  pttl = vi.fn();
}
