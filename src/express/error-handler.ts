import type { ErrorRequestHandler, Request, Response } from 'express';
import { ERROR_CODES, isMarketgateError, type MarketgateError } from '../errors.js';
import { knownOptions } from '../options.js';
import { ERROR_PAGE_POLICY, errorPage } from './error-page.js';
import { loginPathOption, sendToLogin } from './login-gate.js';
import { prefersHtml } from './navigation.js';

/** Options of {@link errorHandler}. */
export interface ErrorHandlerOptions {
  /**
   * Path on this site that starts the login. A browser that needs one is sent there, and comes back
   * to where it was; without it, it gets a page that says so.
   */
  loginPath?: string | undefined;
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
}

const NEED_LOGIN: ReadonlySet<string> = new Set(['login_required', 'access_token_expired']);

/**
 * Answers the errors of this package: `application/problem+json`, or a small page for who prefers
 * HTML. All others go on to the app's own handler. What is said is meant for visitors; the error's
 * message is for the operator, and stays inside.
 *
 * Goes behind the routes. Apps with their own error pages need none of it: `err.code` and
 * `err.status` say everything.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function errorHandler(options: ErrorHandlerOptions = {}): ErrorRequestHandler {
  const given = knownOptions('errorHandler', options, ['loginPath']);
  const loginPath = loginPathOption('errorHandler', given.loginPath);
  return (error: unknown, req, res, next) => {
    if (!isMarketgateError(error) || res.headersSent) return next(error);
    // A 401 must not be kept for the visitor who has logged in since, nor any other refusal.
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    if (!NEED_LOGIN.has(error.code)) return answer(error, req, res, undefined);
    // Where a redirect does not fit, or where one stopped cannot be kept, the answer says so.
    sendToLogin(error, loginPath, req, res, () => answer(error, req, res, loginPath));
  };
}

function answer(
  error: MarketgateError,
  req: Request,
  res: Response,
  loginPath: string | undefined,
): void {
  const { code, retryAfter } = error;
  const { status, title, detail } = ERROR_CODES[code];
  if (retryAfter !== undefined) res.setHeader('Retry-After', String(Math.ceil(retryAfter)));
  res.vary('Accept').status(status);
  if (prefersHtml(req)) {
    res.setHeader('Content-Security-Policy', ERROR_PAGE_POLICY);
    res.type('html').send(errorPage({ title, detail, code, loginPath }));
    return;
  }
  const problem: Problem = { type: `urn:marketgate:error:${code}`, title, status, detail, code };
  res.type('application/problem+json').send(JSON.stringify(problem));
}
