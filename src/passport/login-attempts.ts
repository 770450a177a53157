import type { Request } from 'express';

/** A login that was started in a browser and has not come back yet. */
export interface LoginAttempt {
  /** Random; what a deployment that echoes `state` gives back. */
  readonly id: string;
  /** When it was started, in epoch milliseconds. */
  readonly startedAt: number;
  /** Where the visitor wants to go afterwards: a path on this site. */
  readonly returnTo?: string;
}

/**
 * The attempts of one browser. The service echoes no `state`, so that a callback belongs to the
 * browser it comes from is shown by an attempt that this browser holds.
 */
export interface LoginAttempts {
  /** Stores an attempt. */
  begin(req: Request, attempt: LoginAttempt): Promise<void>;
  /**
   * Takes one out, so that it can never be used again: the newest, or the one of that id. `undefined`
   * when the browser holds none that is young enough.
   */
  take(req: Request, now: number, id?: string): Promise<LoginAttempt | undefined>;
}

/** How long a visitor may take at the service, in milliseconds. */
export const ATTEMPT_LIFETIME = 10 * 60_000;
/** Attempts a browser may hold at once (tabs); the oldest falls out. */
export const MOST_ATTEMPTS = 5;

/** The list with one more, without what is over or too many. */
export function withAttempt(
  attempts: readonly LoginAttempt[],
  attempt: LoginAttempt,
): LoginAttempt[] {
  const open = attempts.filter((other) => isOpen(other, attempt.startedAt));
  return [...open, attempt].slice(-MOST_ATTEMPTS);
}

/**
 * Splits the list into the attempt that a callback belongs to and the rest. Without an id that is the
 * newest: the service lets only the newest auth_key of a user live.
 */
export function pickAttempt(
  attempts: readonly LoginAttempt[],
  now: number,
  id?: string,
): { attempt: LoginAttempt | undefined; rest: LoginAttempt[] } {
  const open = attempts.filter((attempt) => isOpen(attempt, now));
  const attempt = id === undefined ? open.at(-1) : open.find((other) => other.id === id);
  return { attempt, rest: open.filter((other) => other !== attempt) };
}

/** Reads a list out of a session or a cookie; what is no attempt is left out. */
export function readAttempts(value: unknown): LoginAttempt[] {
  return Array.isArray(value) ? value.filter(isAttempt) : [];
}

function isAttempt(value: unknown): value is LoginAttempt {
  const attempt = value as Partial<LoginAttempt> | null | undefined;
  return typeof attempt?.id === 'string' && Number.isFinite(attempt.startedAt);
}

const isOpen = ({ startedAt }: LoginAttempt, now: number): boolean =>
  now - startedAt < ATTEMPT_LIFETIME && now >= startedAt;
