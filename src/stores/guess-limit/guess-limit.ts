import type { Request } from 'express';
import { functionOption, knownOptions, positiveOption, wrongOption } from '../../options.js';
import { addressOf, checkProxy } from './client-address.js';
import { clientName } from './client-name.js';

/** How many failed attempts a client has: codes that the service answers *no* to. */
export interface GuessLimitOptions {
  /** Failed attempts of one client within `windowMs`. Default 10. */
  limit?: number | undefined;
  /** Milliseconds that a failed attempt counts. Default 60,000. */
  windowMs?: number | undefined;
  /**
   * Who is counted: a name of the client, such as the id of a user. Default: `req.ip`, which needs
   * Express's `trust proxy` behind a proxy, or the address of the socket where there is no `req.ip`. An
   * IPv6 address counts with its whole /56, because a client usually has that many.
   */
  keyGenerator?: ((req: Request) => string | number | undefined) | undefined;
}

/** {@link GuessLimitOptions}, checked and complete. */
export interface GuessLimitSettings {
  readonly limit: number;
  readonly windowMs: number;
  readonly keyGenerator: (req: Request) => string;
}

/** What {@link GuessLimit.reserve} gives. */
export type Reservation =
  | {
      /** The attempt may be made. */
      readonly isAllowed: true;
      /** Gives the attempt back: the service did not answer *no*. */
      refund(): Promise<void>;
    }
  | {
      /** There is none left. */
      readonly isAllowed: false;
      /** Seconds until there can be an attempt again. */
      readonly retryAfter: number;
    };

/**
 * Counts failed attempts. An attempt is reserved before the service is asked, so that no burst gets past
 * the limit, and given back unless the service answers *no*.
 */
export interface GuessLimit {
  /** Who is counted. */
  keyGenerator(req: Request): string;
  /** Takes one attempt of a client, if there is one left. */
  reserve(client: string): Promise<Reservation>;
}

/**
 * Failed attempts of all clients together, as a multiple of one client's limit. Past it, only clients
 * without a failed attempt get in: services allow one address so many requests a minute, and customers
 * whose code is not cached yet need some of them.
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
  const keyGenerator = functionOption(owner, 'keyGenerator', given.keyGenerator) ?? addressOf;
  return {
    limit,
    windowMs: positiveOption(owner, 'windowMs', given.windowMs, 60_000, 'milliseconds'),
    keyGenerator: (req) => {
      const client = keyGenerator(req);
      if (client === addressOf(req)) checkProxy(req);
      return clientName(client);
    },
  };
}
