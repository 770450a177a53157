import type { Request, RequestHandler } from 'express';
import { asError, isMarketgateError } from '../errors.js';
import { functionOption, knownOptions } from '../options.js';
import { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { checkTokenStore, type TokenStore } from '../stores/token-store.js';
import {
  loginError,
  loginPathOption,
  requiredUserId,
  sendToLogin,
  tokenNameOption,
  type UserIdSource,
  userIdOfPassport,
} from './login-gate.js';

/** Options of {@link requireAccessToken}. */
export interface RequireAccessTokenOptions {
  /** Where the strategy puts the tokens. */
  tokenStore: TokenStore;
  /** Path on this site that starts the login. Default `/login`. */
  loginPath?: string | undefined;
  /** The `user_id` of the logged-in user. Default `req.user.id`. */
  userId?: UserIdSource | undefined;
  /** The `name` of the strategy, where that is not "marketplace". */
  strategy?: string | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

/**
 * Opens a route to logged-in visitors whose access_token is still alive (specification: "Limits", 1
 * hour). As {@link requireLogin}, and: a token that is over is deleted, and counts as not logged in
 * (`access_token_expired`, 401). When the store cannot be asked, nobody is let in:
 * `store_unavailable` (503).
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireAccessToken(options: RequireAccessTokenOptions): RequestHandler {
  const owner = 'requireAccessToken';
  const given = knownOptions(owner, options, [
    'tokenStore',
    'loginPath',
    'userId',
    'strategy',
    'clock',
  ]);
  const tokens = new GuardedTokenStore(checkTokenStore(owner, given.tokenStore));
  const loginPath = loginPathOption(owner, given.loginPath) ?? '/login';
  const userIdOf = functionOption(owner, 'userId', given.userId) ?? userIdOfPassport;
  const nameOf = tokenNameOption(owner, given.strategy);
  const clock = functionOption(owner, 'clock', given.clock) ?? Date.now;

  async function check(req: Request): Promise<void> {
    const name = nameOf(requiredUserId(owner, userIdOf, req));
    const token = await tokens.get(name);
    if (token !== undefined && clock() < token.expiresAt) return;
    if (token !== undefined) await tokens.forget(name, token);
    throw loginError('access_token_expired');
  }

  return (req, res, next) => {
    check(req).then(
      () => next(),
      (error: unknown) => {
        if (!isMarketgateError(error) || error.status !== 401) return next(asError(error));
        sendToLogin(error, loginPath, req, res, next);
      },
    );
  };
}
