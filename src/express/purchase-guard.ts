import type { NextFunction, Request, Response } from 'express';
import { checkOptions, type PurchaseCheckOptions } from '../check/conditions.js';
import type { CheckResult, Denial } from '../check/decision.js';
import type { HolderId, HolderIdOf } from '../check/holder-check.js';
import { makeDecide, type PurchaseValidator, purchaseValidator } from '../check/purchase-check.js';
import { type GuardMessage, guardChannel, warnOnce } from '../diagnostics.js';
import type { MarketgateError } from '../errors.js';
import {
  choice,
  functionOf,
  readOptions,
  type Table,
  type Values,
  wrongOption,
} from '../options.js';
import { type ClientOption, clientOption } from '../web/client.js';
import { refuseWith } from '../web/response.js';
import { idOfUser } from '../web/user.js';
import { type CodeSource, codeOption } from './code-source.js';
import { keepPrivate, type MarketplaceContext, type Middleware, varyOn } from './context.js';
import { middleware, VisitorCall } from './middleware.js';

/** Options of {@link loadPurchase}, and of {@link requirePurchase}, which has more. */
export interface LoadPurchaseOptions
  extends PurchaseCheckOptions<Request, (req: Request) => HolderId | Promise<HolderId>> {
  /**
   * Where the purchase code is read from. Default: the header `x-purchase-code`, then the body's field
   * `purchase_code`.
   */
  code?: CodeSource | undefined;
  /**
   * Who is counted by the `guessLimit` of the KeyApi, as in `(req) => req.user?.id`; `false` for nobody. Default: `req.ip`,
   * which needs Express's `trust proxy` behind a proxy, or the socket's address; also where the function gives nothing.
   */
  client?: ClientOption;
}

