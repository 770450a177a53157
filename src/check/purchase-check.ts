import type { KeyApi } from '../clients/key-api.js';
import { checkSignal } from '../deadline.js';
import { isMarketgateError } from '../errors.js';
import { isOutage } from '../http/http-client.js';
import { parseTimestamp, wasUnreadable } from '../model/fields.js';
import {
  isBlank,
  isPurchaseCode,
  normalizePurchaseCode,
  type Purchase,
} from '../model/purchase.js';
import {
  type AppId,
  flagOption,
  functionOption,
  knownOptions,
  shapedOption,
  wrongOption,
} from '../options.js';
import { clientKey } from '../stores/guess-limit.js';
import { type CheckResult, type Decision, deny, refuse, undecided } from './decision.js';
import { type GuessGate, type GuessLimitOption, guessGate } from './guess-gate.js';
import {
  type HolderId,
  type HolderIdOf,
  type HolderOptions,
  makeHolderCheck,
} from './holder-check.js';

export type { CheckResult, Decision, Denial } from './decision.js';
export type { HolderId, HolderOptions } from './holder-check.js';

/** As much of a {@link KeyApi} as the check uses. */
export type PurchaseValidator = Pick<KeyApi, 'validatePurchase'> &
  Partial<Pick<KeyApi, 'clock' | 'codePattern' | 'peekPurchase'>>;

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
  /** The purchase's `license_type`, or several, of which one must match. Letter case counts. */
  licenseType?: string | readonly string[] | undefined;
  /** Whether support must still run, compared with the current time of each check. */
  supported?: boolean | undefined;
  /** Any other condition. Anything but true refuses with `purchase_not_accepted`. May be async. */
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
  /**
   * How many failed attempts a client can make: codes that the service does not know, or answers in a way that is
   * neither yes nor no. Outages, repeats that the cache answers, and valid codes do not count. Over the limit, the
   * check gives `too_many_attempts` and sends no request to the service. A client has one count over all guards of a
   * KeyApi. All clients together have 30 a minute (`total`); past that, only clients without a failed attempt can
   * try. `false` turns it off. Default: 10 a minute for each client.
   */
  guessLimit?: GuessLimitOption | undefined;
  /** Whether to ask the service even if the cache has an answer, or a function that decides. Default false. */
  fresh?: boolean | ((req: Req) => boolean | Promise<boolean>) | undefined;
}

