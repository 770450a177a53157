import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { asError, ERROR_CODES, isMarketgateError, type MarketgateError } from '../errors.js';
import { html, PAGE_POLICY, page } from '../html.js';
import { functionOption, knownOptions } from '../options.js';
import { contextOf, noStore, varyOn } from './context.js';
import { loginPathOption, sendToLogin } from './login.js';
import { prefersHtml } from './plain-http.js';

/** Options of {@link errorHandler}. */
export interface ErrorHandlerOptions {
  /**
   * Path on this site that starts the login. A browser that needs one is sent there, and comes back
   * to where it was; without it, it gets a page that says so.
   */
  loginPath?: string | undefined;
  /**
   * Logs an error of status 500 and above: its message is for the operator, and ends in where to read
   * on (`help`). Default `console.error`; `false` for no log.
   */
  log?: ((error: MarketgateError) => void) | false | undefined;
  /**
   * Answers a visitor who prefers HTML, with a page of your own. Status and headers are set already. Such
   * a page may be rendered later; when it fails, the error goes to `next`. Default: a small page in
   * English.
   */
  render?: ((problem: Problem, req: Request, res: Response) => unknown) | undefined;
}

/** An answer by RFC 9457, with the package's own `code` added. */
export interface Problem {
  /** Identifies the kind of problem; a URN, not an address. */
  type: string;
  /** The case in a few words, the same for each error of the code. */
  title: string;
  /** The HTTP status of the answer. */
  status: number;
  /** What happened and what the visitor can do. */
  detail: string;
  /** The `code` of the error. */
  code: string;
  /** Whole seconds after which a new try makes sense, as in the header `Retry-After`. */
  retryAfter?: number;
}

/** A middleware for errors. It goes behind the routes. */
export type ErrorMiddleware = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * What {@link errorHandler} answers to an error of this package, for an answer of your own: without
 * secrets and without anything for the operator alone. `undefined` for any other error.
 */
export function problemOf(error: unknown): Problem | undefined {
  if (!isMarketgateError(error)) return undefined;
  const { code, retryAfter } = error;
  const { status, title, detail } = ERROR_CODES[code];
  const problem = { type: `urn:marketgate:error:${code}`, title, status, detail, code };
  return retryAfter === undefined ? problem : { ...problem, retryAfter: Math.ceil(retryAfter) };
}

/**
 * Answers the errors of this package with `application/problem+json`, or with a small page for visitors
 * who prefer HTML. All others go on to the app's own handler. The answer is meant for visitors; the
 * error's message is for the operator, and goes to the log.
 *
 * Apps with error pages of their own do not need it: see {@link problemOf}.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function errorHandler(options: ErrorHandlerOptions = {}): ErrorMiddleware {
  const owner = 'errorHandler';
  const given = knownOptions(owner, options, ['loginPath', 'log', 'render']);
  const loginPath = loginPathOption(owner, given.loginPath);
  const log =
    given.log === false
      ? () => {}
      : (functionOption(owner, 'log', given.log) ?? ((error) => console.error(error)));
  const render = functionOption(owner, 'render', given.render);

  return (error, req, res, next) => {
    const problem = problemOf(error);
    if (problem === undefined || res.headersSent) return next(error);
    contextOf(req, res);
    // Nobody waits for the answer any more where the visitor has left.
    if (problem.status >= 500 && !res.closed) log(error as MarketgateError);
    const needsLogin = NEED_LOGIN.has(problem.code);
    const answer = (): void => {
      noStore(res);
      res.statusCode = problem.status;
      res.setHeader('X-Content-Type-Options', 'nosniff');
      if (problem.retryAfter !== undefined) res.setHeader('Retry-After', problem.retryAfter);
      varyOn(res, ['Accept']);
      if (!prefersHtml(req)) {
        res.setHeader('Content-Type', 'application/problem+json; charset=utf-8');
        res.end(JSON.stringify(problem));
      } else if (render !== undefined) {
        (async () => render(problem, req as Request, res as Response))().catch((failure: unknown) =>
          next(asError(failure)),
        );
      } else {
        res.setHeader('Content-Type', 'text/html; charset=utf-8');
        res.setHeader('Content-Security-Policy', `${PAGE_POLICY}; form-action 'none'`);
        res.end(errorPage(problem, needsLogin ? loginPath : undefined));
      }
    };
    // Where a redirect does not fit, or where the visitor was cannot be kept, the answer says so.
    if (needsLogin) sendToLogin(error as MarketgateError, loginPath, req, res, answer);
    else answer();
  };
}

const NEED_LOGIN: ReadonlySet<string> = new Set(['login_required', 'access_token_expired']);

/** What happened and what to do. */
function errorPage({ title, detail, code }: Problem, loginPath: string | undefined): string {
  const content = html`<h1>${title}</h1>
<p>${detail}</p>
${loginPath && html`<p><a href="${loginPath}">Log in</a></p>`}
<p><small>Code: ${code}</small></p>`;
  return page(title, content);
}
