import type { Request, Response } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';
import type { Purchase } from '../model/purchase.js';
import { hasPurchaseCodeShape, normalizePurchaseCode } from '../model/purchase.js';
import { functionOption, shapedOption } from '../options.js';
import { CannotFindOut } from './cannot-find-out.js';
import {
  type CodeSource,
  firstOf,
  fromBody,
  fromHeader,
  isAbsent,
  isPromise,
} from './code-sources.js';
import type { Ask } from './guess-limit/client-attempts.js';
import { type GuessGate, type GuessLimitOption, guessGate } from './guess-limit/guess-gate.js';
import { warnIfInHandler } from './in-handler.js';
import { whileThere } from './leaving.js';
import {
  type ConditionCheck,
  checkConditions,
  denial,
  type PurchaseConditions,
} from './purchase-conditions.js';

/** As much of a {@link KeyApi} as the guard uses. */
export type PurchaseValidator = Pick<KeyApi, 'validatePurchase'> &
  Partial<Pick<KeyApi, 'clock' | 'peekPurchase'>>;

/** What {@link requirePurchase} and {@link loadPurchase} have in common. */
export interface PurchaseLookupOptions extends PurchaseConditions {
  /**
   * Where the code is found. Default: the header `x-purchase-code`, then the body's field
   * `purchase_code`.
   */
  code?: CodeSource | undefined;
  /**
   * How many codes a client may try that the service answers *no* to; outages, repeats that are
   * answered from the cache and valid codes do not count. Past it: `too_many_attempts`, and the service is
   * not asked. A client has one count over all guards of a KeyApi. All clients together have three times
   * the limit; past that, only clients without a failed attempt may try. `false` turns it off. Default 10
   * a minute for each address.
   */
  guessLimit?: GuessLimitOption | undefined;
}

/** What a request's code came to. */
export type PurchaseLookup =
  | { readonly verdict: 'valid'; readonly purchase: Purchase }
  | { readonly verdict: 'invalid' | 'absent'; readonly denial: MarketgateError };

export const LOOKUP_OPTION_NAMES = [
  'code',
  'item',
  'licenseType',
  'supported',
  'accept',
  'guessLimit',
] as const;

/** @throws TypeError unless it is a KeyApi by its shape. */
export const checkKeyApi = <T extends object>(
  owner: string,
  keyApi: unknown,
  method: keyof T & string,
): T => shapedOption<T>(owner, 'keyApi', keyApi, [method], 'a KeyApi');

/** Finds a request's code and what it is worth: at once where the cache knows, else later. */
export type LookUpPurchase = (
  req: Request,
  res: Response,
) => PurchaseLookup | Promise<PurchaseLookup>;

/**
 * Makes the lookup of a guard. It throws or rejects with {@link CannotFindOut}, with the denials
 * `too_many_attempts` and `item_id_invalid`, and with the errors of the app's own functions.
 * @throws TypeError that names the wrong option.
 */
export function purchaseLookup(
  owner: string,
  keyApi: PurchaseValidator,
  options: PurchaseLookupOptions,
): LookUpPurchase {
  checkKeyApi<PurchaseValidator>(owner, keyApi, 'validatePurchase');
  warnIfInHandler();
  const source =
    functionOption(owner, 'code', options.code) ??
    firstOf(fromHeader('x-purchase-code'), fromBody('purchase_code'));
  const conditions = checkConditions(owner, options, keyApi.clock ?? Date.now);
  const gate = guessGate(owner, options.guessLimit, keyApi);
  const worth = (req: Request, res: Response, given: unknown) =>
    worthOf(keyApi, conditions, gate, req, res, given);

  return (req, res) => {
    const given = source(req);
    return isPromise(given)
      ? given.then((later) => worth(req, res, later))
      : worth(req, res, given);
  };
}

function worthOf(
  keyApi: PurchaseValidator,
  conditions: ConditionCheck,
  gate: GuessGate,
  req: Request,
  res: Response,
  given: unknown,
): PurchaseLookup | Promise<PurchaseLookup> {
  if (isAbsent(given)) return absent();
  const code = plainCode(given);
  if (code === '') return absent();
  const items = conditions.itemsFor(req);
  if (code === undefined) return invalid();

  const judged = (purchase: Purchase | null): PurchaseLookup | Promise<PurchaseLookup> => {
    if (purchase === null) return invalid();
    const refusal = conditions.refusal(purchase, items, req);
    return isPromise(refusal)
      ? refusal.then((later) => verdictOf(purchase, later))
      : verdictOf(purchase, refusal);
  };
  const known = keyApi.peekPurchase?.(code);
  if (known !== undefined) return judged(known);
  // In an async function, so that a foreign validator that throws rejects.
  const ask: Ask<Purchase> = async (how) => {
    try {
      return await keyApi.validatePurchase(code, how);
    } catch (error) {
      // Whoever has left is not let in: `onUnknown` is for a service that is down.
      const isOutage = isMarketgateError(error) && error.status >= 500 && !how.signal?.aborted;
      throw isOutage ? new CannotFindOut(error, true) : error;
    }
  };
  return whileThere(res, (signal) => gate(req, code, ask, signal)).then(judged);
}

/** The code without decoration; blank for none, `undefined` for what cannot be one. */
function plainCode(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  if (hasPurchaseCodeShape(given)) return given;
  const code = normalizePurchaseCode(given);
  return code === '' || hasPurchaseCodeShape(code) ? code : undefined;
}

const verdictOf = (purchase: Purchase, refusal: MarketgateError | undefined): PurchaseLookup =>
  refusal === undefined ? { verdict: 'valid', purchase } : { verdict: 'invalid', denial: refusal };

const absent = (): PurchaseLookup => ({
  verdict: 'absent',
  denial: denial('purchase_required', 'no purchase code came with the request'),
});

const invalid = (): PurchaseLookup => ({
  verdict: 'invalid',
  denial: denial('purchase_code_invalid', 'the service does not know this purchase code'),
});
