import { hash } from 'node:crypto';
import type { AuthenticateOptions } from 'passport';
import type { LoginApi } from '../clients/login-api.js';
import { latest } from '../latest.js';
import { flag, functionOf, knownOptions, secret, shaped, text, wrongOption } from '../options.js';
import {
  checkTokenStore,
  DEFAULT_NAME,
  GuardedTokenStore,
  type TokenStore,
  tokenNameFor,
} from '../stores/token-store.js';
import { type ClientOption, clientOption } from '../web/client.js';
import { claimsIn } from './claims.js';
import { type ConfirmWhen, type RenderConfirmation, sendConfirmationPage } from './confirmation.js';
import { type StateStorage, statesInCookie, statesInSession } from './state-storage.js';
import { RunningLogins } from './twice.js';
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
   * default; express-session and whatever behaves like it), or in an encrypted cookie of at most 740 bytes, for apps
   * without sessions. A path to return to that does not fit in the cookie is dropped, and a login can wait in it only
   * with an access_token of up to about 110 characters.
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
   * a stranger's account. `'auto'` (default) asks when the login was begun by neither a page of this site nor the visitor:
   * when the start came with a `Sec-Fetch-Site` other than `same-origin` or `none`, or a `Sec-Fetch-Dest` other than
   * `document`; and when the callback is loaded in a frame. `true` always asks. With each value, `false` too, a login asks
   * where somebody is logged in already, unless it is with the account that they have logged in with; and every login asks
   * for ten minutes after a callback that came to this browser without a login attempt.
   */
  confirm?: ConfirmWhen | ConfirmOptions | undefined;
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
const NAMES = [
  ...(['loginApi', 'tokenStore', 'loginAttempts', 'state', 'confirm', 'name'] as const),
  ...(['passReqToCallback', 'client', 'clock'] as const),
];

/** Checks the options and makes what each request to the strategy needs. @throws TypeError that names the wrong option. */
export function strategySetup(options: MarketplaceStrategyOptions, verify: unknown) {
  const given = knownOptions(OWNER, options, NAMES);
  const methods = ['loginUrl', 'exchange', 'getUser'] as const;
  const what = 'a LoginApi';
  const loginApi = shaped<LoginApi>(methods, what)(OWNER, 'loginApi', given.loginApi);
  const name = text(DEFAULT_NAME)(OWNER, 'name', given.name);
  const scope = scopeFor(name, loginApi.loginUrl());
  const tokenStore =
    given.tokenStore === undefined
      ? undefined
      : new GuardedTokenStore(checkTokenStore(OWNER, given.tokenStore));
  return {
    name,
    loginApi,
    clock: functionOf<() => number>()(OWNER, 'clock', given.clock) ?? loginApi.clock ?? Date.now,
    storage: storageOption(given.loginAttempts, scope),
    claims: claimsIn(tokenStore, scope),
    clientOf: clientOption(OWNER, 'client', given.client),
    tokenStore,
    tokenName: tokenNameFor(name),
    state: flag(OWNER, 'state', given.state),
    ...confirmOption(given.confirm),
    verify: verifyRunner(verify, flag(OWNER, 'passReqToCallback', given.passReqToCallback)),
    /** The logins that run in this process. */
    running: new RunningLogins(),
    /** Hosts on which logins have begun in this process. */
    hosts: latest<string, true>(100),
  };
}

/** What every request to one strategy works with. */
export type StrategySetup = Readonly<ReturnType<typeof strategySetup>>;

function confirmOption(option: MarketplaceStrategyOptions['confirm']) {
  const isObject = typeof option === 'object' && option !== null;
  const given = isObject
    ? knownOptions(`${OWNER}: confirm`, option, ['ask', 'render'])
    : { ask: option, render: undefined };
  const { ask = 'auto', render } = given;
  if (ask !== 'auto' && typeof ask !== 'boolean') {
    throw wrongOption(OWNER, isObject ? 'confirm.ask' : 'confirm', 'must be "auto", true or false');
  }
  return {
    askWhen: ask,
    renderConfirmation:
      functionOf<NonNullable<ConfirmOptions['render']>>()(OWNER, 'confirm.render', render) ??
      sendConfirmationPage,
  };
}

function storageOption(option: unknown, scope: string): StateStorage {
  if (option === undefined || option === 'session') return statesInSession(scope);
  if (typeof option !== 'object' || option === null) {
    throw wrongOption(OWNER, 'loginAttempts', 'must be "session" or { cookieSecret: [ … ] }');
  }
  const owner = `${OWNER}: loginAttempts`;
  const { cookieSecret } = knownOptions(owner, option as { cookieSecret?: unknown }, [
    'cookieSecret',
  ]);
  const name = 'loginAttempts.cookieSecret';
  const secrets = [cookieSecret].flat().map((each) => secret(OWNER, name, each));
  if (secrets.length > 0) return statesInCookie(secrets, scope);
  throw wrongOption(OWNER, name, 'must be a secret, or several of which the first encrypts');
}

/**
 * Keeps the login attempts and used auth_keys of two strategies apart. The scope includes the login URL,
 * because a strategy does not know its name in `passport.use('other', strategy)`.
 */
export const scopeFor = (strategy: string, loginUrl: string): string =>
  hash('sha256', `${loginUrl} ${strategy}`, 'base64url').slice(0, 12);
