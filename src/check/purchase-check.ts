import { UNKNOWN_CLIENT } from '../attempts/client-key.js';
import type { KeyApi } from '../clients/key-api.js';
import { checkSignal } from '../deadline.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';
import { isAboutService, redact } from '../http/failure.js';
import { parseTimestamp } from '../model/fields.js';
import { isSupportUnreadable, type Purchase } from '../model/purchase.js';
import { isBlank, type PurchaseCode, readPurchaseCode } from '../model/purchase-code.js';
import {
  type AppId,
  flag,
  functionOf,
  idText,
  knownOptions,
  shaped,
  wrongOption,
} from '../options.js';
import { type CheckResult, type Decision, deny, refuse, undecided } from './decision.js';
import {
  type HolderId,
  type HolderIdOf,
  type HolderOptions,
  makeHolderCheck,
} from './holder-check.js';
import { VisitorCall } from './visitor-call.js';

export type { CheckResult, Decision, Denial } from './decision.js';
export type { HolderId, HolderOptions } from './holder-check.js';

/**
 * As much of a {@link KeyApi} as the check uses. Without `isDown`, `onUnknown: 'allow'` lets nobody in, because only that
 * can tell an outage.
 */
export type PurchaseValidator = Pick<KeyApi, 'validatePurchase'> &
  Partial<Pick<KeyApi, 'clock' | 'codePattern' | 'isDown'>>;

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

/** Options of {@link checkPurchase}. */
export interface CheckPurchaseOptions extends PurchaseCheckOptions {
  /**
   * Who is counted by the `guessLimit` of the KeyApi if the code is wrong, such as an address or the id of a user; `false`
   * for nobody. Must be given; all clients that are `undefined` count as one. An IPv6 address counts with its whole /56.
   */
  client: AppId;
  /** Ends the check when aborted; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Decides what a purchase code is worth, as `requirePurchase` does, without a request of Express: Fastify, Koa,
 * Hono, GraphQL, WebSockets, workers.
 *
 * @param code as the customer gave it. A value that is not a string is invalid.
 * @throws TypeError (as a rejection) that names the wrong option; and what `accept` throws.
 *
 * @example
 * const decision = await checkPurchase(keyApi, code, { client: request.ip, item: 1042 });
 * if (decision.verdict === 'valid') console.log(decision.purchase.item.name);
 */
export async function checkPurchase(
  keyApi: PurchaseValidator,
  code: unknown,
  options: CheckPurchaseOptions,
): Promise<Decision> {
  const owner = 'checkPurchase';
  const names = [...CHECK_OPTION_NAMES, 'client', 'signal'] as const;
  const { client, signal, ...rest } = knownOptions(owner, options, names);
  if (!('client' in (options ?? {}))) {
    throw wrongOption(owner, 'client', 'must say who is counted; false counts nobody');
  }
  const counted = client === false ? false : (idText(owner, 'client', client) ?? UNKNOWN_CLIENT);
  if (signal !== undefined) checkSignal(signal);
  const check = new PurchaseCheck<undefined>(owner, keyApi, rest);
  const visit = {
    req: undefined,
    signal: () => signal,
    client: () => counted,
    throwIfLeft: () => signal?.throwIfAborted(),
  };
  const { isOutage: _, ...decision } = await check.decide(code, visit);
  signal?.throwIfAborted();
  return decision;
}

export const CHECK_OPTION_NAMES = [
  'item',
  'licenseType',
  'supported',
  'accept',
  'fresh',
  'holder',
] as const;

const MALFORMED =
  'this is no purchase code: it is too short, too long, or has other characters; check that the whole code was copied';
const NOT_KNOWN =
  'the service does not know this purchase code; check that the whole code was copied';
const NO_ITEM_ID =
  'the item must be a whole number, as Number(req.params.id) gives it; check the link';

const NO_ANSWER =
  'validatePurchase gave neither a purchase nor null; a wrapper must pass on what the KeyApi gives or throws';

/** The answer about a code, `null` for one that the service does not know; or why there is none. */
type Answer =
  | { readonly purchase: Purchase | null; readonly unknown?: undefined }
  | { readonly purchase?: undefined; readonly unknown: CheckResult };

/** What comes with a code. */
export interface Visit<Req> {
  readonly req: Req;
  /** Makes the signal that ends the request. Called only if the service is to be asked. */
  readonly signal: () => AbortSignal | undefined;
  /** Who is counted. Called only if the service is to be asked. */
  readonly client: () => AppId;
  /** Throws when the visitor has left. */
  readonly throwIfLeft: () => void;
}

/** The check of a guard: finds out what a code is worth. */
export class PurchaseCheck<Req> {
  readonly #items: readonly number[] | undefined;
  readonly #refusalOf: ReturnType<typeof makeConditionCheck<Req>>;
  readonly #hold: ReturnType<typeof makeHolderCheck<Req>> | undefined;

