import { hash, randomBytes } from 'node:crypto';
import type { AccessToken } from '../model/access-token.js';
import { LOGIN_LIFETIME } from '../web/login-request.js';

/*
 * What one strategy keeps about a browser, in its session or sealed in one cookie. Nobody else can write there. The names
 * are short, because a cookie is. `at` is in epoch milliseconds.
 */

/**
 * A login that has not ended: an attempt, until its callback comes, or one that waits for "Continue". The service echoes no
 * `state`, so only an attempt shows that this browser began the login of a callback.
 */
export interface OpenLogin {
  /**
   * Random. Of an attempt, a deployment that echoes `state` sends it back. Of a login that waits, only the browser that got
   * the response to the callback knows it.
   */
  readonly id: string;
  readonly at: number;
  /** Another site began it. */
  readonly foreign?: true | undefined;
  readonly waiting?: WaitingAccount | undefined;
}

/** The account that waits for "Continue". */
export interface WaitingAccount {
  /** A {@link shortHash} of the auth_key, for a callback that comes again. */
  readonly key: string;
  readonly token: AccessToken;
  /** A {@link shortHash} of the `user_id`. */
  readonly account: string;
  /** What the page shows: the display name, and the unique user name. */
  readonly name: string;
  readonly username: string;
}

/** The last login that was completed. */
export interface LastLogin {
  readonly at: number;
  /** Where it led, as browsers show it. */
  readonly to?: string | undefined;
  /** How many logins in a row have begun right after the one before, for the same page. */
  readonly n: number;
}

export interface LoginState {
  /** A {@link shortHash} of the logged-in user. `account` and `logins` count only as long as that is so. */
  readonly who?: string | undefined;
  /** The account that this user has logged in with, or has connected. A renewal of it changes nothing. */
  readonly account?: string | undefined;
  /** Each can be used once. The newest last. */
  readonly logins: readonly OpenLogin[];
  /**
   * The last callback that came without an attempt, with a {@link shortHash} of its auth_key. For ten minutes every login is
   * asked about, and none takes this auth_key: a page elsewhere can load its callback until the visitor begins a login.
   */
  readonly mark?: { readonly at: number; readonly key: string } | undefined;
  readonly last?: LastLogin | undefined;
}

/** How many logins a browser can have open, one per tab. */
const MAX_LOGINS = 3;

/** The logins with one more. The oldest makes room. */
export const withLogin = (logins: readonly OpenLogin[], login: OpenLogin): readonly OpenLogin[] =>
  [...logins, login].slice(-MAX_LOGINS);

export const without = (state: LoginState, { id }: OpenLogin): LoginState => ({
  ...state,
  logins: state.logins.filter((login) => login.id !== id),
});

/** 48 bits: enough to compare, and short enough for a cookie. */
export const shortHash = (text: string): string => hash('sha256', text, 'base64url').slice(0, 8);

/** An id of 16 random bytes. */
export const randomId = (): string => randomBytes(16).toString('base64url');

/**
 * The parts of a stored state that have not expired, and that are of the user who is logged in. An unreadable one is empty.
 *
 * @param who is logged in.
 */
export function readState(stored: unknown, now: number, who: string | undefined): LoginState {
  try {
    const { mark, last, ...given } = Object(stored) as Partial<LoginState>;
    const isLive = (at: number | undefined): boolean =>
      at !== undefined && now - at < LOGIN_LIFETIME;
    const { logins = [], account } = given.who === who ? given : {};
    return {
      ...{ who, account, mark: isLive(mark?.at) ? mark : undefined },
      last: isLive(last?.at) ? last : undefined,
      logins: logins.filter(
        ({ at, waiting }) => isLive(at) && !(waiting && now >= waiting.token.expiresAt),
      ),
    };
  } catch {
    return { who, logins: [] };
  }
}

/** Why a stored state has no login for a callback, in words for the operator, if it shows that. */
export function whyNoLogin(stored: unknown, { who, logins, last }: LoginState): string | undefined {
  const before = Object(stored) as Partial<LoginState>;
  if (logins.some(({ waiting }) => waiting)) {
    return 'it waits for "Continue" on the page that asks, as in another tab';
  }
  if (before.logins?.length) {
    return before.who === who
      ? 'it began more than ten minutes ago, or another callback of this browser has used it'
      : 'somebody has logged in, or out, since it began';
  }
  return last && 'another login of this browser has taken its place';
}
