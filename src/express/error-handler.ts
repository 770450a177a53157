import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import {
  asError,
  ERROR_CODES,
  isMarketgateError,
  type MarketgateError,
  type MarketgateErrorCode,
} from '../errors.js';
import { functionOf, readOptions, type Table } from '../options.js';
import { noteSite, type Site, siteOption, sitePolicy } from '../site.js';
import { prefersHtml } from '../web/request.js';
import { refuseWith } from '../web/response.js';
import { contextOf, varyOn } from './context.js';
import { errorPage } from './error-page.js';
import { onceNext } from './middleware.js';
import { blameGuard, pathOption, redirectToLogin } from './require-login.js';

/** Options of {@link errorHandler}. */
export interface ErrorHandlerOptions {
  /**
   * Path on this site that starts the login. A browser that needs a login is redirected there, and afterwards back to
   * its page, unless the guard has a `loginPath` of its own. Default: none; the response is 401 then, and pages have no
   * link to the login.
   */
  loginPath?: string | undefined;
  /**
   * Path on this site that takes a purchase code, by POST, in the form field `purchase_code`. The page for a missing or
   * wrong code has a form that sends it there. The form has no token against cross-site request forgery: exempt the
   * path, or show your own page with `render`. Default: none; then only the page after a form with a code has one, which
   * sends to the same address.
   */
  redeemPath?: string | undefined;
  /**
   * The site that the pages belong to: its name, logo, start page and contact, and its words, which are also those of
   * problem+json. The page "Continue as NAME?" of a {@link MarketplaceStrategy} without a `site` shows the same one, if all
   * error handlers of the process have the same. Default: none; pages are in English, and lead to "/".
   */
  site?: Site | undefined;
  /**
   * Logs an error of status 500 and above, in one line: the request's method and the app's route (its pattern, because a path can contain a code), the status,
   * the code, the message for the operator, and the command that prints more. `error` is given only where it is no
   * {@link MarketgateError}: a session that cannot be written before a redirect. It can be async. Default
   * `console.error`, also when it fails; `false` for no log.
   */
  log?: ((line: string, error?: unknown) => unknown) | false | undefined;
  /**
   * Responds with your own page to a visitor who prefers HTML. Status and headers are set already. It can be
   * async; when it fails, the error goes to `next`. Default: a small page of the `site`.
   */
  render?: ((problem: Problem, req: Request, res: Response) => unknown) | undefined;
}

type Log = (line: string, error?: unknown) => unknown;
type Render = NonNullable<ErrorHandlerOptions['render']>;

const OPTIONS = {
  loginPath: pathOption,
  redeemPath: pathOption,
  site: siteOption,
  log: (...given): Log | undefined => (given[2] === false ? () => {} : functionOf<Log>()(...given)),
  render: functionOf<Render>(),
} satisfies Table<ErrorHandlerOptions>;

/** A problem of RFC 9457, with this package's `code` and `retryAfter`. */
export interface Problem {
  /** Identifies the kind of problem; a URN, not an address. */
  type: string;
  /** A few words, the same for every error with this code. */
  title: string;
  /** The HTTP status of the response. */
  status: number;
  /** What happened and what the visitor can do. */
  detail: string;
  /** The `code` of the error. */
  code: MarketgateErrorCode;
  /** Whole seconds to wait before the next try, as in the header `Retry-After`. */
  retryAfter?: number;
}

/** An error middleware, which an app uses after its routes. */
export type ErrorMiddleware = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * The problem that {@link errorHandler} responds with to an error of this package, for your own response. It
 * has no secrets and nothing that is only for the operator. `undefined` for any other error.
 *
 * @example
 * app.use((error, req, res, next) => {
 *   const problem = problemOf(error);
 *   if (problem) res.status(problem.status).render('problem', problem);
 *   else next(error);
 * });
 */
