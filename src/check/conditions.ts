import type { Purchase } from '../model/purchase.js';
import { type Check, flag, functionOf, type Table, type Values, wrongOption } from '../options.js';
import {
  type HolderId,
  type HolderIdOf,
  type HolderOptions,
  holderOption,
} from './holder-check.js';

/** A `license_type` of the service. Its values are not shown; these are common, and editors offer them. */
export type LicenseType = 'Regular' | 'Extended' | (string & Record<never, never>);

/**
 * Conditions that a valid purchase must meet. The functions get the request in a guard, and
 * `undefined` in {@link checkPurchase}.
 */
export interface PurchaseConditions<Req = undefined> {
  /**
   * The id of the purchase's item; several ids, of which one must match; or a function that gives one or several, as in
   * `(req) => Number(req.params.id)`. What is not a whole number there, also in digits, refuses with `item_id_invalid`.
   */
  item?:
    | number
    | readonly number[]
    | ((req: Req) => number | readonly number[] | Promise<number | readonly number[]>)
    | undefined;
  /** The purchase's `license_type`, or several, of which one must match. Letter case does not count. */
  licenseType?: LicenseType | readonly LicenseType[] | undefined;
  /** Whether support must still run, compared with the current time of each check. */
  supported?: boolean | undefined;
  /** Any other condition. Anything but true refuses with `purchase_not_accepted`. Can be async. */
  accept?: ((purchase: Purchase, req: Req) => boolean | Promise<boolean>) | undefined;
}

/** What the guards and {@link checkPurchase} have in common. */
export interface PurchaseCheckOptions<Req = undefined, Id = HolderId>
  extends PurchaseConditions<Req> {
  /**
   * The account must hold the code, or become one of its first `max` holders, after all other conditions.
   * `purchase_held` refuses other accounts, and `login_required` visitors without an account.
   */
  holder?: HolderOptions<Id> | undefined;
  /** Whether to ask the service even if the cache has an answer, or a function that decides. Default false. */
  fresh?: boolean | ((req: Req) => boolean | Promise<boolean>) | undefined;
}

/** The checks of {@link PurchaseCheckOptions}. @param id the check of `holder.id`. */
export const checkOptions = <Req>(id: Check<HolderIdOf<Req>>) =>
  ({
    item: given(itemOption<Req>),
    licenseType: given(licenseOption),
    supported: given(flag),
    accept: given(functionOf<(purchase: Purchase, req: Req) => boolean | Promise<boolean>>()),
    holder: given(holderOption(id)),
    fresh: freshOption<Req>,
  }) satisfies Table<PurchaseCheckOptions<Req, unknown>>;

/** {@link PurchaseCheckOptions}, checked. */
export type Checked<Req> = Values<ReturnType<typeof checkOptions<Req>>>;

/**
 * A condition. `item: config.itemId` with nothing configured must not let every purchase in, so an option that is present and
 * `undefined` is refused.
 */
const given =
  <T>(check: Check<T>): Check<T> =>
  (owner, name, value, isGiven) => {
    if (value !== undefined || !isGiven) return check(owner, name, value, isGiven);
    throw wrongOption(owner, name, 'is given, but undefined: is its variable set?');
  };

function itemOption<Req>(
  owner: string,
  name: string,
  value: unknown,
): readonly number[] | ((req: Req) => unknown) | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'function') return value as (req: Req) => unknown;
  const ids = [value].flat();
  if (ids.length > 0 && areIds(ids)) return ids;
  throw wrongOption(owner, name, 'must be an item id (a whole number), several, or a function');
}

const licenseOption: Check<readonly string[] | undefined> = (owner, name, value) => {
  if (value === undefined) return undefined;
  const types = [value].flat();
  if (types.length > 0 && types.every((type) => typeof type === 'string' && type !== '')) {
    return types as string[];
  }
  throw wrongOption(owner, name, 'must be a license_type, as in "Extended", or several');
};

function freshOption<Req>(
  owner: string,
  name: string,
  value: unknown,
): boolean | ((req: Req) => unknown) {
  return typeof value === 'function' ? (value as () => unknown) : flag(owner, name, value);
}

/** Digits are refused too: of `?item=1&item=2` in a query, a visitor would choose one. */
export const areIds = (ids: readonly unknown[]): ids is readonly number[] =>
  ids.every((id) => Number.isSafeInteger(id) && Number(id) >= 0);
