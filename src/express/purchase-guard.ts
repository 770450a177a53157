import type { ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { holderOptions } from '../check/holder-check.js';
import {
  CHECK_OPTION_NAMES,
  type CheckResult,
  type Denial,
  type HolderId,
  isAbsent,
  PurchaseCheck,
  type PurchaseCheckOptions,
  type PurchaseValidator,
} from '../check/purchase-check.js';
import { type GuardMessage, guardChannel, warnOnce } from '../diagnostics.js';
import type { MarketgateError } from '../errors.js';
import { choice, functionOf, knownOptions, text, wrongOption } from '../options.js';
import { type ClientOption, clientOption } from '../web/client.js';
import { isSentUnseen, queryOf } from '../web/request.js';
import { refuseWith } from '../web/response.js';
import { idOfUser } from '../web/user.js';
import { keepPrivate, type MarketplaceContext, type Middleware, varyOn } from './context.js';
import { leavingOf, middleware } from './middleware.js';

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

const LOAD_OPTION_NAMES = ['code', 'client', ...CHECK_OPTION_NAMES] as const;

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
  const given = knownOptions(owner, options, [...LOAD_OPTION_NAMES, 'onUnknown', 'onDenied']);
  const onUnknown = choice('deny', 'allow')(owner, 'onUnknown', given.onUnknown);
  const letsInOutage = onUnknown === 'allow';
  const { checkRequest, headers } = makeRequestCheck(owner, keyApi, given, letsInOutage);
  const onDenied = functionOf<NonNullable<typeof given.onDenied>>()(
    owner,
    'onDenied',
    given.onDenied,
  );

  return middleware(async ({ req, res, next, context }) => {
    const result = await checkRequest(req, res);
    const reason = setContext(context, result);
    const allowed = reason === undefined || (letsInOutage && result.isOutage === true);
    report(req, allowed, reason);
    if (allowed) {
      keepPrivate(res, headers);
      next();
      return;
    }
    const isRefusal = result.verdict !== 'unknown' || reason.code === 'too_many_attempts';
    refuseWith(res, reason);
    if (onDenied === undefined || !isRefusal) next(reason);
    else await onDenied(reason, req, res, next);
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
  const given = knownOptions(owner, options, LOAD_OPTION_NAMES);
  const { checkRequest, headers } = makeRequestCheck(owner, keyApi, given);
  return middleware(async ({ req, res, next, context }) => {
    const result = await checkRequest(req, res);
    setContext(context, result);
    // Without a code, the page is the same for all visitors.
    if (result.verdict === 'absent') varyOn(res, headers);
    else keepPrivate(res, headers);
    next();
  });
}

/** Makes the function that reads and checks a request's code; also lists the headers that it reads. */
function makeRequestCheck(
  owner: string,
  keyApi: PurchaseValidator,
  options: LoadPurchaseOptions,
  letsInOutage = false,
) {
  warnIfInHandler();
  const { code: source = firstOf(fromHeader('X-Purchase-Code'), fromBody()), holder } = options;
  if (typeof source !== 'function') {
    throw wrongOption(owner, 'code', 'must be a function, as in fromHeader("x-purchase-code")');
  }
  const clientOf = clientOption(owner, options.client);
  const check = new PurchaseCheck<Request>(
    owner,
    keyApi,
    typeof holder?.id === 'function'
      ? { ...options, holder: { ...holderOptions(owner, holder), id: idOfUser(holder.id) } }
      : options,
    letsInOutage,
  );
  // An id that is the same for all visitors would let them share a code.
  if (holder && typeof holder.id !== 'function') {
    throw wrongOption(owner, 'holder.id', 'must be a function, as in (req) => req.user?.id');
  }
  const checkRequest = async (req: Request, res: ServerResponse): Promise<CheckResult> => {
    const code = isSentUnseen(req) ? undefined : await source(req);
    const { signal, throwIfLeft } = leavingOf(res);
    return check.decide(code, { req, signal, throwIfLeft, client: () => clientOf(req) });
  };
  // A session usually says who holds the code.
  const headers = [...(source.headers ?? []), ...(holder ? ['Cookie'] : [])];
  return { checkRequest, headers };
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
  // Not enumerable for an outage, whose message is for the operator: an app can send the context as JSON.
  Object.defineProperty(context, 'denial', { enumerable: reason.expose });
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

/**
 * Reads the purchase code from a request. Gives the code as it was sent, `undefined` when there is none, or a promise of
 * either. Any other value is an invalid code.
 */
export interface CodeSource {
  (req: Request): unknown;
  /** The request headers that it reads, for `Vary`. */
  readonly headers?: readonly string[];
}

/** Makes a source that reads a property of an object of the request. */
function fromField(owner: string, name: string, from: (req: Request) => unknown): CodeSource {
  text()(owner, 'name', name);
  return (req) => {
    const fields = from(req);
    const hasField = typeof fields === 'object' && fields !== null && Object.hasOwn(fields, name);
    return hasField ? (fields as Record<string, unknown>)[name] : undefined;
  };
}

/** Reads the code from a request header. */
export function fromHeader(name: string): CodeSource {
  const header = text()('fromHeader', 'name', name).toLowerCase();
  return Object.assign((req: Request) => req.headers[header], { headers: [name] });
}

/** Content types that the usual body parsers read. Others, such as an uploaded file, contain no code. */
const FORM = /^(?:application\/(?:json|x-www-form-urlencoded)|multipart\/form-data)\b/i;

/**
 * Whether the request has a body that no parser has read into fields. Express 4 gives an empty object where the parser is
 * for another type; so does a form that has only files.
 */
function isUnparsed({ headers = {}, body }: Partial<Request>): boolean {
  const type = String(headers['content-type']);
  const length = Number(headers['content-length'] ?? 0);
  const hasBody = length > 0 || headers['transfer-encoding'] !== undefined;
  if (!hasBody || !FORM.test(type)) return false;
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return true;
  return Object.keys(Object(body)).length === 0 && length > '{}'.length && !/^multi/i.test(type);
}

/** Reads the code from a field of the body, as parsed by `express.urlencoded()` or `express.json()`. */
export function fromBody(name = 'purchase_code'): CodeSource {
  return fromField('fromBody', name, (req) => {
    if (isUnparsed(req)) warnOnce('MARKETGATE_NO_BODY_PARSER');
    return req.body;
  });
}

/** Reads the code from the query. Not part of the default, because URLs are logged and shared. */
export function fromQuery(name = 'purchase_code'): CodeSource {
  return fromField('fromQuery', name, queryOf);
}

/** Reads the code that the app has stored in its session. */
export function fromSession(name = 'purchase_code'): CodeSource {
  const source = fromField('fromSession', name, (req) => {
    const { session } = req as { session?: unknown };
    if (session === undefined) warnOnce('MARKETGATE_NO_SESSION');
    return session;
  });
  return Object.assign(source, { headers: ['Cookie'] });
}

/** Reads the code from the first source that has one. */
export function firstOf(...sources: CodeSource[]): CodeSource {
  if (sources.length === 0 || sources.some((source) => typeof source !== 'function')) {
    throw new TypeError(
      'firstOf: every source must be a function, as in fromHeader("x-purchase-code")',
    );
  }
  const pick = async (req: Request): Promise<unknown> => {
    for (const source of sources) {
      const code = await source(req);
      if (!isAbsent(code)) return code;
    }
    return undefined;
  };
  return Object.assign(pick, { headers: sources.flatMap(({ headers = [] }) => headers) });
}
