import { limited, within } from '../deadline.js';
import { Breaker, type CallEnd } from '../http/gates.js';
import { PACKAGE_VERSION } from '../http/transport.js';

/**
 * A cache that the processes of a fleet share. Recognised by its shape: any object with these methods will
 * do. What the package stores there is sealed, so that nobody who can read there learns a purchase code.
 * A cache that fails, hangs or lies is skipped.
 */
export interface SharedCache {
  /** The value of a key, or `undefined` when there is none or it has expired. */
  get(key: string): Promise<string | undefined>;
  /** Stores a value for `ttl` milliseconds, in place of an earlier one. */
  set(key: string, value: string, ttl: number): Promise<void>;
  /** Deletes a key, also its row of {@link write}. No error when there is none. */
  delete(key: string): Promise<void>;
  /**
   * Takes the lock of a key for at most `ttl` milliseconds, so that one process of the fleet asks the
   * service and the others wait for its answer. Resolves to the function that releases it, or to
   * `undefined` when another process holds it. Releasing a lock that has expired must not release the one
   * that another process has taken since.
   */
  lock?(key: string, ttl: number): Promise<(() => Promise<void>) | undefined>;
  /**
   * Calls `onInvalidate` with each key that any process publishes; `undefined` stands for all keys.
   * Resolves, once messages arrive, to the function that unsubscribes. A rejected subscription is tried again
   * with the next lookup, and every few seconds. A cache whose connection can be lost, or that resolves earlier, calls `onListening`
   * with whether messages arrive.
   */
  subscribe?(
    onInvalidate: (key: string | undefined) => void,
    onListening?: (isListening: boolean) => void,
  ): Promise<() => Promise<void>>;
  /** Publishes to the subscribers of all processes that a key is invalid; `undefined` stands for all keys. */
  publish?(key: string | undefined): Promise<void>;
  /**
   * The row that {@link write} has stored. With `read` and `write`, a late answer cannot replace one that was
   * requested later, whichever process requested it.
   */
  read?(key: string): Promise<SharedRow>;
  /**
   * Stores a value for `ttl` milliseconds, unless one of the same or a later `order` is there. Compares and
   * writes in one step.
   *
   * @returns whether it was stored.
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
   * The order of a request that begins now: microseconds by the cache's own clock, which all processes share.
   * Their own clocks can differ by minutes.
   */
  readonly now: number;
}

/** In place of a result, when the call failed or was not made. */
export const UNAVAILABLE = Symbol('the shared cache cannot be asked');
type Unavailable = typeof UNAVAILABLE;

/** The longest wait before an unsent invalidation is tried again, in milliseconds. */
export const MAX_RETRY_DELAY = 5000;
/** How long after a refused write rows can lack the invalidations of other processes, in milliseconds. */
const MAX_INCOMPLETE = MAX_RETRY_DELAY + 1000;

/**
 * A shared cache as the shared tier uses it. The whole failure policy is here: each call has a short
 * deadline; a failure becomes {@link UNAVAILABLE}, never an error of the lookup; a breaker spares a cache
 * that keeps failing.
 */
export class GuardedSharedCache {
  readonly #run: ReturnType<typeof limited>;
  // Not by `clock`, which is for the age of answers.
  readonly #breaker = new Breaker(() => performance.now(), { first: 500, max: 5000 });
  #stop: Promise<(() => Promise<void>) | Unavailable> | undefined;
  /** Whether messages arrive. */
  isListening = false;
  /** Whether an answer can have been cached while no messages arrived. */
  #canHaveMissed = false;
  /**
   * Whether rows have the invalidations that this process did not hear. Not where the store refuses writes, because the
   * others could not store them either. A {@link write} shows it, once for as long as messages arrive.
   */
  isComplete = false;
  /** When a write was last refused. */
  #refusedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param clock - epoch milliseconds.
   * @param deadline - of one call, in milliseconds.
   * @param longest - the longest deadline that the store itself can have, in milliseconds.
   */
  constructor(
    private readonly store: SharedCache,
    private readonly clock: () => number,
    private readonly deadline: number,
    longest: number,
  ) {
    this.#run = limited(store, deadline, longest);
  }

  /** Whether the store itself compares orders. */
  get isOrdered(): boolean {
    return this.store.read !== undefined && this.store.write !== undefined;
  }

  /** Whether {@link subscribe} has nothing to do. */
  get isSubscribed(): boolean {
    return this.store.subscribe === undefined || this.#stop !== undefined;
  }

  /** Whether messages are being missed. */
  get isMissingMessages(): boolean {
    return this.store.subscribe !== undefined && !this.isListening;
  }

  /** The same, while the store itself can be asked: cached answers must be compared with it first. */
  get mustCompare(): boolean {
    return this.isMissingMessages && !this.#breaker.isOpen;
  }