/** Options of {@link requirePurchase}. */
export interface RequirePurchaseOptions extends LoadPurchaseOptions {
  /**
   * What happens with a well-formed code while the service is down: it cannot be reached, times out or answers 5xx, also
   * about the account. `'deny'` (default): the error goes to `next`. `'allow'`: the visitor is let in, with
   * `req.marketplace.verdict` "unknown" and no purchase; with `holder` only if somebody is logged in. Any other failure
   * goes to `next` in any case.
   */
  onUnknown?: 'deny' | 'allow' | undefined;
  /** Responds to a refused visitor. Default: `next(denial)`. Not called when the service could not be asked. */
  onDenied?:
    | ((denial: Denial, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

const LOAD_OPTIONS = {
  code: codeOption,
  client: clientOption,
  ...checkOptions<Request>((owner, name, value) => {
    // An id that is the same for all visitors would let them share a code.
    if (typeof value === 'function') return idOfUser(value as HolderIdOf<Request>);
    throw wrongOption(owner, name, 'must be a function, as in (req) => req.user?.id');
  }),
} satisfies Table<LoadPurchaseOptions>;

const REQUIRE_OPTIONS = {
  ...LOAD_OPTIONS,
  onUnknown: choice('deny', 'allow'),
  onDenied: functionOf<NonNullable<RequirePurchaseOptions['onDenied']>>(),
} satisfies Table<RequirePurchaseOptions>;

/**
 * Lets only visitors with a valid purchase code into a route (specification: purchases/validation), with the purchase at
 * `req.marketplace.purchase`.
 *
 * Refusals: `purchase_required` (402); `purchase_code_invalid`, `purchase_item_mismatch`, `license_type_mismatch`,
 * `support_expired`, `purchase_not_accepted`, `purchase_held` (403); `login_required` (401); `item_id_invalid` (400);
 * `too_many_attempts` (429). When the service or the holder store cannot be asked, it is an error such as
 * `service_unavailable` (503), never a refusal.
 *
 * What it lets through gets `Cache-Control: private`, unless the app has set that header before, and `Vary` with the
 * request headers that the code is read from. Refusals get `no-store`.
 *
 * @throws TypeError that names the wrong option, when it is made.
 *
 * @example
 * app.get('/downloads/:id', requirePurchase(keyApi, { item: (req) => Number(req.params.id) }), (req, res) => {
 *   res.download(fileOf(purchaseOf(req).item.id));
 * });
 */
export function requirePurchase(
  keyApi: PurchaseValidator,
  options: RequirePurchaseOptions = {},
): Middleware {
  const owner = 'requirePurchase';
  const { onUnknown, onDenied, ...given } = readOptions(owner, REQUIRE_OPTIONS, options);
  const letsInOutage = onUnknown === 'allow';
  const { code } = given;
  const { decide, headers } = makeGuard(owner, keyApi, given, letsInOutage);

  return middleware(async ({ req, res, next, context }) => {
    const result = await decide(await code(req), req, res);
    const reason = setContext(context, result);
    const allowed = reason === undefined || (letsInOutage && result.isOutage === true);
    report(req, allowed, reason);
    if (allowed) {
      keepPrivate(res, headers);
      next();
      return;
    }
    const isRefusal = result.verdict !== 'unknown' || reason.code === 'too_many_attempts';
    if (onDenied === undefined || !isRefusal) throw reason;
    refuseWith(res, reason);
    await onDenied(reason, req, res, next);
  });
}

/** Publishes a decision. The path of the request is left out, because it can contain the code. */
function report(req: Request, allowed: boolean, reason?: MarketgateError): void {
  if (!guardChannel.hasSubscribers) return;
  const { method, route } = req;
  const path: unknown = route?.path;
  const message: GuardMessage = {
    allowed,
    method,
    ...(reason && { code: reason.code, reason: reason.message }),
    ...(typeof path === 'string' && { route: path }),
  };
  guardChannel.publish(message);
}

/**
 * Finds out what the visitor's purchase code is worth, and blocks no request. Sets `req.marketplace.verdict`:
 *
 * - `valid`: `req.marketplace.purchase` is present, and meets the conditions;
 * - `invalid`: the service does not know the code, or a condition is not met;
 * - `unknown`: the service or the holder store gave no usable answer, or the client has too many failed attempts;
 * - `absent`: no code was sent.
 *
 * `req.marketplace.denial` says why the verdict is not `valid`; with `unknown` it is the error. Only errors of the app's
 * own functions go to `next`. Sets `Cache-Control` (with a code) and `Vary` as {@link requirePurchase} does.
 *
 * @throws TypeError that names the wrong option, when it is made.
 *
 * @example
 * app.get('/', loadPurchase(keyApi, { code: fromSession() }), (req, res) => {
 *   res.render('home', { isCustomer: req.marketplace?.verdict === 'valid' });
 * });
 */
export function loadPurchase(
  keyApi: PurchaseValidator,
  options: LoadPurchaseOptions = {},
): Middleware {
  const owner = 'loadPurchase';
  const given = readOptions(owner, LOAD_OPTIONS, options);
  const { code } = given;
  const { decide, headers } = makeGuard(owner, keyApi, given);
  return middleware(async ({ req, res, next, context }) => {
    const result = await decide(await code(req), req, res);
    setContext(context, result);
    // Without a code, the page is the same for all visitors.
    if (result.verdict === 'absent') varyOn(res, headers);
    else keepPrivate(res, headers);
    next();
  });
}

/** Makes the function that checks the code of a request; also lists the headers that the decision depends on. */
function makeGuard(
  owner: string,
  keyApi: PurchaseValidator,
  { code, client, ...conditions }: Values<typeof LOAD_OPTIONS>,
  letsInOutage = false,
) {
  warnIfInHandler();
  purchaseValidator(owner, 'keyApi', keyApi);
  const decide = makeDecide(owner, keyApi, conditions, letsInOutage);
  return {
    decide: (sent: unknown, req: Request, res: Response): Promise<CheckResult> =>
      decide(sent, req, (fresh) => new VisitorCall(res, client(req), fresh)),
    // A session usually says who holds the code.
    headers: [...(code.headers ?? []), ...(conditions.holder ? ['Cookie'] : [])],
  };
}

/** Stores a result in the context. Gives the reason why it is not valid. */
function setContext(context: MarketplaceContext, result: CheckResult): MarketgateError | undefined {
  context.verdict = result.verdict;
  if (result.verdict === 'valid') {
    // A shallow copy, because Express's res.render writes into its argument.
    context.purchase = { ...result.purchase };
    delete context.denial;
    return undefined;
  }
  delete context.purchase;
  const reason = result.verdict === 'unknown' ? result.error : result.denial;
  context.denial = reason;
  return reason;
}

/** Stack frames of a router that runs a handler, in Express 4 and 5. */
const ROUTER = /\bLayer\.(?:handle_request|handleRequest|handle \[as handle_request\])/;

/** Warns when a handler makes the guard, because each request would make another one. */
function warnIfInHandler(): void {
  const { stackTraceLimit } = Error;
  // More than the default, because the app can have many calls between its handler and the guard.
  Error.stackTraceLimit = 50;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  if (ROUTER.test(String(stack))) warnOnce('MARKETGATE_CREATED_IN_HANDLER');
}
