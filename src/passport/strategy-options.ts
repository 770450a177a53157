import { hash } from 'node:crypto';
import type { AuthenticateOptions } from 'passport';
import type { LoginApi } from '../clients/login-api.js';
import {
  type Check,
  flag,
  functionOf,
  machineClock,
  readOptions,
  secret,
  shaped,
  type Table,
  text,
  wrongOption,
} from '../options.js';
import { type Site, siteOption } from '../site.js';
import {
  checkTokenStore,
  DEFAULT_NAME,
  GuardedTokenStore,
  type TokenStore,
  tokenNameFor,
} from '../stores/token-store.js';
import { type ClientOption, clientOption } from '../web/client.js';
import type { ConfirmWhen, RenderConfirmation } from './confirmation.js';
import { memoryOf } from './login-memory.js';
import { type StateStorage, statesInCookie, statesInSession } from './state-storage.js';
import { verifyRunner } from './verify.js';

declare module 'passport' {
  interface AuthenticateOptions {
    /** For {@link MarketplaceStrategy}: path on this site to go to after the login; see {@link returnTo}. */
    returnTo?: string | undefined;
  }
}

/**
 * Options of `passport.authenticate('marketplace', …)`: passport's options and `returnTo`. `successReturnToOrRedirect` knows
 * the page that `requireLogin` has saved only where passport has a session; without one it leads to its own value, so
 * redirect to `returnTo(req)` in a handler instead.
 */
export type MarketplaceAuthenticateOptions = AuthenticateOptions;

/** The option `confirm` with your own page. */
export interface ConfirmOptions {
  /** When the visitor is asked. Default `'auto'`. */
  ask?: ConfirmWhen | undefined;
  /** Responds with the page. Default: a small page in English. */
  render?: RenderConfirmation | undefined;
}

/** Options of {@link MarketplaceStrategy}. */
export interface MarketplaceStrategyOptions {
  /** The client of the login API. */
  loginApi: LoginApi;
  /** Holds the access_token under the `user_id`, before verify runs. Default: none. */
  tokenStore?: TokenStore | undefined;
  /**
   * Where the login attempts of a browser are stored, and the login that waits for "Continue": in its session (the
   * default; express-session and whatever behaves like it), or in an encrypted cookie of at most 2,000 bytes, for apps
   * without sessions. There a login can wait only with an access_token of up to about 1,000 characters.
   */
  loginAttempts?:
    | 'session'
    | {
        /** One or more random texts of at least 32 characters: the first encrypts, all decrypt. */
        cookieSecret: string | readonly string[];
      }
    | undefined;
  /** Whether this deployment echoes `state`, which the specification does not have. Default false. */
  state?: boolean | undefined;
  /**
   * Whether the visitor is asked "Continue as NAME?" before a login counts, so that no other site can log a visitor in to
   * a stranger's account. `'auto'` (default) asks when another site has begun this login, or another one of this browser
   * that has not ended (`Sec-Fetch-Site` other than `same-origin` or `none`). `true` always asks. With each value, `false`
   * too, a login asks where somebody is logged in already, and for ten minutes after a callback that came to this browser
   * without a login attempt; but not where it renews the browser's last login: the same account, and the same user.
   */
  confirm?: ConfirmWhen | ConfirmOptions | undefined;
  /**
   * The site that the page "Continue as NAME?" belongs to: its name, logo, start page, contact and words. Default: that of
   * the process's error handlers, if all of them have the same.
   */
  site?: Site | undefined;
  /**
   * The strategy's name. It keeps the attempts and tokens of two strategies in one app apart: tokens of a strategy with
   * another name are stored under `name:user_id`. Default "marketplace". Passport does not pass on a name that only
   * `passport.use('name', strategy)` is given.
   */
  name?: string | undefined;
  /** Whether a classic verify gets `req` as its first argument. Default false. */
  passReqToCallback?: boolean | undefined;
  /**
   * Who is counted by the `guessLimit` of `loginApi` when the service refuses an auth_key, as in `(req) => req.ip` (the
   * default); `false` for nobody. Over the limit the error is `too_many_attempts`, the service is not asked, and neither the
   * auth_key nor the login attempt is used up.
   */
  client?: ClientOption;
  /** The current time in epoch milliseconds, for login attempts. Default: the clock of `loginApi`. */
  clock?: (() => number) | undefined;
}

const OWNER = 'MarketplaceStrategy';

const OPTIONS = {
  loginApi: shaped<LoginApi>(['loginUrl', 'exchange', 'getUser'], 'a LoginApi'),
  tokenStore: (owner, _name, value): GuardedTokenStore | undefined =>
    value === undefined ? undefined : new GuardedTokenStore(checkTokenStore(owner, value)),
  loginAttempts: attemptsOption,
  state: flag,
  confirm: confirmOption,
  site: siteOption,
  name: text(DEFAULT_NAME),
  passReqToCallback: flag,
  client: clientOption,
  clock: functionOf<() => number>(),
} satisfies Table<MarketplaceStrategyOptions>;

/** Checks the options and makes what each request to the strategy needs. @throws TypeError that names the wrong option. */
export function strategySetup(options: MarketplaceStrategyOptions, verify: unknown) {
  const given = readOptions(OWNER, OPTIONS, options);
  const { name, loginApi } = given;
  return {
    ...given,
    clock: given.clock ?? loginApi.clock ?? machineClock,
    storage: given.loginAttempts(scopeFor(name, loginApi.loginUrl())),
    tokenName: tokenNameFor(name),
    verify: verifyRunner(verify, given.passReqToCallback),
    memory: memoryOf(loginApi, name),
  };
}

/** What every request to one strategy works with. */
export type StrategySetup = Readonly<ReturnType<typeof strategySetup>>;

const CONFIRM_OPTIONS = {
  ask: (owner, name, value = 'auto'): ConfirmWhen => {
    if (value === 'auto' || typeof value === 'boolean') return value;
    throw wrongOption(owner, name, 'must be "auto", true or false');
  },
  render: functionOf<RenderConfirmation>(),
} satisfies Table<ConfirmOptions>;

function confirmOption(owner: string, name: string, option: unknown) {
  if (typeof option === 'object' && option !== null) {
    return readOptions(owner, CONFIRM_OPTIONS, option, name);
  }
  return { ask: CONFIRM_OPTIONS.ask(owner, name, option), render: undefined };
}

/** Gives the function that makes the storage for a scope. */
function attemptsOption(
  owner: string,
  name: string,
  option: unknown,
): (scope: string) => StateStorage {
  if (option === undefined || option === 'session') return statesInSession;
  if (typeof option !== 'object' || option === null) {
    throw wrongOption(owner, name, 'must be "session" or { cookieSecret: [ … ] }');
  }
  const { cookieSecret } = readOptions(owner, { cookieSecret: secretsOption }, option, name);
  return (scope) => statesInCookie(cookieSecret, scope);
}

const secretsOption: Check<readonly string[]> = (owner, name, value) => {
  const secrets = [value].flat().map((each) => secret(owner, name, each));
  if (secrets.length > 0) return secrets;
  throw wrongOption(owner, name, 'must be a secret, or several of which the first encrypts');
};

/**
 * Keeps the login attempts of two strategies apart. The scope includes the login URL, because a strategy does not know its
 * name in `passport.use('other', strategy)`.
 */
export const scopeFor = (strategy: string, loginUrl: string): string =>
  hash('sha256', `${loginUrl} ${strategy}`, 'base64url').slice(0, 12);
