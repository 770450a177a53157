import type { VisitorCallOptions } from '../cache/cache.js';
import type { KeyApi } from '../clients/key-api.js';
import { checkSignal } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import { isMarketgateError } from '../errors.js';
import { failureOf } from '../http/failure.js';
import { parseTimestamp } from '../model/fields.js';
import type { Purchase } from '../model/purchase.js';
import { faultOfCode, isBlank, readPurchaseCode } from '../model/purchase-code.js';
import {
  type AppId,
  type Check,
  condition,
  flag,
  functionOf,
  idText,
  readOptions,
  shaped,
  type Table,
  UNKNOWN_CLIENT,
  type Values,
  wrongOption,
} from '../options.js';
import { redact } from '../redact.js';
import { absent, type CheckResult, type Decision, deny, refuse, undecided } from './decision.js';
import {
  type HolderId,
  type HolderIdOf,
  type HolderOptions,
  holderOption,
} from './holder-check.js';

export type { CheckResult, Decision, Denial } from './decision.js';
export type { HolderId, HolderIdOf, HolderOptions } from './holder-check.js';

/** As much of a {@link KeyApi} as the check uses. */
export type PurchaseValidator = Pick<KeyApi, 'validatePurchase'> & Partial<Pick<KeyApi, 'clock'>>;

export const purchaseValidator = shaped<PurchaseValidator>(['validatePurchase'], 'a KeyApi');

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
 * @param code as the customer gave it. Of an array, as of a field that was sent twice, a single text counts; anything else
 * that is no string is invalid.
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
  const { client, signal, ...conditions } = readOptions(owner, OPTIONS, options ?? {});
  purchaseValidator(owner, 'keyApi', keyApi);
  const decide = makeDecide<undefined>(owner, keyApi, conditions);
  const { isOutage: _, ...decision } = await decide(code, undefined, (fresh) => ({
    client,
    signal,
    fresh,
  }));
  signal?.throwIfAborted();
  return decision;
}

/** Checks the conditions of a guard. @param id the check of `holder.id`. */
export const conditionOptions = <Req>(id: Check<HolderIdOf<Req>>) =>
  ({
    item: condition(itemOption<Req>),
    licenseType: condition(licenseOption),
    supported: condition(flag),
    accept: condition(functionOf<(purchase: Purchase, req: Req) => boolean | Promise<boolean>>()),
    holder: condition(holderOption(id)),
    fresh: freshOption<Req>,
  }) satisfies Table<PurchaseCheckOptions<Req, unknown>>;

type Conditions<Req> = Values<ReturnType<typeof conditionOptions<Req>>>;

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

const OPTIONS = {
  ...conditionOptions<undefined>((owner, name, value, isGiven) => {
    if (!isGiven) throw wrongOption(owner, name, 'must say which account it is');
    idText(owner, name, value);
    return () => value as HolderId;
  }),
  client: (owner, name, value, isGiven): AppId => {
    if (!isGiven) throw wrongOption(owner, name, 'must say who is counted; false counts nobody');
    return value === false ? false : (idText(owner, name, value) ?? UNKNOWN_CLIENT);
  },
  signal: (_owner, _name, value) => {
    if (value !== undefined) checkSignal(value as AbortSignal);
    return value as AbortSignal | undefined;
  },
} satisfies Table<CheckPurchaseOptions>;

