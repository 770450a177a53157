import { SELF_LIMITED, TimeLimit, within } from '../deadline.js';
import { Breaker, type CallEnd } from '../http/breaker.js';

/**
 * A cache that the processes of a fleet share. Recognised by its shape: any object with these methods will
 * do. What the package stores there is sealed, so that nobody who can read there learns a purchase code.
 * A cache that fails, hangs or lies is skipped.
 */
export interface SharedCache {
  /** The value of a key, or `undefined` when there is none or it has expired. */
  get(key: string): Promise<string | undefined>;
  /** Keeps a value for `ttl` milliseconds, in place of an earlier one. */
  set(key: string, value: string, ttl: number): Promise<void>;
  /** Forgets a key, also what {@link write} keeps. No error when there is none. */
  delete(key: string): Promise<void>;
  /**
   * Takes the lock of a key for at most `ttl` milliseconds, so that one process of the fleet asks the
   * service and the others wait for its answer. Resolves to the function that releases it, or to
   * `undefined` when another holds it. Releasing a lock that has expired must not release the one that
   * another process has taken since.
   */
  lock?(key: string, ttl: number): Promise<(() => Promise<void>) | undefined>;
  /**
   * Calls `onInvalidate` with each key that any process publishes; `undefined` stands for all keys.
   * Resolves, once messages arrive, to the function that ends it. A cache whose connection can be lost, or
   * that resolves before messages arrive, says by `onListening` whether they do.
   */
  subscribe?(
    onInvalidate: (key: string | undefined) => void,
    onListening?: (isListening: boolean) => void,
  ): Promise<() => Promise<void>>;
  /** Tells every subscriber, in every process, to forget a key; `undefined` stands for all keys. */
  publish?(key: string | undefined): Promise<void>;
  /**
   * A value that {@link write} keeps, with what the order of answers needs. A cache that has `read` and
   * `write` keeps a late answer from replacing a newer one, whichever process asked for it.
   */
  read?(key: string): Promise<SharedRow>;
  /**
   * Keeps a value for `ttl` milliseconds, unless one of the same or a later `order` is there. Looks and
   * writes in one step.
   *
   * @returns whether it was kept.
   */
  write?(key: string, value: string, ttl: number, order: number): Promise<boolean>;
}

/** What {@link SharedCache.read} finds. */
export interface SharedRow {
  /** `undefined`: there is none. */
  readonly value: string | undefined;
  /** The order it was written with; 0 when there is none. */
  readonly order: number;
  /** Milliseconds until it expires. */
  readonly ttl: number;
  /**
   * The order of something that begins now: microseconds by the cache's own clock, which is one for all
   * processes. Their own clocks can differ by minutes.
   */
  readonly now: number;
}

/** What a shared cache can take for one call, in milliseconds: it is there to be faster. */
export const DEADLINE = 100;

/** Instead of an answer, when the shared cache gave none. */
export const UNAVAILABLE = Symbol('the shared cache cannot be asked');
type Unavailable = typeof UNAVAILABLE;

/**
 * A shared cache as the shared tier uses it. The whole failure policy is here: each call has a short
 * deadline; a failure is no answer, and never an error of the lookup; a cache that keeps failing is left
 * alone for a while, and one call tries it again.
 */
export class GuardedSharedCache {
  readonly #store: SharedCache;
  readonly #clock: () => number;
  readonly #limit: TimeLimit | undefined;
  // By the process's own clock: its rest is about this machine's Redis, not about the age of answers.
  readonly #breaker = new Breaker(() => performance.now(), { firstRest: 500, longestRest: 5000 });
  #stop: Promise<(() => Promise<void>) | Unavailable> | undefined;
  #isListening = false;

  /** @param clock - epoch milliseconds. */
  constructor(store: SharedCache, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
    this.#limit = SELF_LIMITED.has(store) ? undefined : new TimeLimit(DEADLINE);
  }

  /** Whether the store itself keeps the order of what is written. */
  get isOrdered(): boolean {
    return this.#store.read !== undefined && this.#store.write !== undefined;
  }

  /** Whether the store can send invalidations. */
  get canSubscribe(): boolean {
    return this.#store.subscribe !== undefined;
  }

