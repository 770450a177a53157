import type { LoginApi } from '../login-api/login-api.js';
import {
  flagOption,
  functionOption,
  knownOptions,
  shapedOption,
} from '../options/check-options.js';
import { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { checkTokenStore, type TokenStore } from '../stores/token-store.js';

/** Options of {@link MarketplaceStrategy}. */
export interface MarketplaceStrategyOptions {
  /** The client of interface B: it makes every call of the login. */
  loginApi: LoginApi;
  /** Where the access_token is put, under the `user_id`, before verify runs. Default: nowhere. */
  tokenStore?: TokenStore | undefined;
  /** Whether a classic verify gets `req` as its first argument. Default false. */
  passReqToCallback?: boolean | undefined;
  /** The present as epoch milliseconds, for login attempts. Default: the clock of `loginApi`. */
  clock?: (() => number) | undefined;
}

/** {@link MarketplaceStrategyOptions}, checked and complete. */
export interface StrategySettings {
  readonly loginApi: LoginApi;
  readonly tokenStore: GuardedTokenStore | undefined;
  readonly passReqToCallback: boolean;
  readonly clock: () => number;
}

const OWNER = 'MarketplaceStrategy';

/** @throws TypeError that names the wrong option. */
export function checkStrategyOptions(options: MarketplaceStrategyOptions): StrategySettings {
  const given = knownOptions(OWNER, options, [
    'loginApi',
    'tokenStore',
    'passReqToCallback',
    'clock',
  ]);
  const loginApi = shapedOption<LoginApi>(
    OWNER,
    'loginApi',
    given.loginApi,
    ['loginUrl', 'exchange', 'getUser'],
    'a LoginApi',
  );
  return {
    loginApi,
    tokenStore:
      given.tokenStore === undefined
        ? undefined
        : new GuardedTokenStore(checkTokenStore(OWNER, given.tokenStore)),
    passReqToCallback: flagOption(OWNER, 'passReqToCallback', given.passReqToCallback),
    clock: functionOption(OWNER, 'clock', given.clock) ?? loginApi.clock ?? Date.now,
  };
}
