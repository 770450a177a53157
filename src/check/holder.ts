import type { MarketgateError } from '../errors.js';
import { purchaseKey } from '../model/purchase.js';
import { knownOptions, wrongOption } from '../options.js';
import { GuardedHolderStore, type HolderStore } from '../stores/holder-store.js';

/** The id of an account; `undefined`, `null` or a blank one when nobody is logged in. */
export type HolderId = string | number | bigint | null | undefined;

/** One code, one customer: who comes first with a code holds it, and other accounts are refused. */
export interface HolderOptions<Id> {
  /** Stores which accounts hold which codes, as in `new RedisHolderStore({ client, secret })`. */
  store: HolderStore;
  /**
   * The account that comes with the code. It must never change, as the marketplace's `user_id`. Without one, the
   * check gives `login_required`.
   */
  id: Id;
  /** How many accounts can hold one code, for seats or sites. Default 1. */
  max?: number | undefined;
}

/** `true`: the account holds the code. Otherwise the refusal, or why the store could not tell. */
type Holding = true | 'login_required' | 'purchase_held' | MarketgateError;

/**
 * Makes the function that lets an account hold a code, if there is room. It is synchronous for a known holder.
 * @throws TypeError that names the wrong option.
 */
export function holderCheck<About>(
  owner: string,
  option: HolderOptions<HolderId | ((about: About) => HolderId)> | undefined,
): (code: string, about: About) => Holding | Promise<Holding> {
  if (typeof option !== 'object' || option === null) {
    throw wrongOption(
      owner,
      'holder',
      'must be { store, id, max }; leave it out for no such condition',
    );
  }
  const given = knownOptions(`${owner}: holder`, option, ['store', 'id', 'max']);
  const { id, max = 1 } = given;
  const holders = new GuardedHolderStore(owner, 'holder.store', given.store);
  if (!('id' in given)) throw wrongOption(owner, 'holder.id', 'must say which account it is');
  if (!Number.isSafeInteger(max) || max < 1) {
    throw wrongOption(owner, 'holder.max', 'must be a whole number, 1 or more');
  }
  return (code, about) => {
    const holder = nameOf(owner, typeof id === 'function' ? id(about) : id);
    if (holder === undefined) return 'login_required';
    const key = purchaseKey(code);
    if (holders.isKnown(key, holder)) return true;
    return holders.take(key, holder, max).then(
      (isHeld) => isHeld || 'purchase_held',
      (error: unknown) => error as MarketgateError,
    );
  };
}

/** @throws TypeError for what is no id: that is the app's mistake, not a visitor without a login. */
function nameOf(owner: string, id: unknown): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === 'bigint' || Number.isFinite(id)) return String(id);
  if (typeof id === 'string') return id.trim() === '' ? undefined : id;
  throw wrongOption(owner, 'holder.id', 'must give a string, a number or nothing, and no Promise');
}
