import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { monotonic } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import { functionOption, knownOptions, positiveOption, wrongOption } from '../options.js';

/** How many failed attempts a client has: codes that the service does not know. */
export interface GuessLimitOptions {
  /** Failed attempts of one client within `windowMs`. Default 10. */
  limit?: number | undefined;
  /** Milliseconds that a failed attempt counts. Default 60,000. */
  windowMs?: number | undefined;
  /**
   * The client key of a request, such as the id of a user. Default: `req.ip`, which needs Express's
   * `trust proxy` behind a proxy, or the socket's address where there is no `req.ip`. An IPv6 address
   * counts with its whole /56, because a client usually has that many.
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
      /** Gives the attempt back, because the answer was not negative. */
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
 * the limit, and given back unless the answer is negative.
 */
export interface GuessLimit {
  /** Failed attempts of one client within `windowMs`, for the count that all guards of a KeyApi share. */
  readonly limit?: number;
  /** Milliseconds that a failed attempt counts. */
  readonly windowMs?: number;
  /** The client key of a request. */
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
      return clientKey(client);
    },
  };
}

const addressOf = (req: Request): string | undefined => req.ip ?? req.socket?.remoteAddress;

/** Warns when `trust proxy` makes all visitors one client, or lets visitors choose their address. */
function checkProxy(req: Request): void {
  const trust: unknown = req.app?.get?.('trust proxy');
  if (trust === true) warnOnce('MARKETGATE_PERMISSIVE_TRUST_PROXY');
  else if (!trust && req.headers['x-forwarded-for'] !== undefined) {
    warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR');
  }
}

/** Bytes of an IPv6 address that tell customers of a provider apart: a /56. */
const IPV6_BYTES = 7;

/**
 * The key under which a client is counted: the /56 of an IPv6 address, an IPv4 address also where it is
 * written inside an IPv6 one, and any other name as it is.
 * @throws TypeError for anything else: all clients would be one, or each request another.
 */
export function clientKey(client: unknown): string {
  if (client === undefined || client === '') return 'unknown';
  if (typeof client === 'number') return String(client);
  if (typeof client !== 'string') {
    throw new TypeError(
      'guessLimit: "keyGenerator" must return a string, a number or undefined, and no Promise',
    );
  }
  // Only what is written as an address: "012" is a name, though old notations read it as one.
  if (isIP(client) === 0) return client;
  const address = ipaddr.process(client);
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

/** Clients that are remembered at most. */
const MOST_CLIENTS = 100_000;
/** Clients at which those without a recent attempt are first looked for. */
const FIRST_SWEEP = 1024;

/**
 * The failed attempts of the last while, by client. Limits that share a log count together, whatever
 * their `limit` and `windowMs`: each looks at its own length of time.
 */
export class AttemptLog {
  readonly #clock = monotonic(() => Date.now());
  /** Times of attempts, the oldest first. The client with the latest attempt is the last. */
  readonly #clients = new Map<string, number[]>();
  readonly #all: number[] = [];
  /** The longest window and the highest limit so far: beyond them nothing is kept. */
  #longest = 0;
  #highest = 0;
  #sweepAt = FIRST_SWEEP;

  /** How many clients are remembered. */
  get size(): number {
    return this.#clients.size;
  }

  /** Takes one attempt of a client, if there is one left. */
  reserve(
    client: string,
    { limit, windowMs }: Pick<GuessLimitSettings, 'limit' | 'windowMs'>,
  ): Reservation {
    this.#longest = Math.max(this.#longest, windowMs);
    this.#highest = Math.max(this.#highest, limit);
    const now = this.#clock();
    const isRecent = (at: number | undefined) => at !== undefined && at > now - windowMs;
    const own = this.#clients.get(client) ?? [];
    const everybody = isRecent(own.at(-1)) ? this.#all.at(-limit * TOTAL) : undefined;
    const blocking = [own.at(-limit), everybody].filter(isRecent) as number[];
    if (blocking.length > 0) {
      const until = Math.max(...blocking) + windowMs;
      return { isAllowed: false, retryAfter: Math.max(1, Math.ceil((until - now) / 1000)) };
    }
    this.#clients.delete(client);
    if (this.#clients.size >= this.#sweepAt) this.#sweep(now);
    this.#clients.set(client, own);
    this.#add(own, now, 1);
    this.#add(this.#all, now, TOTAL);
    return {
      isAllowed: true,
      refund: async () => {
        remove(own, now);
        remove(this.#all, now);
        if (own.length === 0 && this.#clients.get(client) === own) this.#clients.delete(client);
      },
    };
  }

  #add(times: number[], now: number, factor: number): void {
    times.push(now);
    // Some more than count, so that a refund uncovers no gap.
    const most = this.#highest * factor * 2;
    while (times.length > most || (times[0] as number) <= now - this.#longest) times.shift();
  }

  /** Forgets many clients at a time, so that not every reservation walks over all of them. */
  #sweep(now: number): void {
    for (const [client, times] of this.#clients) {
      const isRecent = (times.at(-1) ?? 0) > now - this.#longest;
      if (isRecent && this.#clients.size <= MOST_CLIENTS * 0.9) break;
      this.#clients.delete(client);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, Math.min(MOST_CLIENTS, this.#clients.size * 2));
  }
}

function remove(times: number[], at: number): void {
  const index = times.lastIndexOf(at);
  if (index !== -1) times.splice(index, 1);
}

/**
 * Counts failed attempts in the memory of this process: a value for the option `guessLimit`. Guards that
 * are given the same instance count together.
 */
export class MemoryGuessLimit implements GuessLimit {
  /** As given. */
  readonly limit: number;
  /** As given. */
  readonly windowMs: number;
  readonly #settings: GuessLimitSettings;
  readonly #log = new AttemptLog();

  /** @throws TypeError that names the wrong option. */
  constructor(options: GuessLimitOptions = {}) {
    this.#settings = checkGuessLimitOptions('MemoryGuessLimit', options);
    this.limit = this.#settings.limit;
    this.windowMs = this.#settings.windowMs;
  }

  /** The client key of a request. */
  keyGenerator(req: Request): string {
    return this.#settings.keyGenerator(req);
  }

  /** Takes one attempt of a client, if there is one left. */
  async reserve(client: string): Promise<Reservation> {
    return this.#log.reserve(client, this.#settings);
  }
}