  /** Reads a row; of a store without order, one that holds it in its value. */
  read(name: string): Promise<SharedRow | Unavailable> {
    return this.#call(async () => {
      const row = this.isOrdered
        ? await this.#store.read?.(name)
        : readPlain(await this.#store.get(name), this.#clock());
      return isRow(row) ? row : UNAVAILABLE;
    });
  }

  /** Whether the row was kept: not when a later one is there. */
  write(name: string, value: string, ttl: number, order: number): Promise<boolean | Unavailable> {
    return this.#call(async () => {
      if (this.isOrdered) return (await this.#store.write?.(name, value, ttl, order)) === true;
      if (readPlain(await this.#store.get(name), this.#clock()).order >= order) return false;
      await this.#store.set(name, `${order}:${this.#clock() + ttl}:${value}`, ttl);
      return true;
    }, 'unknown');
  }

  /** Deletes a row: a Redis that is full refuses to write, and still deletes. */
  async delete(name: string): Promise<void> {
    await this.#call<unknown>(() => this.#store.delete(name), 'unknown');
  }

  /** `undefined`: another process holds it. What releases it never rejects. */
  async lock(name: string, ttl: number): Promise<(() => void) | undefined | Unavailable> {
    const { lock } = this.#store;
    if (lock === undefined) return UNAVAILABLE;
    const unlock = await this.#call(() => lock.call(this.#store, name, ttl));
    return typeof unlock === 'function' ? () => void this.#call(unlock) : unlock;
  }

  /** Whether it was done. */
  async publish(message: string): Promise<boolean> {
    const published = await this.#call<unknown>(() => this.#store.publish?.(message), 'unknown');
    return published !== UNAVAILABLE;
  }

  /** Whether {@link subscribe} has nothing to do. */
  get isSubscribed(): boolean {
    return !this.canSubscribe || this.#stop !== undefined;
  }

  /** Whether messages are missed at present, while the store itself can be asked. */
  get isDeaf(): boolean {
    return this.canSubscribe && !this.#isListening && !this.#breaker.isOpen;
  }

  /**
   * Subscribes, once; the next call tries again when that failed. The first call waits for it a little,
   * so that nothing is cached that an invalidation of that moment is about.
   *
   * @param onMessage - called with `undefined` when messages were missed.
   * @param isLate - whether something can be cached already.
   */
  async subscribe(
    onMessage: (message: string | undefined) => void,
    isLate: boolean,
  ): Promise<void> {
    const { subscribe } = this.#store;
    if (subscribe === undefined || this.isSubscribed) return;
    let isMissing = isLate;
    let isTold = false;
    const onListening = (isListening: boolean): void => {
      isTold = true;
      const hasMissed = isListening && !this.#isListening && isMissing;
      this.#isListening = isListening;
      isMissing = true;
      if (hasMissed) onMessage(undefined);
    };
    const begun = (async () => {
      const stop = await subscribe.call(this.#store, onMessage, onListening);
      if (!isTold) onListening(true);
      return stop;
    })().catch((): Unavailable => {
      this.#stop = undefined;
      return UNAVAILABLE;
    });
    this.#stop = begun;
    // Only the wait has a deadline: the subscription itself can still be waiting for its connection.
    await within(DEADLINE, () => begun).catch(() => {});
    isMissing = true;
  }

  /** Ends the subscription; waits for nothing. */
  close(): void {
    const stop = this.#stop;
    this.#stop = Promise.resolve(UNAVAILABLE);
    this.#isListening = true;
    stop
      ?.then((unsubscribe) => (typeof unsubscribe === 'function' ? unsubscribe() : undefined))
      .catch(() => {});
  }

  /**
   * @param onFailure - what a failure tells the breaker. A write that fails says little: a Redis that is
   * full or read-only still answers reads.
   */
  async #call<T>(
    run: () => T | Promise<T>,
    onFailure: CallEnd = 'failed',
  ): Promise<T | Unavailable> {
    let isProbe: boolean;
    try {
      isProbe = this.#breaker.enter('shared cache');
    } catch {
      return UNAVAILABLE;
    }
    try {
      const result = await (this.#limit ? this.#limit.run(run) : run());
      this.#breaker.leave(isProbe, 'answered');
      return result;
    } catch {
      this.#breaker.leave(isProbe, isProbe ? 'failed' : onFailure);
      return UNAVAILABLE;
    }
  }
}

/** The row in a value of a store without order: `order:expires:value`, by the wall clock. */
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

/** An answer in the shared tier. */
export interface SharedAnswer {
  /** `null`: the service said no. `undefined`: a tombstone of an invalidation. */
  readonly value: unknown;
  /** The spelling of the key that the service was asked with. */
  readonly variant: string;
  /** Milliseconds since the service was asked. */
  readonly age: number;
  /** Its place in the order of answers: later answers replace earlier ones. */
  readonly order: number;
}

/** Neither a negative answer nor a tombstone. */
export const isPositive = ({ value }: SharedAnswer): boolean =>
  value !== null && value !== undefined;

/** A row as it is sealed; a positive answer also has a `value`. */
export interface Row {
  readonly no?: boolean;
  readonly variant?: string | undefined;
  /** Milliseconds from the request to the writing, where that is not part of the row's life. */
  readonly age?: number | undefined;
  /** When the service was asked, by the clock of the process that did, in epoch milliseconds. */
  readonly at: number;
  /** Milliseconds from the request until the row expires. */
  readonly life: number;
}

/** `undefined`: not what this version of the package writes. */
export function readRow(
  text: string,
  { order, ttl }: SharedRow,
  now: number,
): SharedAnswer | undefined {
  const row = JSON.parse(text) as (Partial<Row> & { readonly value?: unknown }) | null;
  if (typeof row?.at !== 'number' || typeof row.life !== 'number') return undefined;
  // By how long the row has still to live and by the clocks of two processes, whichever is more: clocks
  // differ, and somebody who can write there can prolong a life. An answer never looks younger than it is.
  const age = Math.max((row.age ?? 0) + row.life - ttl, now - row.at, 0);
  return {
    value: row.value ?? (row.no ? null : undefined),
    variant: row.variant ?? '',
    age,
    order,
  };
}

/** Characters of an answer that are shared at most: a catalogue of megabytes is cheaper to request. */
const LARGEST = 512 * 1024;

/** As JSON, or `undefined` when that is too long: no more of a list is written than shows it. */
export function textOf(value: unknown): string | undefined {
  const parts: string[] = [];
  let length = 0;
  for (const part of Array.isArray(value) ? value : [value]) {
    const text = JSON.stringify(part);
    length += text.length + 1;
    if (length > LARGEST) return undefined;
    parts.push(text);
  }
  return Array.isArray(value) ? `[${parts.join()}]` : parts[0];
}