export function problemOf(error: MarketgateError): Problem;
export function problemOf(error: unknown): Problem | undefined;
export function problemOf(error: unknown): Problem | undefined {
  return isMarketgateError(error) ? problemInWords(error, {}) : undefined;
}

/** The problem of an error, in the words of a site where it has its own. */
function problemInWords(error: MarketgateError, { words }: Site): Problem {
  const { code, status, retryAfter } = error;
  const usual = ERROR_CODES[code];
  const { title = usual.title, detail = error.detail ?? usual.detail } = words?.[code] ?? {};
  const problem = { type: `urn:marketgate:error:${code}`, title, status, detail, code };
  return retryAfter === undefined ? problem : { ...problem, retryAfter: Math.ceil(retryAfter) };
}

/**
 * Responds to the errors of this package with `application/problem+json`, or with a small page for visitors who prefer
 * HTML. Passes all other errors to `next`. An app with its own error pages does not need it: see {@link problemOf}.
 *
 * @throws TypeError that names the wrong option, when it is made.
 *
 * @example
 * const site = { name: 'My shop', logo: '/logo.svg', contact: 'help@shop.example' };
 * app.use(errorHandler({ loginPath: '/login', redeemPath: '/redeem', site })); // below all routes
 */
export function errorHandler(options: ErrorHandlerOptions = {}): ErrorMiddleware {
  const owner = 'errorHandler';
  const { site, log, render, ...paths } = readOptions(owner, OPTIONS, options);
  const { loginPath } = paths;
  noteSite(site);

  const report = async (req: IncomingMessage, what: string, ...error: unknown[]): Promise<void> => {
    const line = `marketgate: ${req.method} ${routeOf(req)} ${what}`.replace(/\s+/g, ' ');
    try {
      await (log ?? console.error)(line, ...error);
    } catch {
      console.error(line, ...error);
    }
  };

  const respond = async (
    given: MarketgateError,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> => {
    contextOf(req, res);
    const error = loginPath === undefined ? given : blameGuard(given, loginPath, req);
    const problem = problemInWords(error, site ?? {});
    // After the visitor has left, the error is usually only the aborted request.
    if (problem.status >= 500 && !res.closed) {
      void report(req, `${problem.status} ${error.code}: ${error.message}`);
    }
    try {
      if (loginPath && (await redirectToLogin(error, loginPath, req, res))) return;
    } catch (unsaved) {
      const what = 'the page that needs the login could not be saved';
      if (isMarketgateError(unsaved)) void report(req, `${what}: ${unsaved.message}`);
      else void report(req, what, unsaved);
    }
    // The app can have responded while the session was saved.
    if (res.headersSent) return;
    // The route can have set headers about a body that it then did not send.
    for (const name of res.getHeaderNames()) {
      if (/^(content-(?!security)|etag|last-modified)/.test(name)) res.removeHeader(name);
    }
    res.statusCode = problem.status;
    refuseWith(res, error);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    varyOn(res, ['Accept']);
    if (!prefersHtml(req)) {
      res.setHeader('Content-Type', 'application/problem+json; charset=utf-8');
      res.end(JSON.stringify(problem));
    } else if (render !== undefined) {
      await render(problem, req as Request, res as Response);
    } else {
      res.setHeader('Content-Type', 'text/html; charset=utf-8');
      // No `form-action`: browsers apply it to the redirects after a form, too, and those can lead to the marketplace's login.
      res.setHeader('Content-Security-Policy', sitePolicy(site));
      res.end(errorPage(problem, req, { ...paths, site }));
    }
  };

  return (error, req, res, next) => {
    if (!isMarketgateError(error) || res.headersSent) return next(error);
    const fail = onceNext(req, res, next);
    respond(error, req, res).catch((failure: unknown) => fail(asError(failure)));
  };
}

/** The route as the app has written it: a path can contain a purchase code. */
function routeOf(req: IncomingMessage): string {
  const path: unknown = (req as { route?: { path?: unknown } }).route?.path;
  return path === undefined ? '(no route)' : String(path);
}
