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
  flag,
  idText,
  machineClock,
  readOptions,
  shaped,
  type Table,
  UNKNOWN_CLIENT,
  wrongOption,
} from '../options.js';
import { redact } from '../redact.js';
import { areIds, type Checked, checkOptions, type PurchaseCheckOptions } from './conditions.js';
import { absent, type CheckResult, type Decision, deny, refuse, undecided } from './decision.js';
import type { HolderId } from './holder-check.js';

/** As much of a {@link KeyApi} as the check uses. */
export type PurchaseValidator = Pick<KeyApi, 'validatePurchase'> & Partial<Pick<KeyApi, 'clock'>>;

export const purchaseValidator = shaped<PurchaseValidator>(['validatePurchase'], 'a KeyApi');

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

const OPTIONS = {
  ...checkOptions<undefined>((owner, name, value, isGiven) => {
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
  { item, licenseType, supported, accept, holder, fresh }: Checked<Req>,
  letsInOutage = false,
) {
  const clock = keyApi.clock ?? machineClock;

  /**
   * @param sent the code as it came.
   * @param callFor gives the options of the call, and whether the visitor has left since. Called once, where there is a code to
   * ask about.
   */
  return async function decide(
    sent: unknown,
    req: Req,
    callFor: (fresh: boolean) => VisitorCallOptions & { readonly hasLeft?: boolean },
  ): Promise<CheckResult> {
    const pasted = sentText(sent);
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

/** `false` is what a signed cookie gives whose signature is wrong, and `isLoggedIn && code`. */
const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  (typeof value === 'string' && isBlank(value));

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
  'the item must be a whole number, as Number(req.params.id) gives it; check the link, and that the route has that parameter: there is none in router.use, nor in a child router without mergeParams';
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
