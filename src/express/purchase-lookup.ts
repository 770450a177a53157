import type { Request } from 'express';
import type { MarketgateError } from '../errors/marketgate-error.js';
import type { KeyApi } from '../key-api/key-api.js';
import type { Purchase } from '../key-api/purchase.js';
import { hasPurchaseCodeShape, normalizePurchaseCode } from '../key-api/purchase-code.js';
import { functionOption, shapedOption } from '../options/check-options.js';
import { type CodeSource, firstOf, fromBody, fromHeader, isAbsent } from './code-sources.js';
import { checkConditions, denial, type PurchaseConditions } from './purchase-conditions.js';

/** As much of a {@link KeyApi} as the guard uses. */
export type PurchaseValidator = Pick<KeyApi, 'validatePurchase'> & Partial<Pick<KeyApi, 'clock'>>;

/** What {@link requirePurchase} and {@link loadPurchase} have in common. */
export interface PurchaseLookupOptions extends PurchaseConditions {
  /**
   * Where the code is found. Default: the header `x-purchase-code`, then the body's field
   * `purchase_code`.
   */
  code?: CodeSource | undefined;
}

/** What a request's code came to. */
export type PurchaseLookup =
  | { readonly verdict: 'valid'; readonly purchase: Purchase }
  | { readonly verdict: 'invalid' | 'absent'; readonly denial: MarketgateError };

export const LOOKUP_OPTION_NAMES = ['code', 'item', 'licenseType', 'supported', 'accept'] as const;

/** @throws TypeError unless it is a KeyApi by its shape. */
export const checkKeyApi = <T extends object>(
  owner: string,
  keyApi: unknown,
  method: keyof T & string,
): T => shapedOption<T>(owner, 'keyApi', keyApi, [method], 'a KeyApi');

/**
 * Makes the function that finds a request's code and asks what it is worth. It rejects when that
 * cannot be found out.
 * @throws TypeError that names the wrong option.
 */
export function purchaseLookup(
  owner: string,
  keyApi: PurchaseValidator,
  options: PurchaseLookupOptions,
): (req: Request) => Promise<PurchaseLookup> {
  checkKeyApi<PurchaseValidator>(owner, keyApi, 'validatePurchase');
  const source =
    functionOption(owner, 'code', options.code) ??
    firstOf(fromHeader('x-purchase-code'), fromBody('purchase_code'));
  const conditions = checkConditions(owner, options, keyApi.clock ?? Date.now);

  return async (req) => {
    const given = await source(req);
    if (isAbsent(given)) return absent();
    const code = typeof given === 'string' ? normalizePurchaseCode(given) : undefined;
    if (code === '') return absent();
    const items = conditions.itemsFor(req);
    const purchase =
      code !== undefined && hasPurchaseCodeShape(code) ? await keyApi.validatePurchase(code) : null;
    if (purchase === null) return { verdict: 'invalid', denial: invalid() };
    const refusal = await conditions.refusal(purchase, items, req);
    return refusal === undefined
      ? { verdict: 'valid', purchase }
      : { verdict: 'invalid', denial: refusal };
  };
}

const absent = (): PurchaseLookup => ({
  verdict: 'absent',
  denial: denial('purchase_required', 'no purchase code came with the request'),
});

const invalid = (): MarketgateError =>
  denial('purchase_code_invalid', 'the service does not know this purchase code');
