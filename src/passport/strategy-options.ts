import type { LoginApi } from '../clients/login-api.js';
import {
  flagOption,
  functionOption,
  knownOptions,
  shapedOption,
  textOption,
  wrongOption,
} from '../options.js';
import { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { checkTokenStore, DEFAULT_NAME, type TokenStore } from '../stores/token-store.js';
import { type RenderConfirmation, sendConfirmationPage } from './confirmation.js';
import { CookieAttempts, cookieSecrets } from './cookie-attempts.js';
import type { LoginAttempts } from './login-attempts.js';
import { SessionAttempts } from './session-attempts.js';
import { scopeFor } from './token-name.js';

/** When the visitor is asked: always, never, or where the login was not begun by this site or the visitor. */
export type ConfirmWhen = 'auto' | boolean;

/** The option `confirm` with a page of your own. */
export interface ConfirmOptions {
  /** When the visitor is asked. Default `'auto'`. */
  ask?: ConfirmWhen | undefined;
  /** Answers with the page. Default: a small page in English. */
  render?: RenderConfirmation | undefined;
}

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
   * is logged in to a stranger's account unawares. `'auto'` (default) asks when the login was begun by
   * neither a page of this site nor the visitor: when the start came with a `Sec-Fetch-Site` other than
   * `same-origin` or `none`, or a `Sec-Fetch-Dest` other than `document`. With an object the page is
   * your own.
   */
  confirm?: ConfirmWhen | ConfirmOptions | undefined;
  /**
   * The strategy's name. Two strategies in one app need two: their attempts and their tokens are kept
   * apart by it. Tokens of a strategy that is not named "marketplace" are stored under
   * `name:user_id`. Default "marketplace".
   */
  name?: string | undefined;
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
  readonly confirm: ConfirmWhen;
  readonly renderConfirmation: RenderConfirmation;
  readonly name: string;
  /** See {@link scopeFor}. */
  readonly scope: string;
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
    'name',
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
  const name = textOption(OWNER, 'name', given.name ?? DEFAULT_NAME);
  const scope = scopeFor(name, loginApi.loginUrl());
  return {
    loginApi,
    name,
    scope,
    attempts: attemptsOption(given.loginAttempts, scope),
    state: flagOption(OWNER, 'state', given.state),
    ...confirmOption(given.confirm),
    tokenStore:
      given.tokenStore === undefined
        ? undefined
        : new GuardedTokenStore(checkTokenStore(OWNER, given.tokenStore)),
    passReqToCallback: flagOption(OWNER, 'passReqToCallback', given.passReqToCallback),
    clock: functionOption(OWNER, 'clock', given.clock) ?? loginApi.clock ?? Date.now,
  };
}

function confirmOption(
  option: MarketplaceStrategyOptions['confirm'],
): Pick<StrategySettings, 'confirm' | 'renderConfirmation'> {
  const isObject = typeof option === 'object' && option !== null;
  const given = isObject
    ? knownOptions(`${OWNER}: confirm`, option, ['ask', 'render'])
    : { ask: option, render: undefined };
  const name = isObject ? 'confirm.ask' : 'confirm';
  const { ask = 'auto', render } = given;
  if (ask !== 'auto' && typeof ask !== 'boolean') {
    throw wrongOption(OWNER, name, 'must be "auto", true or false');
  }
  return {
    confirm: ask,
    renderConfirmation: functionOption(OWNER, 'confirm.render', render) ?? sendConfirmationPage,
  };
}

function attemptsOption(option: unknown, scope: string): LoginAttempts {
  if (option === undefined || option === 'session') return new SessionAttempts(scope);
  if (typeof option !== 'object' || option === null) {
    throw wrongOption(OWNER, 'loginAttempts', 'must be "session" or { cookieSecret: [ … ] }');
  }
  const { cookieSecret } = knownOptions<{ cookieSecret?: unknown }>(
    `${OWNER}: loginAttempts`,
    option,
    ['cookieSecret'],
  );
  return new CookieAttempts(cookieSecrets(OWNER, cookieSecret), scope);
}