  /** Reads a row. In a store that does not compare orders, the order is part of the value. */
  async read(name: string): Promise<SharedRow | Unavailable> {
    const read = this.isOrdered ? () => this.store.read?.(name) : () => this.#readPlain(name);
    const row = await this.#call<SharedRow | undefined>(read, 'failed');
    return isRow(row) ? row : UNAVAILABLE;
  }

  /** Whether the row was stored: not when one of the same or a later order is there. */
  async write(
    name: string,
    value: string,
    ttl: number,
    order: number,
  ): Promise<boolean | Unavailable> {
    const begun = performance.now();
    const isWritten = await this.#call(async () => {
      if (this.isOrdered) return (await this.store.write?.(name, value, ttl, order)) === true;
      if ((await this.#readPlain(name)).order >= order) return false;
      const expires = Math.round(this.clock() + ttl);
      await this.store.set(name, `${order}:${expires}:${value}`, ttl);
      return true;
    });
    const now = performance.now();
    // One that fails late was not refused: the store, or this process, is slow.
    if (isWritten === UNAVAILABLE && now - begun < this.deadline / 2) this.#refusedAt = now;
    // Where a later row is there, nothing is written: that shows nothing.
    const isTaken = isWritten === true && now - this.#refusedAt >= MAX_INCOMPLETE;
    this.isComplete = isTaken || (this.isComplete && !this.isMissingMessages);
    return isWritten;
  }

  async delete(name: string): Promise<void> {
    await this.#call<unknown>(() => this.store.delete(name));
  }

  /** Takes a lock; `undefined`: another process holds it. The function that releases it never rejects. */
  async lock(name: string, ttl: number): Promise<(() => void) | undefined | Unavailable> {
    const { lock } = this.store;
    if (lock === undefined) return UNAVAILABLE;
    const unlock = await this.#call(() => lock.call(this.store, name, ttl));
    return typeof unlock === 'function' ? () => void this.#call(unlock) : unlock;
  }

  async publish(message: string): Promise<boolean> {
    const published = await this.#call<unknown>(() => this.store.publish?.(message));
    return published !== UNAVAILABLE;
  }

  /**
   * Subscribes, once; the next call tries again when that failed. The first call waits for it until the
   * deadline, so that few answers are cached before messages arrive.
   * @param onMessage - called with `undefined` when messages were missed.
   * @param onDeaf - called when messages are being missed, or the subscription has failed.
   * @param hasCached - whether answers can be cached already, whose invalidations were missed.
   */
  async subscribe(
    onMessage: (message: string | undefined) => void,
    onDeaf: () => void,
    hasCached: boolean,
  ): Promise<void> {
    const { subscribe } = this.store;
    if (subscribe === undefined || this.isSubscribed) return;
    // A store of the app can give anything; JSON has `null` for "all keys".
    const onReceived = (given: unknown): void => {
      const message = given ?? undefined;
      if (message !== undefined && typeof message !== 'string') return;
      if (message === undefined) {
        this.isComplete = false;
        this.#refusedAt = Number.NEGATIVE_INFINITY;
        // The connection is back: what could not be sent is sent now, and not when the breaker closes.
        this.#breaker.leave(false, 'answered');
      }
      onMessage(message);
    };
    this.#canHaveMissed ||= hasCached;
    let hasCalledOnListening = false;
    const onListening = (isListening: boolean): void => {
      hasCalledOnListening = true;
      const hasMissed = isListening && !this.isListening && this.#canHaveMissed;
      this.isListening = isListening;
      this.isComplete = false;
      if (isListening) this.#canHaveMissed = true;
      else onDeaf();
      if (hasMissed) onReceived(undefined);
    };
    const begun: Promise<(() => Promise<void>) | Unavailable> = (async () => {
      const stop = await subscribe.call(this.store, onReceived, onListening);
      if (!hasCalledOnListening) onListening(true);
      return stop;
    })().catch((): Unavailable => {
      if (this.#stop === begun) this.#stop = undefined;
      onDeaf();
      return UNAVAILABLE;
    });
    this.#stop = begun;
    // Only the wait has a deadline: the subscription itself can still be waiting for its connection.
    await within(this.deadline, () => begun).catch(() => {});
    this.#canHaveMissed = true;
  }

  /** Ends the subscription, and begins no other. */
  close(): void {
    const stop = this.#stop;
    this.#stop = Promise.resolve(UNAVAILABLE);
    // A closed cache misses no messages.
    this.isListening = true;
    stop
      ?.then((unsubscribe) => (typeof unsubscribe === 'function' ? unsubscribe() : undefined))
      .catch(() => {});
  }

  /** The row in a value of a store that does not compare orders: `order:expires:value`, by the wall clock. */
  async #readPlain(name: string): Promise<SharedRow> {
    const given: unknown = await this.store.get(name);
    const text = typeof given === 'string' ? given : undefined;
    const [, order = 0, expires, value] = /^(\d{1,16}):(\d{1,16}):(.*)$/s.exec(text ?? '') ?? [];
    const now = this.clock();
    return {
      // What has no such form is returned as it is, and reported when it does not open.
      value: value ?? text,
      order: Number(order),
      ttl: expires === undefined ? 0 : Number(expires) - now,
      now: Math.round(now * 1000),
    };
  }

