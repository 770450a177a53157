import type { MarketgateError } from '../errors.js';
import type { Purchase } from '../model/purchase.js';
import { isMasked, type PurchaseCode, readPurchaseCode } from '../model/purchase-code.js';
import {
  type AppId,
  type Check,
  idText,
  readOptions,
  type Table,
  wrongOption,
} from '../options.js';
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

/** Gives the account of a request. */
export type HolderIdOf<Req> = (req: Req) => HolderId | Promise<HolderId>;

/** Makes an account a holder of the code of a valid purchase, or refuses it. */
export type HolderCheck<Req> = (
  result: CheckResult,
  code: PurchaseCode,
  req: Req,
) => Promise<CheckResult>;

const NOBODY = 'nobody is logged in who could hold the code; log in first';
const HELD = 'held by another account; log in with that one, or let the site release the code';

/**
 * Checks the option. Where a result is not valid, nobody becomes a holder, but visitors without an account are refused.
 * @param idOption the check of its `id`.
 */
export const holderOption =
  <Req>(idOption: Check<HolderIdOf<Req>>): Check<HolderCheck<Req> | undefined> =>
  (owner, name, value) => {
    if (value === undefined) return undefined;
    const table = {
      store: (...given) => guardHolderStore(given[0], given[2]),
      id: idOption,
      max: maxOption,
    } satisfies Table<HolderOptions<unknown>>;
    const { store, id, max } = readOptions(owner, table, value, name);

    return async (result, code, req) => {
      const holder = idText(owner, `${name}.id`, await id(req));
      if (result.verdict !== 'valid') {
        return holder === undefined ? deny('login_required', NOBODY) : result;
      }
      const { purchase } = result;
      if (holder === undefined) return refuse(purchase, 'login_required', NOBODY);
      const seats = wholeSeats(owner, `${name}.max`, max(purchase));
      const held = heldUnder(purchase, code);
      try {
        if (await store.take(held, holder, seats)) return result;
        const count = await store.count(held).catch(() => seats);
        return refuse(purchase, 'purchase_held', HELD, { count, max: seats });
      } catch (error) {
        return { verdict: 'unknown', error: error as MarketgateError };
      }
    };
  };

const wholeSeats: Check<number> = (owner, name, value) => {
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
  const expected = 'must be a whole number, 1 or more, or a function that gives one';
  throw wrongOption(owner, name, expected);
};

const maxOption: Check<(purchase: Purchase) => unknown> = (owner, name, value = 1) => {
  if (typeof value === 'function') return value as (purchase: Purchase) => unknown;
  const seats = wholeSeats(owner, name, value);
  return () => seats;
};

/**
 * The code that is held: as the service names it, because it can accept several spellings. A masked one, as in
 * `****-1c2d`, names none.
 */
function heldUnder({ purchase_code: named }: Purchase, sent: PurchaseCode): string {
  // A wrapper of a KeyApi can give a purchase that was never read.
  const isNamed = typeof named === 'string' && !isMasked(named);
  return ((isNamed && readPurchaseCode(named)) || sent).key;
}
