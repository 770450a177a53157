import type { LoginApi } from '../login-api/login-api.js';
import {
  flagOption,
  functionOption,
  knownOptions,
  shapedOption,
  wrongOption,
} from '../options/check-options.js';
import { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { checkTokenStore, type TokenStore } from '../stores/token-store.js';
import { CookieAttempts, cookieSecrets } from './cookie-attempts.js';
import type { LoginAttempts } from './login-attempts.js';
import { SessionAttempts } from './session-attempts.js';

/** Options of {@link MarketplaceStrategy}. */
export interface MarketplaceStrategyOptions {
  /** The client of interface B: it makes every call of the login. */
  loginApi: LoginApi;
  /** Where the access_token is put, under the `user_id`, before verify runs. Default: nowhere. */
  tokenStore?: TokenStore | undefined;
  /**
   * Where the browser holds the logins that it has started: in its session (express-session; the
   * default), or for apps without sessions in a signed cookie. Of several secrets the first signs
   * and all verify, so that a secret can be changed without ending logins under way.
   */
  loginAttempts?:
    | 'session'
    | {
        /** Random text of 32 characters or more; nobody else may know it. */
        cookieSecret: string | readonly string[];
      }
    | undefined;
  /**
   * Whether this deployment echoes `state`, which the specification's does not. Then the attempt's
   * id is sent along and must come back. Default false.
   */
  state?: boolean | undefined;
  /**
   * Whether the visitor is asked "Continue as NAME?" before the login is completed, so that nobody
   * is logged in to a stranger's account unawares. Default false.
   */
  confirm?: boolean | undefined;
  /** Whether a classic verify gets `req` as its first argument. Default false. */
  passReqToCallback?: boolean | undefined;
  /** The present as epoch milliseconds, for login attempts. Default: the clock of `loginApi`. */
  clock?: (() => number) | undefined;
}

/** {@link MarketplaceStrategyOptions}, checked and complete. */
export interface StrategySettings {
  readonly loginApi: LoginApi;
  readonly attempts: LoginAttempts;
  readonly state: boolean;
  readonly confirm: boolean;
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
    'loginAttempts',
    'state',
    'confirm',
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
    attempts: attemptsOption(given.loginAttempts),
    state: flagOption(OWNER, 'state', given.state),
    confirm: flagOption(OWNER, 'confirm', given.confirm),
    tokenStore:
      given.tokenStore === undefined
        ? undefined
        : new GuardedTokenStore(checkTokenStore(OWNER, given.tokenStore)),
    passReqToCallback: flagOption(OWNER, 'passReqToCallback', given.passReqToCallback),
    clock: functionOption(OWNER, 'clock', given.clock) ?? loginApi.clock ?? Date.now,
  };
}

function attemptsOption(option: unknown): LoginAttempts {
  if (option === undefined || option === 'session') return new SessionAttempts();
  if (typeof option !== 'object' || option === null) {
    throw wrongOption(OWNER, 'loginAttempts', 'must be "session" or { cookieSecret: [ … ] }');
  }
  const { cookieSecret } = knownOptions<{ cookieSecret?: unknown }>(
    `${OWNER}: loginAttempts`,
    option,
    ['cookieSecret'],
  );
  return new CookieAttempts(cookieSecrets(OWNER, cookieSecret));
}