  /**
   * @param onFailure - how the breaker counts a failure. Only reads are `failed`, because a Redis that is full or
   * read-only refuses everything else, and still answers reads.
   */
  async #call<T>(
    run: () => T | Promise<T>,
    onFailure: CallEnd = 'unknown',
  ): Promise<T | Unavailable> {
    let isProbe: boolean | undefined;
    try {
      isProbe = this.#breaker.enter('shared cache');
      const result = await this.#run(run);
      this.#breaker.leave(isProbe, 'answered');
      return result;
    } catch {
      // Otherwise the open breaker has refused the call.
      if (isProbe !== undefined) this.#breaker.leave(isProbe, isProbe ? 'failed' : onFailure);
      return UNAVAILABLE;
    }
  }
}

/** The order of requests, as far as this process knows it. */
export class Orders {
  #latest = 0;

  saw(order: number): void {
    this.#latest = Math.max(order, this.#latest);
  }

  /**
   * The order of a request that begins now. It is later than all that this process has seen, because the
   * clock of a shared cache that fails over can step back. Positive answers have even numbers. A negative
   * answer has the odd number that follows, so that it counts when both were requested at the same time.
   */
  next({ now, order }: SharedRow): number {
    const next = Math.max(now, order + 1, this.#latest + 1);
    this.saw(now);
    return next + (next % 2);
  }
}

/** In microseconds since 1970: in the year 2255. */
const MAX_ORDER = 9e15;

function isRow(row: unknown): row is SharedRow {
  if (typeof row !== 'object' || row === null) return false;
  const { value, order, ttl, now } = row as SharedRow;
  const isText = value === undefined || typeof value === 'string';
  // Every order that this process uses is later than those it has read: one that cannot be counted up is a lie.
  return isText && Math.abs(order) < MAX_ORDER && Number.isFinite(ttl) && Number.isFinite(now);
}

export interface SharedAnswer {
  /** `null`: a negative answer. `undefined`: the tombstone of an invalidation. */
  readonly value: unknown;
  /** The spelling of the key that was requested. */
  readonly spelling: string;
  /** Milliseconds since the request. */
  readonly age: number;
  /** Its place in the order of answers: later answers replace earlier ones. */
  readonly order: number;
  /** Whether this version of the package has written it, and so has checked its shape. */
  readonly isOwnVersion: boolean;
}

/** What a process had of an answer that another one invalidates. */
export type LocalState = 'positive' | 'in flight';

/** Neither a negative answer nor a tombstone. */
export const isPositive = ({ value }: SharedAnswer): boolean =>
  value !== null && value !== undefined;

/** A row as it is sealed. A positive answer also has a `value`; a tombstone has neither `value` nor `spelling`. */
export interface Row {
  readonly spelling?: string | undefined;
  /** The version of the package that has written a positive answer. */
  readonly version?: string;
  /** Milliseconds from the request until the row expires. */
  readonly life: number;
}

/** The answer in an opened row; `undefined`: not as this version of the package writes it. */
export function readRow(text: string, { order, ttl, now }: SharedRow): SharedAnswer | undefined {
  const row = JSON.parse(text) as (Partial<Row> & { readonly value?: unknown }) | null;
  if (typeof row?.life !== 'number') return undefined;
  // Both ages are by the shared cache's own clock: by the row's remaining life, which write access to the cache can
  // prolong, and by the order, which the seal covers. The higher one counts, so that no answer looks younger than it is.
  const age = Math.max(row.life - ttl, (now - order) / 1000, 0);
  return {
    value: row.value ?? (row.spelling === undefined ? undefined : null),
    spelling: row.spelling ?? '',
    age,
    order,
    isOwnVersion: row.version === PACKAGE_VERSION,
  };
}

/** The longest answer that is shared, in characters: a catalogue of megabytes is cheaper to request. */
const MAX_LENGTH = 512 * 1024;

/**
 * A value as JSON; `undefined`: too long, or an undocumented field is nested too deeply for JSON. Stops at the
 * element of a list that makes it too long.
 */
export function textOf(value: unknown): string | undefined {
  const parts: string[] = [];
  let length = 0;
  try {
    for (const part of Array.isArray(value) ? value : [value]) {
      const text = JSON.stringify(part);
      length += text.length + 1;
      if (length > MAX_LENGTH) return undefined;
      parts.push(text);
    }
  } catch {
    return undefined;
  }
  return Array.isArray(value) ? `[${parts.join()}]` : parts[0];
}
