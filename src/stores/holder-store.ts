import { NoAnswer, schedule } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import { requiredCode } from '../model/purchase.js';
import { countOption, knownOptions, shapedOption } from '../options.js';
import { StoreGuard } from './store-guard.js';

/**
 * Stores which accounts hold which purchase codes, without expiry: a value for `holder.store` of the guards.
 * Recognised by its shape: any object with these methods will do.
 */
export interface HolderStore {
  /**
   * Lets an account hold a code, unless `max` others hold it. True also for one that holds it already. Atomic:
   * of any number of calls at once, in all processes, no more than `max` accounts get true. The guards give
   * each code in one spelling: normalised, in lower case.
   */
  take(code: string, holder: string, max: number): Promise<boolean>;
  /**
   * Ends one account's hold on a code, or that of all accounts. No error when there is none. In a store with a
   * cooldown, the place stays taken for so long, and only the same account can have it back before.
   */
  release(code: string, holder?: string): Promise<void>;
  /** The accounts that hold a code, in any order. */
  holders(code: string): Promise<string[]>;
}

/** The option of the stores of this package. */
export interface HolderStoreOptions {
  /**
   * How long a released place stays taken, in milliseconds, so that one code does not wander through many machines.
   * Only the account that had it can have it back before. A store without one, on the same backend, frees such places
   * at once. Default 0.
   */
  cooldown?: number | undefined;
}

/** The longest time for which a process does not ask a store again about a holder, in milliseconds. */
const REMEMBERED = 5000;
/** The most codes whose holders are remembered. */
const MAX_REMEMBERED = 10_000;

/** The holders that this process knows, by code. All are forgotten together, so that a hit reads no clock. */
class KnownHolders {
  /** Replaced and not cleared, so that the answer to a call from before a release is not added. */
  current = new Map<string, Set<string>>();

  has(code: string, holder: string): boolean {
    return this.current.get(code)?.has(holder) === true;
  }

  /** @param holdersOf - what was {@link current} before the store was asked. */
  add(holdersOf: Map<string, Set<string>>, code: string, holder: string, max: number): void {
    if (holdersOf.size >= MAX_REMEMBERED) return;
    if (holdersOf.size === 0) schedule(REMEMBERED, () => this.forget());
    const holders = (holdersOf.get(code) ?? new Set()).add(holder);
    holdersOf.set(code, holders);
    // More than can hold the code: one of them was released elsewhere.
    if (holders.size > max) holdersOf.delete(code);
  }

  forget(): void {
    this.current = new Map();
  }
}

/** One for each store, because several guards can have the same. */
const known = new WeakMap<HolderStore, KnownHolders>();

/** Makes all guards of this process ask the store again, after a release. */
export const forgetHolders = (store: HolderStore): void => known.get(store)?.forget();

/**
 * A holder store as the guards use it: a holder's next requests need no call, each call has a deadline, and each
 * failure is `store_unavailable`.
 *
 * @throws TypeError that names the option and the method that is missing.
 */
export function guardHolderStore(owner: string, value: unknown) {
  const option = 'holder.store';
  const methods = ['take', 'release', 'holders'] as const;
  const what = 'a holder store, as in new MemoryHolderStore()';
  const store = shapedOption<HolderStore>(owner, option, value, methods, what);
  const guard = new StoreGuard(option);
  const remembered = known.get(store) ?? new KnownHolders();
  known.set(store, remembered);
  return {
    /** Whether the account is known to hold the code. */
    isKnown: (code: string, holder: string): boolean => remembered.has(code, holder),

    /** @throws MarketgateError `store_unavailable`, also for an answer that is neither true nor false. */
    async take(code: string, holder: string, max: number): Promise<boolean> {
      const { current } = remembered;
      const isHeld = await guard.call('take', async () => {
        const answer: unknown = await store.take(code, holder, max);
        if (typeof answer === 'boolean') return answer;
        throw new NoAnswer('gave neither true nor false');
      });
      if (isHeld) remembered.add(current, code, holder, max);
      // The code is full: the remembered holders can be outdated.
      else remembered.current.delete(code);
      return isHeld;
    },

    /** How many accounts hold the code. @throws MarketgateError `store_unavailable`. */
    count: (code: string): Promise<number> =>
      guard.call('holders', async () => (await store.holders(code)).length),
  };
}

