import { hash, randomBytes } from 'node:crypto';
import type { AccessToken } from '../model/access-token.js';
import { LOGIN_LIFETIME } from '../web/return-to.js';

/*
 * What one strategy keeps about a browser, between the start of a login and its end:
 *
 * - attempts: the logins that have begun. The service echoes no `state`, so only an attempt shows that this browser
 *   began the login of a callback. Each is used once. It is claimed when its auth_key is sent, and leaves when the login
 *   has ended: until then another process that gets the same callback sees that a login is running.
 * - mark: callbacks came without an attempt. For ten minutes every login asks "Continue as NAME?", and the
 *   auth_keys of those callbacks are not taken.
 * - pending: the auth_key was exchanged, and the login waits for "Continue". A further one replaces it.
 * - last: how the last login ended, for a callback that comes twice and for redirects that would not end.
 * - known: which account this browser has logged in with, and as whom. A further login of it changes nothing, so nobody
 *   is asked.
 *
 * Attempts and a pending login count only as long as the same user is logged in, or still nobody.
 *
 * All of it is in the session or sealed in one cookie. Nobody else can write there.
 */

// The names are short, because a cookie is. `at` is in epoch milliseconds, `to` is where the visitor wants to go.

/** A login that has begun in a browser and has not ended. */
export interface LoginAttempt {
  /** Random; a deployment that echoes `state` sends it back. */
  readonly id: string;
  readonly at: number;
  readonly to?: string | undefined;
  /** Neither a page of this site nor the visitor began it: see `confirm: 'auto'`. */
  readonly foreign?: true | undefined;
  /** Who was logged in when it began: see {@link shortHash}. Absent: nobody. */
  readonly who?: string | undefined;
}

/** A login that waits for the visitor's "Continue". */
export interface PendingLogin {
  /** See {@link pageOf}. */
  readonly id: string;
  readonly at: number;
  /** A {@link shortHash} of its auth_key, for a callback that comes again. */
  readonly key: string;
  readonly token: AccessToken;
  /** What the page shows: the display name, and the unique user name. */
  readonly name: string;
  readonly username: string;
  /** Whose account that is, as a {@link shortHash} of its `user_id`. */
  readonly account: string;
  /** Who was logged in, as in {@link LoginAttempt}. */
  readonly who?: string | undefined;
  readonly to?: string | undefined;
}

/** A login that has ended. */
export interface EndedLogin {
  /** Of its attempt. */
  readonly id: string;
  readonly at: number;
  /** Absent for one that failed. */
  readonly ok?: true | undefined;
  readonly to?: string | undefined;
  /** How many have ended in a row, each within seconds of the one before. */
  readonly n: number;
}

export interface LoginState {
  /** The newest last. */
  readonly attempts: readonly LoginAttempt[];
  /** `keys`: short hashes of the auth_keys that came without an attempt, one after another. */
  readonly mark?: { readonly at: number; readonly keys: string } | undefined;
  readonly pending?: PendingLogin | undefined;
  readonly last?: EndedLogin | undefined;
  /** A {@link shortHash} of the account and of the user who has logged in with it, or has connected it. */
  readonly known?: string | undefined;
}

/** 48 bits: enough to compare, and short enough for a cookie. */
export const shortHash = (...parts: (string | undefined)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 8);

/** An id of 16 random bytes. */
export const randomId = (): string => randomBytes(16).toString('base64url');

/** Whether a text has the form of {@link randomId}. */
export const isRandomId = (text: string): boolean => /^[\w-]{22}$/.test(text);

/** What the service echoes of an attempt: not its id, of which the value of a "Continue" is made. */
export const echoOf = ({ id }: Pick<LoginAttempt, 'id'>): string =>
  hash('sha256', `state ${id}`, 'base64url').slice(0, 22);

/**
 * The id of the page that asks about a login, with which a browser that has the cookies can answer. A stranger who has
 * planted the cookies cannot know it without the auth_key, nor one who has the auth_key without the cookies. With both, a
 * callback that comes twice leads there, because every process computes the same id.
 */
export const pageOf = ({ id }: Pick<LoginAttempt, 'id'>, authKey: string): string =>
  hash('sha256', `page ${id} ${authKey}`, 'base64url').slice(0, 22);

/** A false match refuses a login in a marked browser, or leads to a page that asks, once in millions. */
const HASH_LENGTH = 5;
/** With more auth_keys than a mark remembers, the visitor is asked all the same. The bound keeps the cookie small. */
const MAX_EARLY_KEYS = 30;
/** The shortest time between two renewals, in milliseconds: a loop of callbacks must not undo what other requests save. */
const MARK_RENEWAL = 60_000;

