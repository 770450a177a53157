import type { Request, RequestHandler } from 'express';
import type { LoginApi } from '../clients/login-api.js';
import { isMarketgateError } from '../errors.js';
import type { UserInfo } from '../model/user-info.js';
import { functionOption, knownOptions, shapedOption } from '../options.js';
import { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { checkTokenStore, type TokenStore } from '../stores/token-store.js';
import { loadInto } from './load-into.js';
import {
  loginError,
  requiredUserId,
  tokenNameOption,
  type UserIdSource,
  userIdOfPassport,
} from './login-gate.js';

/** Options of {@link loadUser}. */
export interface LoadUserOptions {
  /** Where the strategy puts the tokens. */
  tokenStore: TokenStore;
  /** The `user_id` of the logged-in user. Default `req.user.id`. */
  userId?: UserIdSource | undefined;
  /** The `name` of the strategy, where that is not "marketplace". */
  strategy?: string | undefined;
}

/**
 * Asks the service anew who the logged-in user is (specification: get_user_info), and puts the answer
 * at `req.marketplace.user`.
 *
 * To `next` go `login_required` and `access_token_expired` (401), which `errorHandler({ loginPath })`
 * turns into the way through the login and back; `login_failed` (401), when the account is gone;
 * `store_unavailable` and the errors of a service that cannot be asked. A token that the service does
 * not accept any more is deleted from the store.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadUser(
  loginApi: Pick<LoginApi, 'getUser'>,
  options: LoadUserOptions,
): RequestHandler {
  const owner = 'loadUser';
  shapedOption<Pick<LoginApi, 'getUser'>>(owner, 'loginApi', loginApi, ['getUser'], 'a LoginApi');
  const given = knownOptions(owner, options, ['tokenStore', 'userId', 'strategy']);
  const tokens = new GuardedTokenStore(checkTokenStore(owner, given.tokenStore));
  const nameOf = tokenNameOption(owner, given.strategy);
  const userIdOf = functionOption(owner, 'userId', given.userId) ?? userIdOfPassport;

  async function load(req: Request, signal: AbortSignal): Promise<UserInfo> {
    const userId = requiredUserId(owner, userIdOf, req);
    const name = nameOf(userId);
    const token = await tokens.get(name);
    if (token === undefined) throw loginError('access_token_expired');
    try {
      const user = await loginApi.getUser(token, { signal });
      if (user.user_id === userId) return user;
      // Somebody else's token: nobody is shown as the visitor who is not.
      throw loginError('access_token_expired');
    } catch (error) {
      if (isMarketgateError(error) && error.status === 401) {
        // That it could not be deleted changes nothing for the visitor, who must log in.
        await tokens.forget(name, token).catch(() => {});
      }
      throw error;
    }
  }

  return loadInto('user', load);
}