/**
 * The one spelling of a code, as the guards give it, for a call by the app itself.
 *
 * @param owner - the store and its method, as in "MemoryHolderStore.take".
 * @throws TypeError without a code.
 */
export const heldCode = (owner: string, code: unknown): string =>
  requiredCode(`${owner}: "code"`, code).toLowerCase();

/** @throws TypeError unless `holder` is an id. Accounts that share an empty one would hold each other's codes. */
export function checkHolder(owner: string, holder: unknown): void {
  if (typeof holder === 'string' && holder !== '') return;
  throw new TypeError(`${owner}: "holder" must be a non-empty string, as in String(user.id)`);
}

/** @throws TypeError unless `max` is a positive whole number. Compared with NaN, every code would have room. */
export function checkMax(owner: string, max: unknown): void {
  if (Number.isSafeInteger(max) && Number(max) > 0) return;
  throw new TypeError(`${owner}: "max" must be a whole number, 1 or more`);
}

/**
 * A {@link HolderStore} in memory, for development and for an app of one process: a restart forgets all holders,
 * and then whoever comes first with a code holds it. In production it warns about that.
 */
export class MemoryHolderStore implements HolderStore {
  readonly #cooldown: number;
  /** By code and holder: infinite while the place is held; after a release, until when it stays taken. */
  readonly #places = new Map<string, Map<string, number>>();

  constructor(options: HolderStoreOptions = {}) {
    const { cooldown } = knownOptions('MemoryHolderStore', options, ['cooldown']);
    this.#cooldown = countOption('MemoryHolderStore', 'cooldown', cooldown, 0);
    if (process.env.NODE_ENV === 'production') warnOnce('MARKETGATE_HOLDERS_IN_MEMORY');
  }

  /** @throws TypeError for a blank `code`, an empty `holder`, or a `max` that is not a positive whole number. */
  async take(code: string, holder: string, max: number): Promise<boolean> {
    const owner = 'MemoryHolderStore.take';
    const name = heldCode(owner, code);
    checkHolder(owner, holder);
    checkMax(owner, max);
    const places = this.#taken(name);
    if (!places.has(holder) && places.size >= max) return false;
    this.#places.set(name, places.set(holder, Number.POSITIVE_INFINITY));
    return true;
  }

  /** @throws TypeError for a blank `code` or an empty `holder`. */
  async release(code: string, holder?: string): Promise<void> {
    const owner = 'MemoryHolderStore.release';
    const name = heldCode(owner, code);
    if (holder !== undefined) checkHolder(owner, holder);
    const places = this.#taken(name);
    const until = performance.now() + this.#cooldown;
    for (const each of holder === undefined ? [...places.keys()] : [holder]) {
      if (this.#cooldown === 0) places.delete(each);
      else if (places.get(each) === Number.POSITIVE_INFINITY) places.set(each, until);
    }
    if (places.size === 0) this.#places.delete(name);
    forgetHolders(this);
  }

  /** @throws TypeError for a blank `code`. */
  async holders(code: string): Promise<string[]> {
    const places = this.#taken(heldCode('MemoryHolderStore.holders', code));
    return [...places.keys()].filter((each) => places.get(each) === Number.POSITIVE_INFINITY);
  }

  /** The places of a code, without those whose cooldown has ended. */
  #taken(name: string): Map<string, number> {
    const places = this.#places.get(name) ?? new Map<string, number>();
    for (const [holder, until] of places) if (until <= performance.now()) places.delete(holder);
    return places;
  }
}
