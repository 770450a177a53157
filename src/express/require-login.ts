import type { RequestHandler } from 'express';
import { knownOptions } from '../options.js';
import { isLoggedIn, loginError, loginPathOption, sendToLogin } from './login-gate.js';

/** Options of {@link requireLogin}. */
export interface RequireLoginOptions {
  /** Path on this site that starts the login. Default `/login`. */
  loginPath?: string | undefined;
}

/**
 * Opens a route to visitors who are logged in, by passport's `req.user`.
 *
 * A browser on its way to a page is sent to the login, and comes back to where it was; everything
 * else (scripts, forms, API clients) gets `login_required` (401) through `next`.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireLogin(options: RequireLoginOptions = {}): RequestHandler {
  const { loginPath = '/login' } = knownOptions('requireLogin', options, ['loginPath']);
  loginPathOption('requireLogin', loginPath);
  return (req, res, next) => {
    if (isLoggedIn(req)) next();
    else sendToLogin(loginError('login_required'), loginPath, req, res, next);
  };
}
