import type { Request } from 'express';
import type { MarketgateErrorCode } from '../errors.js';
import { MarketgateError } from '../errors.js';
import { parseTimestamp, wasUnreadable } from '../model/fields.js';
import { itemId } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { flagOption, functionOption, wrongOption } from '../options.js';
import { CannotFindOut } from './cannot-find-out.js';
import { isPromise } from './code-sources.js';

/** What a valid purchase must satisfy beyond being valid. */
export interface PurchaseConditions {
  /** The item's id, or several, of which one must be the purchase's; or a function of the request. */
  item?: number | readonly number[] | ((req: Request) => number | readonly number[]) | undefined;
  /** The purchase's `license_type`, or several, of which one must be it. Compared to the letter. */
  licenseType?: string | readonly string[] | undefined;
  /** Whether support must still run: compared with the present, not with when it was cached. */
  supported?: boolean | undefined;
  /** Anything else; false refuses with `purchase_not_accepted`. May be async. */
  accept?: ((purchase: Purchase, req: Request) => boolean | Promise<boolean>) | undefined;
}

/** A refusal: an answer to the visitor, not a failure. */
export const denial = (code: MarketgateErrorCode, message: string): MarketgateError =>
  new MarketgateError(code, message);

/** {@link PurchaseConditions}, checked; gives the ids that a request asks for, then judges. */
export interface ConditionCheck {
  /** The items that this request is about; `undefined` for any. Throws `item_id_invalid`. */
  itemsFor(req: Request): readonly number[] | undefined;
  /** The first condition that is not met. */
  refusal(
    purchase: Purchase,
    items: readonly number[] | undefined,
    req: Request,
  ): MarketgateError | undefined | Promise<MarketgateError | undefined>;
}

/** @throws TypeError that names the wrong option. */
export function checkConditions(
  owner: string,
  conditions: PurchaseConditions,
  clock: () => number,
): ConditionCheck {
  for (const name of ['item', 'licenseType', 'supported', 'accept'] as const) {
    // `item: config.itemId` with nothing configured must not open the door.
    if (name in conditions && conditions[name] === undefined) {
      throw wrongOption(owner, name, 'is given, but undefined; leave it out for no such condition');
    }
  }
  const itemsFor = itemsOption(owner, conditions.item);
  const licenses = licensesOption(owner, conditions.licenseType);
  const supported = flagOption(owner, 'supported', conditions.supported);
  const accept = functionOption(owner, 'accept', conditions.accept);
  return {
    itemsFor,
    refusal(purchase, items, req) {
      if (items !== undefined && !items.includes(purchase.item.id)) {
        return denial('purchase_item_mismatch', 'the purchase code is valid, but for another item');
      }
      if (licenses !== undefined) checkReadable(purchase, 'license_type');
      if (licenses !== undefined && !licenses.includes(purchase.license_type)) {
        return denial(
          'license_type_mismatch',
          'the purchase code is valid, but its licence is of another kind',
        );
      }
      if (supported) checkReadable(purchase, 'supported_until');
      if (supported && !isSupported(purchase, clock())) {
        return denial(
          'support_expired',
          'the purchase code is valid, but its support is over or was never bought',
        );
      }
      if (accept === undefined) return undefined;
      const accepted = accept(purchase, req);
      return isPromise(accepted) ? accepted.then(unlessAccepted) : unlessAccepted(accepted);
    },
  };
}

const unlessAccepted = (accepted: boolean): MarketgateError | undefined =>
  accepted === true
    ? undefined
    : denial('purchase_not_accepted', 'the purchase code is valid, but "accept" refused it');

/** Whether support runs at this moment. */
export function isSupported({ supported_until: until }: Purchase, now: number): boolean {
  const end = until === undefined ? undefined : parseTimestamp(until);
  return end !== undefined && end > now;
}

/** @throws CannotFindOut with `unexpected_response` when a condition needs a field that could not be read. */
function checkReadable(purchase: Purchase, field: 'license_type' | 'supported_until'): void {
  // A purchase that did not come out of a KeyApi, as from a stub in a test, was never read.
  const { supported_until: until = '' } = purchase;
  const isNoTime =
    field === 'supported_until' && until !== '' && parseTimestamp(until) === undefined;
  if (!isNoTime && !wasUnreadable(purchase, field)) return;
  const error = new MarketgateError(
    'unexpected_response',
    `the service sent a "${field}" that cannot be read, and this guard needs it; see the diagnostics channel marketgate:drift`,
  );
  throw new CannotFindOut(error, false);
}

function itemsOption(owner: string, item: unknown): ConditionCheck['itemsFor'] {
  if (item === undefined) return () => undefined;
  if (typeof item === 'function') return (req) => [item(req)].flat().map(itemId);
  const ids = [item].flat();
  if (ids.length === 0 || !ids.every((id) => Number.isSafeInteger(id) && Number(id) >= 0)) {
    throw wrongOption(owner, 'item', 'must be an item id (a whole number), several, or a function');
  }
  return () => ids as number[];
}

function licensesOption(owner: string, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const types = [value].flat();
  if (types.length === 0 || !types.every((type) => typeof type === 'string' && type !== '')) {
    throw wrongOption(owner, 'licenseType', 'must be a license_type, as in "Extended", or several');
  }
  return types as string[];
}