  /**
   * @param letsInOutage whether visitors are let in while the service is down. With `holder` they need an account then, too.
   * @throws TypeError that names the wrong option.
   */
  constructor(
    private readonly owner: string,
    private readonly keyApi: PurchaseValidator,
    private readonly options: PurchaseCheckOptions<Req, HolderId | HolderIdOf<Req>>,
    private readonly letsInOutage = false,
  ) {
    shaped<PurchaseValidator>(['validatePurchase'], 'a KeyApi')(owner, 'keyApi', keyApi);
    const { item, fresh } = options;
    this.#items = typeof item === 'function' ? undefined : itemsOption(owner, item);
    this.#refusalOf = makeConditionCheck(owner, options, keyApi.clock ?? Date.now);
    functionOf()(owner, 'accept', options.accept);
    this.#hold = 'holder' in options ? makeHolderCheck(owner, options.holder) : undefined;
    if (typeof fresh !== 'function') flag(owner, 'fresh', fresh);
  }

  /** Rejects with the errors of the app's own functions. @param given the code as it was sent. */
  async decide(given: unknown, visit: Visit<Req>): Promise<CheckResult> {
    const { req } = visit;
    if (isAbsent(given)) {
      const message = 'no purchase code was sent; send the one that came with the purchase';
      return deny('purchase_required', message, 'absent');
    }
    const { item, accept } = this.options;
    const items = typeof item === 'function' ? [await item(req)].flat() : this.#items;
    if (items && !areIds(items)) return deny('item_id_invalid', NO_ITEM_ID);

    const code = readPurchaseCode(given, this.keyApi.codePattern);
    if (code === undefined) return deny('purchase_code_invalid', MALFORMED);

    const { purchase, unknown } = await this.#ask(code, visit);
    if (unknown !== undefined) {
      // In an outage nobody becomes a holder, but visitors without an account are refused.
      return unknown.isOutage && this.#hold ? this.#hold(unknown, code, req) : unknown;
    }
    if (purchase === null) return deny('purchase_code_invalid', NOT_KNOWN);

    const refusal = this.#refusalOf(purchase, items, code);
    if (refusal !== undefined) return refusal;
    if (accept !== undefined && (await accept(purchase, req)) !== true) {
      return refuse(purchase, 'purchase_not_accepted', '"accept" refused it; send another one');
    }
    const valid: CheckResult = { verdict: 'valid', purchase };
    // Last, so that a refused purchase is held by nobody.
    return this.#hold ? this.#hold(valid, code, req) : valid;
  }

  /** Asks the cache or the service. */
  async #ask(code: PurchaseCode, visit: Visit<Req>): Promise<Answer> {
    const { owner, options } = this;
    const { fresh } = options;
    const isFresh = typeof fresh === 'function' ? await fresh(visit.req) : fresh;
    let isOwnError = false;
    const client = (): AppId => {
      isOwnError = true;
      const given = visit.client();
      isOwnError = false;
      return given;
    };
    const call = new VisitorCall({ signal: visit.signal, client }, flag(owner, 'fresh', isFresh));
    let purchase: Purchase | null;
    try {
      purchase = await this.keyApi.validatePurchase(code, call);
    } catch (error) {
      // `onUnknown` is for a service that is down, not for a visitor who has left, nor for an error of the app.
      visit.throwIfLeft();
      if (isOwnError || !isMarketgateError(error)) throw error;
      if (error.status < 500 && error.code !== 'too_many_attempts') throw error;
      return { unknown: { verdict: 'unknown', error, isOutage: await this.#isOutage(error) } };
    }
    visit.throwIfLeft();
    // A wrapper of a KeyApi can swallow an error: what then comes back lets nobody in.
    if (purchase === null || typeof purchase?.item?.id === 'number') return { purchase };
    return { unknown: undecided(NO_ANSWER) };
  }

  /** Whether an error means that the service is down, and not only for this code. Asked only where it lets visitors in. */
  async #isOutage(error: MarketgateError): Promise<boolean> {
    const { keyApi, letsInOutage } = this;
    if (!letsInOutage || error.code !== 'service_unavailable' || !isAboutService(error))
      return false;
    return (await keyApi.isDown?.()) === true;
  }
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
  const accepted = new Set(licenses?.map((type) => type.toLowerCase()));
  const supported = flag(owner, 'supported', conditions.supported);

  return (
    purchase: Purchase,
    items: readonly number[] | undefined,
    code: PurchaseCode,
  ): CheckResult | undefined => {
    if (items !== undefined && !items.includes(purchase.item.id)) {
      const why = 'for another item; send the code of this one';
      return refuse(purchase, 'purchase_item_mismatch', why);
    }
    if (licenses !== undefined) {
      const type: unknown = purchase.license_type;
      // Nobody can tell which one it is.
      if (typeof type !== 'string' || isBlank(type)) return unreadable('license_type');
      if (!accepted.has(type.toLowerCase())) {
        const why = `its license_type is "${redact(type, [code])}"; it takes ${wanted}`;
        return refuse(purchase, 'license_type_mismatch', why);
      }
    }
    if (supported) {
      // A wrapper of a KeyApi can give a purchase that was never parsed.
      const until: unknown = purchase.supported_until ?? '';
      const isReadable =
        typeof until === 'string' && (until === '' || parseTimestamp(until) !== undefined);
      if (!isReadable || isSupportUnreadable(purchase)) return unreadable('supported_until');
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
  const end = until ? parseTimestamp(until) : undefined;
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
