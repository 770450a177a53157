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
   * Path on this site that starts the login. A browser that needs a login is redirected there, and
   * afterwards back to its page. Default: none, and the error page says that a login is needed.
   */
  loginPath?: string | undefined;
  /**
   * Logs an error of status 500 and above. Its message is for the operator; its `help` names a page with
   * more. Default `console.error`; `false` for no log.
   */
  log?: ((error: MarketgateError) => void) | false | undefined;
  /**
   * Responds with your own page to a visitor who prefers HTML. Status and headers are set already. It can be
   * async; when it fails, the error goes to `next`. Default: a small page in English.
   */
  render?: ((problem: Problem, req: Request, res: Response) => unknown) | undefined;
}

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
  code: string;
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
 */
export function problemOf(error: unknown): Problem | undefined {
  if (!isMarketgateError(error)) return undefined;
  const { code, retryAfter } = error;
  const { status, title, detail } = ERROR_CODES[code];
  const problem = { type: `urn:marketgate:error:${code}`, title, status, detail, code };
  return retryAfter === undefined ? problem : { ...problem, retryAfter: Math.ceil(retryAfter) };
}

/**
 * Responds to the errors of this package with `application/problem+json`, or with a small page for visitors
 * who prefer HTML. Passes all other errors to `next`. The response is for visitors; the error's message is
 * for the operator, and goes to the log.
 *
 * An app with its own error pages does not need it: see {@link problemOf}.
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
    // Not after the visitor has left, which aborts requests to the service.
    if (problem.status >= 500 && !res.closed) log(error as MarketgateError);
    const needsLogin = NEED_LOGIN.has(problem.code);
    const respond = (): void => {
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
    // Responds without a redirect for a request that is not a navigation, or if its page cannot be saved.
    if (needsLogin) sendToLogin(error as MarketgateError, loginPath, req, res, respond);
    else respond();
  };
}

const NEED_LOGIN: ReadonlySet<string> = new Set(['login_required', 'access_token_expired']);

function errorPage({ title, detail, code }: Problem, loginPath: string | undefined): string {
  const content = html`<h1>${title}</h1>
<p>${detail}</p>
${loginPath && html`<p><a href="${loginPath}">Log in</a></p>`}
<p><small>Code: ${code}</small></p>`;
  return page(title, content);
}
