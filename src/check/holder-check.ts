import type { MarketgateError } from '../errors.js';
import type { Purchase } from '../model/purchase.js';
import { isMasked, type PurchaseCode, readPurchaseCode } from '../model/purchase-code.js';
import { type AppId, idText, knownOptions, shaped, wrongOption } from '../options.js';
import { guardHolderStore, type HolderStore } from '../stores/holder-store.js';
import { type CheckResult, deny, refuse } from './decision.js';

/**
 * The id of an account: text, a whole number up to 2^53 - 1, or a bigint; `undefined`, `null`, `false` or blank text when
 * nobody is logged in.
 */
export type HolderId = AppId;

/** One code, one customer: who comes first with a code holds it, and other accounts are refused. */
export interface HolderOptions<Id> {
  /** Stores which accounts hold which codes, as in `new RedisHolderStore({ client, secret })`. */
  store: HolderStore;
  /**
   * The account that comes with the code: in a guard, a function as in `(req) => req.user?.id`, which can be
   * async; in {@link checkPurchase}, the id itself. It must never change, as the marketplace's `user_id`. A function
   * that throws a TypeError because there is no `req.user` gives nobody.
   */
  id: Id;
  /**
   * How many accounts can hold one code, for seats or sites; or a function that gives the number, as in
   * `(purchase) => (purchase.license_type === 'Extended' ? 5 : 1)`. Default 1.
   */
  max?: number | ((purchase: Purchase) => number) | undefined;
}

export type HolderIdOf<Req> = (req: Req) => HolderId | Promise<HolderId>;

const NOBODY = 'nobody is logged in who could hold the code; log in first';
const HELD = 'held by another account; log in with that one, or let the site release the code';

/** Copies the options if every key is known. */
export const holderOptions = <Id>(owner: string, option: HolderOptions<Id>): HolderOptions<Id> =>
  knownOptions(`${owner}: holder`, option, ['store', 'id', 'max']);

/**
 * Checks the option. Gives the function that makes an account a holder of the code of a valid purchase, or refuses it.
 * In an outage nobody becomes a holder, and only visitors without an account are refused.
 */
export function makeHolderCheck<Req>(
  owner: string,
  option: HolderOptions<HolderId | HolderIdOf<Req>> | undefined,
): (result: CheckResult, code: PurchaseCode, req: Req) => Promise<CheckResult> {
  const what = '{ store, id, max }; leave it out for no such condition';
  const object = shaped<NonNullable<typeof option>>([], what)(owner, 'holder', option);
  const given = holderOptions(owner, object);
  const { id, max = 1 } = given;
  const holders = guardHolderStore(owner, given.store);
  if (!('id' in given)) throw wrongOption(owner, 'holder.id', 'must say which account it is');
  if (typeof id !== 'function') idText(owner, 'holder.id', id);
  const count = (value: unknown): number => {
    if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
    const expected = 'must be a whole number, 1 or more, or a function that gives one';
    throw wrongOption(owner, 'holder.max', expected);
  };
  if (typeof max !== 'function') count(max);

  return async (result, code, req) => {
    const holder = idText(owner, 'holder.id', typeof id === 'function' ? await id(req) : id);
    if (result.verdict !== 'valid') {
      return holder === undefined ? deny('login_required', NOBODY) : result;
    }
    const { purchase } = result;
    if (holder === undefined) return refuse(purchase, 'login_required', NOBODY);
    const seats = count(typeof max === 'function' ? max(purchase) : max);
    const key = nameOf(purchase, code);
    try {
      if (await holders.take(key, holder, seats)) return result;
      const held = await holders.count(key).catch(() => seats);
      return refuse(purchase, 'purchase_held', HELD, { count: held, max: seats });
    } catch (error) {
      return { verdict: 'unknown', error: error as MarketgateError };
    }
  };
}

/**
 * The code that is held: as the service names it, because it can accept several spellings. A masked one, as in
 * `****-1c2d`, names none. In lower case, because a service can ignore that.
 */
function nameOf({ purchase_code: named }: Purchase, sent: PurchaseCode): string {
  // A wrapper of a KeyApi can give a purchase that was never read.
  const isNamed = typeof named === 'string' && !isMasked(named);
  return ((isNamed && readPurchaseCode(named)) || sent).toLowerCase();
}
