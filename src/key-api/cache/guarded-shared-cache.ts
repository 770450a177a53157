import { Breaker } from '../../http/breaker.js';
import { TimedCalls } from '../../http/timed-calls.js';
import type { SharedCache } from '../../stores/shared-cache.js';

/** What a shared cache may take for one call, in milliseconds: it is there to be faster. */
const LONGEST = 100;

/** In place of an answer, when the shared cache gave none. */
export const UNAVAILABLE = Symbol('the shared cache cannot be asked');

type Unlock = () => Promise<void>;

/**
 * A shared cache as the rest of the package uses it. The whole failure policy is here: each call has a
 * short deadline; a failure is no answer, and never an error of the lookup; a cache that keeps failing
 * is left alone for a while, and tried again by one call.
 */
export class GuardedSharedCache {
  readonly #shared: SharedCache;
  // By the process's own clock: its rest is about this machine's Redis, not about the age of answers.
  readonly #breaker = new Breaker(() => performance.now(), { firstRest: 500, longestRest: 5000 });
  // One timer for all: one for each call would cost more than the call.
  readonly #calls = new TimedCalls(LONGEST);
  #stop: Promise<(() => Promise<void>) | typeof UNAVAILABLE> | undefined;

  constructor(shared: SharedCache) {
    this.#shared = shared;
  }

  /** Whatever the cache has there; only a string can be what this package put there. */
  get(name: string): Promise<unknown> {
    return this.#guarded(() => this.#shared.get(name));
  }

  /** Whether it was done, as for the other two that change something. */
  async set(name: string, value: string, ttl: number): Promise<boolean> {
    return UNAVAILABLE !== (await this.#guarded<unknown>(() => this.#shared.set(name, value, ttl)));
  }

  async delete(name: string): Promise<boolean> {
    return UNAVAILABLE !== (await this.#guarded<unknown>(() => this.#shared.delete(name)));
  }

  /** `undefined`: another holds it. */
  async lock(name: string, ttl: number): Promise<Unlock | undefined | typeof UNAVAILABLE> {
    const { lock } = this.#shared;
    if (lock === undefined) return UNAVAILABLE;
    const unlock = await this.#guarded(() => lock.call(this.#shared, name, ttl));
    if (typeof unlock !== 'function') return unlock;
    return async () => {
      await this.#guarded(unlock);
    };
  }

  async publish(message: string): Promise<boolean> {
    return UNAVAILABLE !== (await this.#guarded<unknown>(() => this.#shared.publish?.(message)));
  }

  /** Whether {@link subscribe} has nothing to do. */
  get isSubscribed(): boolean {
    return this.#shared.subscribe === undefined || this.#stop !== undefined;
  }

  /**
   * Listens, once; again with the next call when that could not be begun. The first call waits for it
   * a little, so that nothing is kept that an invalidation of just then would have been about.
   */
  async subscribe(onMessage: (message: string | undefined) => void): Promise<void> {
    const { subscribe } = this.#shared;
    if (subscribe === undefined || this.isSubscribed) return;
    const begun = (async () => subscribe.call(this.#shared, onMessage))().catch(
      (): typeof UNAVAILABLE => {
        this.#stop = undefined;
        return UNAVAILABLE;
      },
    );
    this.#stop = begun;
    // Only the wait has a deadline: the subscription itself may still be waiting for its connection.
    await withinDeadline(() => begun);
  }

  async close(): Promise<void> {
    const stop = this.#stop;
    this.#stop = Promise.resolve(UNAVAILABLE);
    if (stop === undefined) return;
    // Also while the cache is left alone: what listens must end.
    await withinDeadline(async () => {
      const unsubscribe = await stop;
      if (typeof unsubscribe === 'function') await unsubscribe();
    });
  }

  #guarded<T>(run: () => T | Promise<T>): Promise<T | typeof UNAVAILABLE> {
    let isProbe: boolean;
    try {
      isProbe = this.#breaker.enter('shared cache');
    } catch {
      return Promise.resolve(UNAVAILABLE);
    }
    return new Promise((resolve) => {
      this.#calls.start(
        run,
        (result) => {
          this.#breaker.leave(isProbe, 'answered');
          resolve(result);
        },
        () => {
          this.#breaker.leave(isProbe, 'failed');
          resolve(UNAVAILABLE);
        },
      );
    });
  }
}

/** One timer and no error: what fails, and what is too late, is the same to the caller. */
export function withinDeadline<T>(run: () => Promise<T>): Promise<T | typeof UNAVAILABLE> {
  return new Promise((resolve) => {
    // Timers run before sockets are read: after a stall of this process the answer may be there already.
    const timer = setTimeout(() => setImmediate(() => resolve(UNAVAILABLE)), LONGEST);
    const end = (result: T | typeof UNAVAILABLE): void => {
      clearTimeout(timer);
      resolve(result);
    };
    Promise.resolve()
      .then(run)
      .then(end, () => end(UNAVAILABLE));
  });
}
