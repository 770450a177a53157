import type { Request } from 'express';
import {
  functionOption,
  knownOptions,
  positiveOption,
  wrongOption,
} from '../../options/check-options.js';
import { clientAddress, clientName } from './client-name.js';

/** How many codes a client may try that the service says *no* to. */
export interface GuessLimitOptions {
  /** Failed attempts of one client in one window. Default 10. */
  limit?: number | undefined;
  /** Milliseconds of a window. Default 60,000. */
  windowMs?: number | undefined;
  /**
   * Who is counted. Default: `req.ip`, which needs Express's `trust proxy` behind a proxy, or else the
   * address of the socket. An IPv6 address counts with its whole /56, for who has one has many.
   */
  keyGenerator?: ((req: Request) => string | undefined) | undefined;
}

/** {@link GuessLimitOptions}, checked and complete. */
export interface GuessLimitSettings {
  readonly limit: number;
  readonly windowMs: number;
  readonly keyGenerator: (req: Request) => string;
}

/** What {@link GuessLimit.reserve} says. */
export interface Reservation {
  /** Whether the attempt may be made. If not, nothing was taken. */
  readonly isAllowed: boolean;
  /** Seconds until the window ends. */
  readonly retryAfter: number;
}

/**
 * Counts failed attempts. An attempt is reserved before the service is asked, so that no burst gets past
 * the limit, and given back when the service did not say *no*.
 */
export interface GuessLimit {
  /** Who is counted. */
  keyGenerator(req: Request): string;
  /** Takes one attempt of a client, if there is one left. */
  reserve(client: string): Promise<Reservation>;
  /** Gives one back. */
  refund(client: string): Promise<void>;
}

/**
 * Attempts of all clients together, as a multiple of one client's limit. Beyond it only clients that
 * have no failed attempt yet may try: services allow an address so many requests a minute, and some must
 * be left for customers whose code nobody has asked about yet.
 */
export const TOTAL = 3;

/** @throws TypeError that names the wrong option. */
export function checkGuessLimitOptions(
  owner: string,
  options: GuessLimitOptions,
): GuessLimitSettings {
  const given = knownOptions(owner, options, ['limit', 'windowMs', 'keyGenerator']);
  const limit = positiveOption(owner, 'limit', given.limit, 10, 'codes');
  if (!Number.isSafeInteger(limit)) throw wrongOption(owner, 'limit', 'must be a whole number');
  const keyGenerator = functionOption(owner, 'keyGenerator', given.keyGenerator) ?? clientAddress;
  return {
    limit,
    windowMs: positiveOption(owner, 'windowMs', given.windowMs, 60_000, 'milliseconds'),
    keyGenerator: (req) => clientName(keyGenerator(req)),
  };
}