/** Makes the function that finds out what a code is worth. It rejects with the errors of the app's own functions. */
export function makeDecide<Req>(
  owner: string,
  keyApi: PurchaseValidator,
  { item, licenseType, supported, accept, holder, fresh }: Conditions<Req>,
  letsInOutage = false,
) {
  const clock = keyApi.clock ?? Date.now;

  /**
   * @param sent the code as it came, or a promise of it.
   * @param callFor gives the options of the call, and whether the visitor has left since. Called once, where there is a code to
   * ask about.
   */
  return async function decide(
    sent: unknown,
    req: Req,
    callFor: (fresh: boolean) => VisitorCallOptions & { readonly hasLeft?: boolean },
  ): Promise<CheckResult> {
    const pasted = sentText(await sent);
    if (pasted === undefined) return absent(NO_CODE);
    if (pasted === null) {
      warnOnce('MARKETGATE_CODE_NOT_TEXT');
      return deny('purchase_code_invalid', ...NOT_TEXT);
    }
    const code = readPurchaseCode(pasted);
    if (code === undefined) return deny('purchase_code_invalid', ...FAULTS[faultOfCode(pasted)]);

    const items = typeof item === 'function' ? [await item(req)].flat() : item;
    if (items && !areIds(items)) return deny('item_id_invalid', NO_ITEM_ID);

    const isFresh = typeof fresh === 'function' ? await fresh(req) : fresh;
    const call = callFor(flag(owner, 'fresh', isFresh));
    let purchase: Purchase | null;
    try {
      purchase = await keyApi.validatePurchase(code.text, call);
    } catch (error) {
      // Errors of the app's own `fetch` or of a wrapper, and what ends the call of a visitor who has left, are no verdict.
      if (!isMarketgateError(error) || call.hasLeft) throw error;
      if (error.status < 500 && error.code !== 'too_many_attempts') throw error;
      const isOutage = letsInOutage && failureOf(error)?.isOutage === true;
      const unknown: CheckResult = { verdict: 'unknown', error, isOutage };
      // Nobody becomes a holder now, but visitors without an account are refused.
      return isOutage && holder ? holder(unknown, code, req) : unknown;
    }
    if (purchase === null) return deny('purchase_code_invalid', NOT_KNOWN);
    // A wrapper of a KeyApi can swallow an error: what then comes back lets nobody in.
    if (typeof purchase?.item?.id !== 'number') return undecided(NO_ANSWER);

    if (items && !items.includes(purchase.item.id)) {
      const why = 'for another item; send the code of this one';
      return refuse(purchase, 'purchase_item_mismatch', why);
    }
    if (licenseType) {
      const type: unknown = purchase.license_type;
      if (typeof type !== 'string' || isBlank(type)) return unreadable('license_type');
      if (!licenseType.some((each) => each.toLowerCase() === type.toLowerCase())) {
        const wanted = licenseType.map((each) => `"${each}"`).join(' or ');
        const why = `its license_type is "${redact(type, [code.text])}"; it takes ${wanted}`;
        return refuse(purchase, 'license_type_mismatch', why);
      }
    }
    if (supported) {
      const end = endOfSupport(purchase);
      if (end === undefined) return unreadable('supported_until');
      if (end <= clock()) {
        const why = 'its support has expired or was never bought; renew it';
        return refuse(purchase, 'support_expired', why);
      }
    }
    if (accept && (await accept(purchase, req)) !== true) {
      return refuse(purchase, 'purchase_not_accepted', '"accept" refused it; send another one');
    }
    const valid: CheckResult = { verdict: 'valid', purchase };
    // Last, so that a refused purchase is held by nobody.
    return holder ? holder(valid, code, req) : valid;
  };
}

/**
 * The text that was sent as a code; of several values, as of a field that was sent twice, the only one. `undefined`: nothing
 * was sent. `null`: something else.
 */
export function sentText(sent: unknown): string | null | undefined {
  if (typeof sent === 'string') return isBlank(sent) ? undefined : sent;
  const values = (Array.isArray(sent) ? sent : [sent]).filter((value) => !isNothing(value));
  const texts = new Set(values.filter((value) => typeof value === 'string'));
  const [text] = texts;
  if (texts.size === 1) return text;
  return values.length === 0 ? undefined : null;
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && isBlank(value));

/** When support ends, in epoch milliseconds: 0 for none, `undefined` where that cannot be read. */
export function endOfSupport({ supported_until: until }: Purchase): number | undefined {
  // A wrapper of a KeyApi can give a purchase that was never read.
  if (until === undefined || until === null || until === '') return 0;
  return typeof until === 'string' ? parseTimestamp(until) : undefined;
}

const NO_CODE = 'no purchase code was sent; send the one that came with the purchase';
const NOT_KNOWN =
  'the service does not know this purchase code; check that the whole code was copied';
const NO_ITEM_ID =
  'the item must be a whole number, as Number(req.params.id) gives it; check the link';
const NO_ANSWER =
  'validatePurchase gave neither a purchase nor null; a wrapper must pass on what the KeyApi gives or throws';

/** Why something is no code: for the operator, and for the visitor. */
type Fault = readonly [message: string, detail: string];
const NOT_TEXT: Fault = [
  'the purchase code came as several values, or is no text; send it once, as text',
  'The purchase code did not arrive as one text. Please enter it once, and nothing else.',
];
const FAULTS: Readonly<Record<ReturnType<typeof faultOfCode>, Fault>> = {
  'too long': [
    'this is longer than a purchase code; send the code alone',
    'This is longer than a purchase code. Please enter the code alone.',
  ],
  'too short': [
    'this is too short for a purchase code; check that the whole code was copied',
    'This is too short for a purchase code. Please check that you copied the whole code.',
  ],
  'other characters': [
    'this has characters that no purchase code has; check what was copied',
    'This has characters that no purchase code has. Please copy the code once more.',
  ],
};

/** The service sent a field that a condition needs, and it cannot be read. */
const unreadable = (field: string): CheckResult =>
  undecided(
    `the service sent a "${field}" that cannot be read, and a condition needs it; see the diagnostics channel marketgate:drift`,
  );

/** Digits are refused too: of `?item=1&item=2` in a query, a visitor would choose one. */
const areIds = (ids: readonly unknown[]): ids is readonly number[] =>
  ids.every((id) => Number.isSafeInteger(id) && Number(id) >= 0);