/** Options of {@link checkPurchase}. */
export interface CheckPurchaseOptions extends PurchaseCheckOptions {
  /**
   * The client key that `guessLimit` counts by, such as an address or the id of a user. Must be given unless
   * `guessLimit` is `false`; all clients that are `undefined` count as one. An IPv6 address counts with its whole /56.
   */
  client?: AppId;
  /** Ends the check when aborted; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Decides what a purchase code is worth, as `requirePurchase` does, without a request of Express: Fastify, Koa,
 * Hono, GraphQL, WebSockets, workers.
 *
 * @param code as the customer gave it. A value that is not a string is invalid.
 * @throws TypeError (as a rejection) that names the wrong option; and what `accept` throws.
 */
export async function checkPurchase(
  keyApi: PurchaseValidator,
  code: unknown,
  options: CheckPurchaseOptions,
): Promise<Decision> {
  const owner = 'checkPurchase';
  const names = [...CHECK_OPTION_NAMES, 'client', 'signal'] as const;
  const { client, signal, ...rest } = knownOptions(owner, options, names);
  if (rest.guessLimit !== false && !('client' in (options ?? {}))) {
    throw wrongOption(owner, 'client', 'must say who is counted, unless guessLimit is false');
  }
  const counted = clientKey(owner, 'client', client);
  if (signal !== undefined) checkSignal(signal);
  const check = makePurchaseCheck<undefined>(owner, keyApi, rest, () => counted);
  const { isOutage: _, ...decision } = await check(code, undefined, () => signal);
  return decision;
}

export const CHECK_OPTION_NAMES = [
  'item',
  'licenseType',
  'supported',
  'accept',
  'guessLimit',
  'fresh',
  'holder',
] as const;

const MALFORMED =
  'this is no purchase code: it is too short, too long, or has other characters; check that it was copied whole';
const NO_ITEM_ID =
  'the item must be a whole number, as Number(req.params.id) gives it; check the link';

/**
 * Makes the check of a guard, which rejects with the errors of the app's own functions. It asks the service only
 * when the cache has no answer, or is not to be used; only then it calls `signalOf`, for the signal that ends the request.
 * @param clientOf gives the client key. Called only when the cache has no answer.
 * @param letsInOutage whether visitors are let in while the service is down. With `holder` they need an account then, too.
 * @throws TypeError that names the wrong option.
 */
export function makePurchaseCheck<Req>(
  owner: string,
  keyApi: PurchaseValidator,
  options: PurchaseCheckOptions<Req, HolderId | HolderIdOf<Req>>,
  clientOf: (req: Req, gate: GuessGate) => string,
  letsInOutage = false,
) {
  shapedOption<PurchaseValidator>(owner, 'keyApi', keyApi, ['validatePurchase'], 'a KeyApi');
  const { item } = options;
  const itemIds = typeof item === 'function' ? undefined : itemsOption(owner, item);
  const checkConditions = makeConditionCheck(owner, options, keyApi.clock ?? Date.now);
  const accept = functionOption(owner, 'accept', options.accept);
  const checkHolder = 'holder' in options ? makeHolderCheck(owner, options.holder) : undefined;
  const { fresh } = options;
  const checkFresh = (value: unknown): boolean => flagOption(owner, 'fresh', value);
  const isAlwaysFresh = typeof fresh !== 'function' && checkFresh(fresh);
  const gate = guessGate(owner, options.guessLimit, keyApi);

  const decide = async (
    purchase: Purchase | null,
    code: string,
    items: readonly number[] | undefined,
    req: Req,
  ): Promise<CheckResult> => {
    if (purchase === null) {
      return deny(
        'purchase_code_invalid',
        'the service does not know this purchase code; check that it was copied whole',
      );
    }
    // A wrapper of a KeyApi can swallow an error: what then comes back lets nobody in.
    if (typeof purchase?.item?.id !== 'number') {
      return undecided(
        'validatePurchase gave neither a purchase nor null; a wrapper must pass on what the KeyApi gives or throws',
      );
    }
    const refusal = checkConditions(purchase, items);
    if (refusal !== undefined) return refusal;
    if (accept !== undefined && (await accept(purchase, req)) !== true) {
      return refuse(purchase, 'purchase_not_accepted', '"accept" refused it; send another one');
    }
    const valid: CheckResult = { verdict: 'valid', purchase };
    // Last, so that a refused purchase is held by nobody.
    return checkHolder ? checkHolder(valid, code, req) : valid;
  };

  return async (
    given: unknown,
    req: Req,
    signalOf: () => AbortSignal | undefined,
  ): Promise<CheckResult> => {
    if (isAbsent(given)) {
      const message = 'no purchase code was sent; send the one that came with the purchase';
      return deny('purchase_required', message, 'absent');
    }
    const items = typeof item === 'function' ? [await item(req)].flat() : itemIds;
    if (items && !areIds(items)) return deny('item_id_invalid', NO_ITEM_ID);
    if (typeof given !== 'string') return deny('purchase_code_invalid', MALFORMED);
    // Most codes are normalised already.
    const code = isPurchaseCode(given) ? given : normalizePurchaseCode(given);
    if (!isPurchaseCode(code, keyApi.codePattern)) {
      return deny('purchase_code_invalid', MALFORMED);
    }
    const isFresh = typeof fresh === 'function' ? checkFresh(await fresh(req)) : isAlwaysFresh;
    const known = isFresh ? undefined : keyApi.peekPurchase?.(code);
    if (known !== undefined) return decide(known, code, items, req);
    const signal = signalOf();
    signal?.throwIfAborted();
    const ask = async (onCached?: () => void) =>
      keyApi.validatePurchase(code, { signal, fresh: isFresh, onCached });
    // Outside of `try`, because a failing `keyGenerator` is the app's error, not an answer of the service.
    const asked = gate ? gate.attempt(clientOf(req, gate), ask, signal) : ask();
    let purchase: Purchase | null;
    try {
      purchase = await asked;
    } catch (error) {
      // `onUnknown` is for a service that is down, not for a visitor who has left.
      if (!isMarketgateError(error) || signal?.aborted) throw error;
      if (error.status < 500 && error.code !== 'too_many_attempts') throw error;
      const unknown: CheckResult = { verdict: 'unknown', error };
      if (!letsInOutage || !(await isOutage(error))) return unknown;
      const outage: CheckResult = { ...unknown, isOutage: true };
      return checkHolder ? checkHolder(outage, code, req) : outage;
    }
    signal?.throwIfAborted();
    return decide(purchase, code, items, req);
  };
}

/** Whether no code was sent. Any other value that is not a string is a wrong code. */
export const isAbsent = (code: unknown): boolean =>
  code === undefined || code === null || (typeof code === 'string' && isBlank(code));

/** Checks the options. Gives the function that refuses a valid purchase which does not meet the conditions. */
function makeConditionCheck<Req>(
  owner: string,
  conditions: PurchaseConditions<Req>,
  clock: () => number,
) {
  for (const name of ['item', 'licenseType', 'supported', 'accept'] as const) {
    // `item: config.itemId` with nothing configured must not let every purchase in.
    if (name in conditions && conditions[name] === undefined) {
      throw wrongOption(owner, name, 'is given, but undefined: is its variable set?');
    }
  }
  const licenses = licensesOption(owner, conditions.licenseType);
  const wanted = licenses?.map((type) => `"${type}"`).join(' or ');
  const supported = flagOption(owner, 'supported', conditions.supported);

  return (purchase: Purchase, items: readonly number[] | undefined): CheckResult | undefined => {
    if (items !== undefined && !items.includes(purchase.item.id)) {
      const why = 'for another item; send the code of this one';
      return refuse(purchase, 'purchase_item_mismatch', why);
    }
    if (licenses !== undefined) {
      if (wasUnreadable(purchase, 'license_type')) return unreadable('license_type');
      if (!licenses.includes(purchase.license_type)) {
        const why = `its licence is of another kind; it takes ${wanted}`;
        return refuse(purchase, 'license_type_mismatch', why);
      }
    }
    if (supported) {
      const { supported_until: until = '' } = purchase;
      // A wrapper of a KeyApi can give a purchase that was never parsed.
      const isNoTime = until !== '' && parseTimestamp(until) === undefined;
      if (isNoTime || wasUnreadable(purchase, 'supported_until')) {
        return unreadable('supported_until');
      }
      if (!isSupported(purchase, clock())) {
        const why = 'its support has expired or was never bought; renew it';
        return refuse(purchase, 'support_expired', why);
      }
    }
    return undefined;
  };
}

/** Whether support runs at the time `now`. */
export function isSupported({ supported_until: until }: Purchase, now: number): boolean {
  const end = until === undefined ? undefined : parseTimestamp(until);
  return end !== undefined && end > now;
}

/** A condition cannot be checked. */
const unreadable = (field: string): CheckResult =>
  undecided(
    `the service sent a "${field}" that cannot be read, and a condition needs it; see the diagnostics channel marketgate:drift`,
  );

/** Digits are refused too: of `?item=1&item=2` in a query, a visitor would choose one. */
const areIds = (ids: readonly unknown[]): boolean =>
  ids.every((id) => Number.isSafeInteger(id) && Number(id) >= 0);

/** `undefined`: any item will do. */
function itemsOption(owner: string, item: unknown): readonly number[] | undefined {
  if (item === undefined) return undefined;
  const ids = [item].flat();
  if (ids.length > 0 && areIds(ids)) return ids as number[];
  throw wrongOption(owner, 'item', 'must be an item id (a whole number), several, or a function');
}

function licensesOption(owner: string, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const types = [value].flat();
  if (types.length === 0 || !types.every((type) => typeof type === 'string' && type !== '')) {
    throw wrongOption(owner, 'licenseType', 'must be a license_type, as in "Extended", or several');
  }
  return types as string[];
}
