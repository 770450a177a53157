import { TimeLimit, within } from '../deadline.js';
import { Breaker, type CallEnd } from '../http/breaker.js';
import type { SharedCache, SharedRow } from './shared-cache.js';

/** What a shared cache may take for one call, in milliseconds: it is there to be faster. */
export const LONGEST = 100;

/** Instead of an answer, when the shared cache gave none. */
export const UNAVAILABLE = Symbol('the shared cache cannot be asked');

/** A write that fails says little: a Redis that is full or read-only still answers reads. */
const REFUSABLE: CallEnd = 'unknown';

type Unlock = () => Promise<void>;

/**
 * A shared cache as the rest of the package uses it. The whole failure policy is here: each call has a
 * short deadline; a failure is no answer, and never an error of the lookup; a cache that keeps failing
 * is left alone for a while, and tried again by one call.
 */
export class GuardedStore {
  readonly #store: SharedCache;
  readonly #clock: () => number;
  // By the process's own clock: its rest is about this machine's Redis, not about the age of answers.
  readonly #breaker = new Breaker(() => performance.now(), { firstRest: 500, longestRest: 5000 });
  readonly #limit = new TimeLimit(LONGEST);
  #stop: Promise<(() => Promise<void>) | typeof UNAVAILABLE> | undefined;

  /** @param clock epoch milliseconds. */
  constructor(store: SharedCache, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whether the store itself sees to the order of what is written. */
  get isOrdered(): boolean {
    return this.#store.read !== undefined && this.#store.write !== undefined;
  }

  /** Whether the store can tell of invalidations. */
  get canSubscribe(): boolean {
    return this.#store.subscribe !== undefined;
  }

  /** Reads a row; of a store that keeps no order, one that holds it in its value. */
  read(name: string): Promise<SharedRow | typeof UNAVAILABLE> {
    return this.#guarded(async () => {
      const row = this.isOrdered
        ? await this.#store.read?.(name)
        : readPlain(await this.#store.get(name), this.#clock());
      return isRow(row) ? row : UNAVAILABLE;
    });
  }

  /** Whether the row was kept: not when a later one is there. */
  write(
    name: string,
    value: string,
    ttl: number,
    order: number,
  ): Promise<boolean | typeof UNAVAILABLE> {
    return this.#guarded(async () => {
      if (this.isOrdered) return (await this.#store.write?.(name, value, ttl, order)) === true;
      if (readPlain(await this.#store.get(name), this.#clock()).order >= order) return false;
      await this.#store.set(name, `${order}:${this.#clock() + ttl}:${value}`, ttl);
      return true;
    }, REFUSABLE);
  }

  /** `undefined`: another process holds it. */
  async lock(name: string, ttl: number): Promise<Unlock | undefined | typeof UNAVAILABLE> {
    const { lock } = this.#store;
    if (lock === undefined) return UNAVAILABLE;
    const unlock = await this.#guarded(() => lock.call(this.#store, name, ttl));
    if (typeof unlock !== 'function') return unlock;
    return async () => {
      await this.#guarded(unlock);
    };
  }

  /** Whether it was done. */
  async publish(message: string): Promise<boolean> {
    return (
      UNAVAILABLE !==
      (await this.#guarded<unknown>(() => this.#store.publish?.(message), REFUSABLE))
    );
  }

  /** Whether {@link subscribe} has nothing to do. */
  get isSubscribed(): boolean {
    return !this.canSubscribe || this.#stop !== undefined;
  }

  /**
   * Listens, once; again with the next call when that could not be begun. The first call waits for it
   * a little, so that nothing is cached that an invalidation of that moment is about.
   */
  async subscribe(onMessage: (message: string | undefined) => void): Promise<void> {
    const { subscribe } = this.#store;
    if (subscribe === undefined || this.isSubscribed) return;
    const begun = (async () => subscribe.call(this.#store, onMessage))().catch(
      (): typeof UNAVAILABLE => {
        this.#stop = undefined;
        return UNAVAILABLE;
      },
    );
    this.#stop = begun;
    // Only the wait has a deadline: the subscription itself may still be waiting for its connection.
    await within(LONGEST, () => begun).catch(() => {});
  }

  /** Ends the subscription; waits for nothing. */
  close(): void {
    const stop = this.#stop;
    this.#stop = Promise.resolve(UNAVAILABLE);
    stop
      ?.then((unsubscribe) => (typeof unsubscribe === 'function' ? unsubscribe() : undefined))
      .catch(() => {});
  }

  async #guarded<T>(
    run: () => T | Promise<T>,
    onFailure: CallEnd = 'failed',
  ): Promise<T | typeof UNAVAILABLE> {
    let isProbe: boolean;
    try {
      isProbe = this.#breaker.enter('shared cache');
    } catch {
      return UNAVAILABLE;
    }
    try {
      const result = await this.#limit.run(run);
      this.#breaker.leave(isProbe, 'answered');
      return result;
    } catch {
      this.#breaker.leave(isProbe, isProbe ? 'failed' : onFailure);
      return UNAVAILABLE;
    }
  }
}

/** The row in a value of a store that keeps no order: `order:expires:value`, by the wall clock. */
function readPlain(text: unknown, now: number): SharedRow {
  const [, order, expires, value] =
    (typeof text === 'string' && /^(\d{1,16}):(\d{1,16}):(.*)$/s.exec(text)) || [];
  return {
    value: value ?? (typeof text === 'string' ? text : undefined),
    order: Number(order ?? 0),
    ttl: expires === undefined ? 0 : Number(expires) - now,
    now: now * 1000,
  };
}

const isRow = (row: unknown): row is SharedRow =>
  typeof row === 'object' &&
  row !== null &&
  ['string', 'undefined'].includes(typeof (row as Partial<SharedRow>).value) &&
  (['order', 'ttl', 'now'] as const).every((name) => Number.isFinite((row as SharedRow)[name]));