/** The hash of an auth_key, to know it again in the same browser. */
const shortKey = (authKey: string): string =>
  hash('sha256', authKey, 'base64url').slice(0, HASH_LENGTH);

/** Whether the auth_key came to this browser before, without an attempt. */
export const isEarly = ({ mark }: LoginState, authKey: string): boolean =>
  mark?.keys.includes(shortKey(authKey)) === true;

/** The mark after a callback without an attempt; the same one if nothing has to be saved. */
export function markFor(state: LoginState, authKey: string, now: number): LoginState['mark'] {
  const { mark } = state;
  const keys = mark?.keys ?? '';
  const isFull = keys.length >= MAX_EARLY_KEYS * HASH_LENGTH;
  if (!isFull && !isEarly(state, authKey)) return { at: now, keys: keys + shortKey(authKey) };
  return mark && now - mark.at < MARK_RENEWAL ? mark : { at: now, keys };
}

const isLive = ({ at }: { at: number }, now: number): boolean => now - at < LOGIN_LIFETIME;

/**
 * The parts of a stored state that have not expired, with the attempts that the user who is logged in has begun. An
 * unreadable state counts as empty.
 *
 * @param who is logged in.
 */
export function readState(stored: unknown, now: number, who: string | undefined): LoginState {
  // Most logins begin so, and to throw for each would take more time than all else here.
  if (stored === undefined) return { attempts: [] };
  try {
    const { attempts, mark, pending, last, known } = stored as LoginState;
    const isWaiting = pending && isLive(pending, now) && now < pending.token.expiresAt;
    return {
      attempts: attempts.filter((it) => isLive(it, now) && it.who === who),
      mark: mark && isLive(mark, now) ? mark : undefined,
      pending: isWaiting ? pending : undefined,
      last: last && isLive(last, now) ? last : undefined,
      known,
    };
  } catch {
    return { attempts: [] };
  }
}

/** Why no attempt of a stored state counts, in words for the operator, if the state shows it. */
export function whyNoAttempt(
  stored: unknown,
  now: number,
  who: string | undefined,
): string | undefined {
  const { last, pending, attempts: open } = readState(stored, now, who);
  if (pending) return 'it waits for "Continue" on the page that asks, as in another tab';
  if (last?.ok) return 'another login of this browser has taken its place';
  if (last) return 'the last login of this browser failed, or the visitor chose "Not me"';
  if (open.length > 0) return 'another callback of this browser has used it';
  const { attempts } = Object(stored) as Partial<LoginState>;
  if (!Array.isArray(attempts) || attempts.length === 0) return undefined;
  if (!attempts.some((it) => isLive(it, now))) return 'it began more than ten minutes ago';
  return 'somebody has logged in, or out, since it began';
}

export const isEmpty = ({ attempts, mark, pending, last, known }: LoginState): boolean =>
  attempts.length === 0 && (mark ?? pending ?? last ?? known) === undefined;

/** The first that fits of the state and what can be left of it. */
export function shorten(
  state: LoginState,
  fits: (state: LoginState) => boolean,
): LoginState | undefined {
  for (const each of shorterAndShorter(state)) if (fits(each)) return each;
  return undefined;
}

/**
 * These go one after another: the path of the login that has ended, or all of it beside one that waits; the paths of the
 * attempts and the attempts, the oldest first; the path of the login that waits; the early auth_keys. Without them, a mark
 * still asks.
 */
function* shorterAndShorter(state: LoginState): Generator<LoginState> {
  yield state;
  const { attempts, mark, pending, known } = state;
  const withoutPath = <T>(it: T): T => ({ ...it, to: undefined });
  // The login that waits has come after it.
  const last = pending ? undefined : state.last && withoutPath(state.last);
  const bare = attempts.map(withoutPath);
  const count = attempts.length;
  for (let i = 0; i < count; i++) {
    yield { ...state, last, attempts: [...bare.slice(0, i), ...attempts.slice(i)] };
  }
  for (let i = 0; i <= count; i++) yield { ...state, last, attempts: bare.slice(i) };
  const waiting = pending && withoutPath(pending);
  yield { attempts: [], mark, pending: waiting, known };
  yield { attempts: [], mark: mark && { ...mark, keys: '' }, pending: waiting };
}
