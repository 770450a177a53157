import type { ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import {
  CHECK_OPTION_NAMES,
  type CheckResult,
  type Denial,
  isAbsent,
  isPromise,
  type PurchaseCheckOptions,
  type PurchaseValidator,
  purchaseCheck,
} from '../check/purchase-check.js';
import { type GuardMessage, guardChannel, warnOnce } from '../diagnostics.js';
import { asError, type MarketgateError } from '../errors.js';
import { choiceOption, functionOption, knownOptions, textOption } from '../options.js';
import {
  contextOf,
  keepPrivate,
  type MarketplaceContext,
  type Middleware,
  noStore,
  varyOn,
} from './context.js';
import { loader, whileThere } from './load.js';
import { queryOf } from './plain-http.js';

/** Options of {@link loadPurchase}, and what {@link requirePurchase} has in common with it. */
export interface LoadPurchaseOptions extends PurchaseCheckOptions<Request> {
  /**
   * Where the code is found. Default: the header `x-purchase-code`, then the body's field
   * `purchase_code`.
   */
  code?: CodeSource | undefined;
}

/** Options of {@link requirePurchase}. */
export interface RequirePurchaseOptions extends LoadPurchaseOptions {
  /**
   * What happens when the service cannot be asked about a well-formed code. `'deny'` (default): the error
   * goes to `next`. `'allow'`: the visitor is let in, with `req.marketplace.verdict` "unknown" and no
   * purchase. A failure of your own `code`, `item` or `accept` goes to `next` in any case.
   */
  onUnknown?: 'deny' | 'allow' | undefined;
  /**
   * What happens to a visitor who is refused. Default: `next(denial)`. It is not called when the
   * service could not be asked: that is an error, and no fault of the visitor's.
   */
  onDenied?:
    | ((denial: Denial, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

const LOAD_OPTION_NAMES = ['code', ...CHECK_OPTION_NAMES] as const;

/**
 * Opens a route to those who hold a valid purchase code (specification: purchases/validation).
 *
 * The purchase is at `req.marketplace.purchase` afterwards. Refusals: `purchase_required` (402);
 * `purchase_code_invalid`, `purchase_item_mismatch`, `license_type_mismatch`, `support_expired`,
 * `purchase_not_accepted` (403); `item_id_invalid` (400); `too_many_attempts` (429). When the
 * service cannot be asked: `service_unavailable` (503) and its like, never a refusal.
 *
 * What it lets through gets `Cache-Control: private`, unless the app has set that header before, and
 * `Vary` with the request headers that the code is read from. Refusals get `no-store`.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requirePurchase(
  keyApi: PurchaseValidator,
  options: RequirePurchaseOptions = {},
): Middleware {
  const owner = 'requirePurchase';
  const given = knownOptions(owner, options, [...LOAD_OPTION_NAMES, 'onUnknown', 'onDenied']);
  const { look, headers } = purchaseLook(owner, keyApi, given);
  const onUnknown = choiceOption(owner, 'onUnknown', given.onUnknown, ['deny', 'allow'], 'deny');
  const onDenied = functionOption(owner, 'onDenied', given.onDenied);

  return (req, res, next) => {
    const decided = (result: CheckResult): void => {
      const reason = note(contextOf(req, res), result);
      const isOpen = reason === undefined || (result.isOutage === true && onUnknown === 'allow');
      report(isOpen, reason);
      if (isOpen) {
        keepPrivate(res, headers);
        next();
        return;
      }
      noStore(res);
      const isRefusal = result.verdict !== 'unknown' || reason.code === 'too_many_attempts';
      if (onDenied === undefined || !isRefusal) {
        next(reason);
        return;
      }
      // The app's function could call `next` and fail afterwards.
      let isPassedOn = false;
      const nextOnce = (error?: unknown): void => {
        if (!isPassedOn) next(error);
        isPassedOn = true;
      };
      (async () => onDenied(reason, req as Request, res as Response, nextOnce))().catch(
        (error: unknown) => nextOnce(asError(error)),
      );
    };
    const failed = (error: unknown): void => next(asError(error));
    contextOf(req, res);
    let result: CheckResult | Promise<CheckResult>;
    try {
      result = look(req as Request, res);
    } catch (error) {
      failed(error);
      return;
    }
    // What the cache knows goes on in the same turn: a promise would cost as much as all the rest.
    if (isPromise(result)) result.then(decided, failed);
    else decided(result);
  };
}

/**
 * Finds out what the visitor's purchase code is worth, and blocks nobody. `req.marketplace.verdict` is
 * afterwards
 *
 * - `valid`: `req.marketplace.purchase` is there, and meets the conditions that were given;
 * - `invalid`: the service does not know the code, or a condition is not met;
 * - `unknown`: the service could not be asked, or was not, because of too many failed attempts;
 * - `absent`: no code came.
 *
 * `req.marketplace.denial` says why where it is not `valid`. Only errors of the app's own functions go
 * to `next`. Where a code came, the answer gets `Cache-Control: private`, unless the app has set that
 * header before; it always gets `Vary` with the request headers that the code is read from.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadPurchase(
  keyApi: PurchaseValidator,
  options: LoadPurchaseOptions = {},
): Middleware {
  const owner = 'loadPurchase';
  const given = knownOptions(owner, options, LOAD_OPTION_NAMES);
  const { look, headers } = purchaseLook(owner, keyApi, given);
  return loader(async (req, res, context) => {
    const result = await look(req, res);
    note(context, result);
    // The page of a visitor without a code is the same for all of them.
    if (result.verdict === 'absent') varyOn(res, headers);
    else keepPrivate(res, headers);
  });
}

/** Reads the code of a request and checks it; also the headers that the code is read from. */
function purchaseLook(owner: string, keyApi: PurchaseValidator, options: LoadPurchaseOptions) {
  warnIfInHandler();
  const source =
    functionOption(owner, 'code', options.code) ??
    firstOf(fromHeader('X-Purchase-Code'), fromBody());
  const check = purchaseCheck<Request>(owner, keyApi, options, (req, limit) =>
    limit.keyGenerator(req),
  );
  const look = (req: Request, res: ServerResponse): CheckResult | Promise<CheckResult> => {
    const wait: Parameters<typeof check>[2] = (ask) => whileThere(res, ask);
    const code = source(req);
    return isPromise(code) ? code.then((later) => check(later, req, wait)) : check(code, req, wait);
  };
  return { look, headers: headersOf.get(source) ?? [] };
}

/** Puts a result at `req.marketplace`; gives the reason why it is not valid. */
function note(context: MarketplaceContext, result: CheckResult): MarketgateError | undefined {
  context.verdict = result.verdict;
  if (result.verdict === 'valid') {
    // A copy on top: Express's res.render writes into what it is given.
    context.purchase = { ...result.purchase };
    delete context.denial;
    return undefined;
  }
  delete context.purchase;
  const reason = result.verdict === 'unknown' ? result.error : result.denial;
  // The message of an outage is for the operator: an app may send `req.marketplace` as JSON.
  const { expose: enumerable } = reason;
  Object.defineProperty(context, 'denial', {
    value: reason,
    enumerable,
    configurable: true,
    writable: true,
  });
  return reason;
}

function report(allowed: boolean, reason: MarketgateError | undefined): void {
  if (!guardChannel.hasSubscribers) return;
  const message: GuardMessage = { allowed, ...(reason && { code: reason.code }) };
  guardChannel.publish(message);
}

/** How the frames of a router are called that runs a handler: of Express 4, and of Express 5. */
const ROUTER = /\bLayer\.(?:handle_request|handleRequest|handle \[as handle_request\])/;

/** Warns when the guard that is being made is made by a handler, as each request would make one. */
function warnIfInHandler(): void {
  const { stackTraceLimit } = Error;
  // More than the default: an app's own functions can stand between its handler and a guard.
  Error.stackTraceLimit = 50;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  if (ROUTER.test(stack ?? '')) warnOnce('MARKETGATE_CREATED_IN_HANDLER');
}

/**
 * Where a visitor's purchase code is found in a request. Gives the code as it was sent, `undefined`
 * when there is none, or a promise of either. What is no string counts as an invalid code.
 */
export type CodeSource = (req: Request) => unknown;

/** The request headers that the sources read. */
const headersOf = new WeakMap<CodeSource, readonly string[]>();

function readsHeaders(source: CodeSource, headers: readonly string[]): CodeSource {
  headersOf.set(source, headers);
  return source;
}

const field = (from: unknown, name: string): unknown =>
  typeof from === 'object' && from !== null && Object.hasOwn(from, name)
    ? (from as Record<string, unknown>)[name]
    : undefined;

/** The code in a request header. */
export function fromHeader(name: string): CodeSource {
  const header = textOption('fromHeader', 'name', name).toLowerCase();
  return readsHeaders((req) => req.headers[header], [name]);
}

/** Bodies that the usual parsers read. Others, such as a file that is uploaded, hold no code. */
const FORM = /^\s*(?:application\/(?:json|x-www-form-urlencoded)|multipart\/form-data)\b/i;

/** Whether a body came that a parser should have read. */
const hasForm = ({ headers }: Request): boolean =>
  FORM.test(headers['content-type'] ?? '') &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** The code in a field of the body, as `express.urlencoded()` or `express.json()` reads it. */
export function fromBody(name = 'purchase_code'): CodeSource {
  textOption('fromBody', 'name', name);
  return (req) => {
    if (req.body === undefined && hasForm(req)) warnOnce('MARKETGATE_NO_BODY_PARSER');
    return field(req.body, name);
  };
}

/** The code in the query. Nothing reads from there by default, because URLs are logged and shared. */
export function fromQuery(name = 'purchase_code'): CodeSource {
  textOption('fromQuery', 'name', name);
  return (req) => field(queryOf(req), name);
}

/** The code in a route parameter. It stands in the URL, as with {@link fromQuery}. */
export function fromParams(name = 'purchase_code'): CodeSource {
  textOption('fromParams', 'name', name);
  return (req) => field(req.params, name);
}

/** The code that the app keeps in its session. */
export function fromSession(name = 'purchase_code'): CodeSource {
  textOption('fromSession', 'name', name);
  const source: CodeSource = (req) => {
    const { session } = req as { session?: unknown };
    if (session === undefined) warnOnce('MARKETGATE_NO_SESSION');
    return field(session, name);
  };
  return readsHeaders(source, ['Cookie']);
}

/** The first of several sources that has a code. */
export function firstOf(...sources: CodeSource[]): CodeSource {
  if (sources.length === 0 || sources.some((source) => typeof source !== 'function')) {
    throw new TypeError(
      'firstOf: every source must be a function, as in fromHeader("x-purchase-code")',
    );
  }
  const pick = (req: Request, from: number): unknown => {
    for (const [i, source] of sources.entries()) {
      if (i < from) continue;
      const code = source(req);
      if (isPromise(code)) {
        return code.then((later) => (isAbsent(later) ? pick(req, i + 1) : later));
      }
      if (!isAbsent(code)) return code;
    }
    return undefined;
  };
  return readsHeaders(
    (req) => pick(req, 0),
    sources.flatMap((source) => headersOf.get(source) ?? []),
  );
}
