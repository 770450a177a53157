import { randomBytes } from 'node:crypto';
import type { Request } from 'express';

/** A login that was started in a browser and is not over yet. */
export interface LoginAttempt {
  /** Random; what a deployment that echoes `state` gives back. */
  readonly id: string;
  /** When it was started, in epoch milliseconds. */
  readonly startedAt: number;
  /** Where the visitor wants to go afterwards: a path on this site. */
  readonly returnTo?: string;
  /** Present when neither this site's own page nor the visitor began it: see `confirm: 'auto'`. */
  readonly foreign?: true;
  /** Whose account it is, once the auth_key is spent and only the visitor's yes is missing. */
  readonly name?: string;
  /** That account's user name, which no other account has. */
  readonly username?: string;
  /** That account's `user_id`: the visitor is logged in to this account or to none. */
  readonly userId?: string;
}

/** An attempt whose auth_key is spent, and that only waits for the visitor's yes. */
export type WaitingAttempt = LoginAttempt &
  Required<Pick<LoginAttempt, 'name' | 'username' | 'userId'>>;

/**
 * The attempts of one browser. The service echoes no `state`, so that a callback belongs to the
 * browser it comes from is shown by an attempt that this browser holds.
 */
export interface LoginAttempts {
  /** The attempts that the browser of this request holds, over or not. */
  read(req: Request): Promise<LoginAttempt[]>;
  /** Replaces them. Settles when they are kept safe. */
  write(req: Request, attempts: readonly LoginAttempt[]): Promise<void>;
}

/** How long a visitor may take at the service, in milliseconds. */
export const ATTEMPT_LIFETIME = 10 * 60_000;
/** Attempts a browser may hold at once (tabs); the oldest falls out. */
const MOST_ATTEMPTS = 5;

/** Makes an attempt and gives it to the browser. */
export async function beginAttempt(
  attempts: LoginAttempts,
  req: Request,
  now: number,
  about: {
    readonly [K in Exclude<keyof LoginAttempt, 'id' | 'startedAt'>]?: LoginAttempt[K] | undefined;
  },
): Promise<LoginAttempt> {
  const attempt: LoginAttempt = {
    id: randomBytes(16).toString('base64url'),
    startedAt: now,
    ...Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined)),
  };
  const open = (await attempts.read(req)).filter((other) => isOpen(other, now));
  await attempts.write(req, [...open, attempt].slice(-MOST_ATTEMPTS));
  return attempt;
}

/**
 * Takes the attempt that a callback belongs to from the browser, so that it can never be used again:
 * the newest, for the service lets only the newest auth_key of a user live; or the one whose id a
 * deployment echoed. `undefined` when the browser holds none that is young enough.
 */
export function takeAttempt(
  attempts: LoginAttempts,
  req: Request,
  now: number,
  id?: string,
): Promise<LoginAttempt | undefined> {
  return take(
    attempts,
    req,
    now,
    (attempt) => !isWaiting(attempt) && (id === undefined || attempt.id === id),
  );
}

/** The attempts of the browser that a callback could use; none is taken. */
export async function openAttempts(
  attempts: LoginAttempts,
  req: Request,
  now: number,
): Promise<LoginAttempt[]> {
  const held = await attempts.read(req);
  return held.filter((attempt) => !isWaiting(attempt) && isOpen(attempt, now));
}

/** Takes the attempt that only waits for the visitor's yes. */
export function takeConfirmation(
  attempts: LoginAttempts,
  req: Request,
  now: number,
  id: string,
): Promise<WaitingAttempt | undefined> {
  const isWanted = (attempt: LoginAttempt): boolean => isWaiting(attempt) && attempt.id === id;
  return take(attempts, req, now, isWanted) as Promise<WaitingAttempt | undefined>;
}

/** Looks at the attempt that waits for the visitor's yes, and leaves it. */
export async function findConfirmation(
  attempts: LoginAttempts,
  req: Request,
  now: number,
  id: string,
): Promise<WaitingAttempt | undefined> {
  const waiting = (await attempts.read(req)).filter(isWaiting);
  return waiting.find((attempt) => attempt.id === id && isOpen(attempt, now));
}

async function take(
  attempts: LoginAttempts,
  req: Request,
  now: number,
  isWanted: (attempt: LoginAttempt) => boolean,
): Promise<LoginAttempt | undefined> {
  const held = await attempts.read(req);
  const open = held.filter((attempt) => isOpen(attempt, now));
  const taken = open.findLast(isWanted);
  if (taken === undefined) return undefined;
  await attempts.write(
    req,
    open.filter((attempt) => attempt !== taken),
  );
  return taken;
}

/** Reads a list out of a session or a cookie; what is no attempt is left out. */
export function readAttempts(value: unknown): LoginAttempt[] {
  return [value].flat().filter(isAttempt);
}

function isAttempt(value: unknown): value is LoginAttempt {
  const attempt = value as Partial<LoginAttempt> | null | undefined;
  return (
    typeof attempt?.id === 'string' &&
    Number.isFinite(attempt.startedAt) &&
    ['string', 'undefined'].includes(typeof attempt.name) &&
    typeof attempt.username === typeof attempt.name &&
    typeof attempt.userId === typeof attempt.name
  );
}

const isWaiting = (attempt: LoginAttempt): attempt is WaitingAttempt => attempt.name !== undefined;

const isOpen = ({ startedAt }: LoginAttempt, now: number): boolean =>
  now - startedAt < ATTEMPT_LIFETIME && now >= startedAt;
