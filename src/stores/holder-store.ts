import { NoAnswer } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import { readPurchaseCode, requireText } from '../model/purchase-code.js';
import { shaped } from '../options.js';
import { callStore } from '../store-guard.js';

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
  /** Ends one account's hold on a code, or that of all accounts. No error when there is none. */
  release(code: string, holder?: string): Promise<void>;
  /** The accounts that hold a code, in any order. */
  holders(code: string): Promise<string[]>;
}

/**
 * A holder store as the guards use it: each call has a deadline, and each failure is `store_unavailable`.
 *
 * @throws TypeError that names the option and the method that is missing.
 */
export function guardHolderStore(owner: string, value: unknown) {
  const option = 'holder.store';
  const methods = ['take', 'release', 'holders'] as const;
  const what = 'a holder store, as in new MemoryHolderStore()';
  const store = shaped<HolderStore>(methods, what)(owner, option, value);
  return {
    /** @throws MarketgateError `store_unavailable`, also for an answer that is neither true nor false. */
    take: (code: string, holder: string, max: number): Promise<boolean> =>
      callStore(`${option}.take`, async () => {
        const answer: unknown = await store.take(code, holder, max);
        if (typeof answer === 'boolean') return answer;
        throw new NoAnswer('gave neither true nor false');
      }),

    /** How many accounts hold the code. @throws MarketgateError `store_unavailable`. */
    count: (code: string): Promise<number> =>
      callStore(`${option}.holders`, async () => (await store.holders(code)).length),
  };
}

/**
 * The one spelling of a code, as the guards give it, for a call by the app itself.
 *
 * @param owner - the store and its method, as in "MemoryHolderStore.take".
 * @throws TypeError without a code.
 */
export function heldCode(owner: string, code: unknown): string {
  requireText(`${owner}: "code"`, code);
  return readPurchaseCode(code)?.key ?? code.toLowerCase();
}

/**
 * The text that stands for an account: a number becomes what the guards make of it, for a call by the app itself.
 *
 * @param owner - the store and its method.
 * @throws TypeError for anything else.
 */
export function holderText(owner: string, holder: unknown): string {
  if (typeof holder === 'string') return holder;
  if (typeof holder === 'bigint' || Number.isSafeInteger(holder)) return String(holder);
  throw new TypeError(
    `${owner}: "holder" must be text, a whole number up to 2^53 - 1, or a bigint`,
  );
}

/** An id as every database keeps it: UTF-8 has no halves of surrogate pairs. */
const asStored = (owner: string, holder: unknown): string =>
  Buffer.from(holderText(owner, holder)).toString();

/**
 * A {@link HolderStore} in memory, for development and for an app of one process: a restart forgets all holders,
 * and then whoever comes first with a code holds it. In production it warns about that.
 */
export class MemoryHolderStore implements HolderStore {
  /** The accounts by code. */
  readonly #holders = new Map<string, Set<string>>();

  /** Keeps in this process who holds which purchase code; a restart frees all codes. */
  constructor() {
    if (process.env.NODE_ENV === 'production') warnOnce('MARKETGATE_HOLDERS_IN_MEMORY');
  }

  /** @throws TypeError for a blank `code`, or a `holder` that is no id. */
  async take(code: string, holder: string, max: number): Promise<boolean> {
    const name = heldCode('MemoryHolderStore.take', code);
    const id = asStored('MemoryHolderStore.take', holder);
    const holders = this.#holders.get(name) ?? new Set();
    if (!holders.has(id) && holders.size >= max) return false;
    this.#holders.set(name, holders.add(id));
    return true;
  }

  /** @throws TypeError for a blank `code`, or a `holder` that is no id. */
  async release(code: string, holder?: string): Promise<void> {
    const name = heldCode('MemoryHolderStore.release', code);
    const holders = this.#holders.get(name);
    const id = holder === undefined ? undefined : asStored('MemoryHolderStore.release', holder);
    if (id !== undefined) holders?.delete(id);
    // Or the codes of a whole shop would stay here.
    if (id === undefined || holders?.size === 0) this.#holders.delete(name);
  }

  /** @throws TypeError for a blank `code`. */
  async holders(code: string): Promise<string[]> {
    return [...(this.#holders.get(heldCode('MemoryHolderStore.holders', code)) ?? [])];
  }
}
