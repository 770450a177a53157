import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import { MAX_TIMER_DELAY } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import {
  type AppId,
  functionOption,
  idText,
  knownOptions,
  positiveOption,
  wrongOption,
} from '../options.js';

/** How many failed attempts are allowed: codes, items and logins that the service does not know. */
export interface GuessLimitOptions {
  /** Failed attempts of one client within `windowMs`. Default 10. */
  limit?: number | undefined;
  /** The length of a window in milliseconds. The first attempt of a client begins it. Default 60,000. */
  windowMs?: number | undefined;
  /**
   * Failed attempts of all clients together within a minute. Beyond it, only clients without a failed attempt are let
   * through, so that guesses from many addresses leave customers some of the service's quota. Default 30.
   */
  total?: number | undefined;
  /**
   * The client key of a request, such as the id of a user. Default: `req.ip`, which needs Express's
   * `trust proxy` behind a proxy, or the socket's address where there is no `req.ip`. An IPv6 address
   * counts with its whole /56, because a client usually has that many.
   */
  keyGenerator?: ((req: Request) => AppId) | undefined;
}

/** What a limiter says about a key. */
export interface AttemptCount {
  /** Attempts in the current window. */
  readonly consumedPoints: number;
  /** Milliseconds until the window ends. */
  readonly msBeforeNext: number;
}

/** Counts attempts by key: a limiter of `rate-limiter-flexible`, as far as it is used here. */
export interface AttemptLimiter {
  /** Milliseconds that a guard waits for it, at most. Default 2,000. */
  readonly timeout?: number | undefined;
  /** Counts one attempt. Rejects with an {@link AttemptCount} over the limit, and with an `Error` on failure. */
  consume(key: string): Promise<AttemptCount>;
  /** Takes one attempt off the count. */
  reward(key: string): Promise<unknown>;
}

/** A limit that counts outside of the guard: in another process's reach, or for several clients of the service. */
export interface GuessLimit extends Pick<GuessLimitOptions, 'total' | 'keyGenerator'> {
  /**
   * Counts the failed attempts of each client, by client key. Without `inMemoryBlockOnConsumed`: what that blocks stays
   * blocked, also when the code was valid and the attempt is given back.
   */
  readonly limiter: AttemptLimiter;
  /** Counts those of all clients together, under one key. Default: each process counts for itself. */
  readonly totalLimiter?: AttemptLimiter | undefined;
}

/** {@link GuessLimitOptions}, checked and complete. */
export class GuessLimitSettings {
  /** Failed attempts of one client within `windowMs`. */
  readonly limit: number;
  /** The length of a window in milliseconds. */
  readonly windowMs: number;
  /** Failed attempts of all clients together within a minute. */
  readonly total: number;
  /** The client key of a request. */
  readonly keyGenerator: (req: Request) => string;

  constructor(owner: string, options: GuessLimitOptions) {
    const names = ['limit', 'windowMs', 'total', 'keyGenerator'] as const;
    const given = knownOptions(owner, options, names);
    const count = (name: 'limit' | 'total', fallback: number): number => {
      const value = positiveOption(owner, name, given[name], fallback, 'failed attempts');
      if (Number.isSafeInteger(value)) return value;
      throw wrongOption(owner, name, 'must be a whole number');
    };
    this.limit = count('limit', 10);
    this.total = count('total', 30);
    this.windowMs = positiveOption(owner, 'windowMs', given.windowMs, MINUTE, 'milliseconds');
    if (this.windowMs > MAX_TIMER_DELAY) {
      throw wrongOption(owner, 'windowMs', `must be at most ${MAX_TIMER_DELAY} (24 days)`);
    }
    const keyGenerator = functionOption(owner, 'keyGenerator', given.keyGenerator) ?? addressOf;
    this.keyGenerator = (req) => {
      const client = keyGenerator(req);
      if (client === addressOf(req)) checkAddress(req, client);
      return clientKey(owner, 'keyGenerator', client);
    };
  }
}

export const MINUTE = 60_000;

const addressOf = (req: Request): string | undefined => req.ip ?? req.socket?.remoteAddress;

/** Warns when all visitors count as one client, or when visitors can choose their address. */
function checkAddress(req: Request, address: string | undefined): void {
  const trust: unknown = req.app?.get?.('trust proxy');
  if (trust === true) warnOnce('MARKETGATE_PERMISSIVE_TRUST_PROXY');
  else if (!trust && req.headers['x-forwarded-for'] !== undefined) {
    warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR');
  }
  if (!address) warnOnce('MARKETGATE_NO_CLIENT_ADDRESS');
}

/** The most characters of a client key; longer ones are hashed. */
const MAX_KEY_LENGTH = 128;

/** Bytes of an IPv6 address that distinguish customers of a provider: a /56. */
const IPV6_BYTES = 7;

/**
 * The key under which a client is counted: the /56 of an IPv6 address, an IPv4 address also where it is
 * written inside an IPv6 one, both without a port, and any other name as it is.
 *
 * @throws TypeError for anything else, which would count all clients as one, or each request separately.
 */
export function clientKey(owner: string, name: string, given: unknown): string {
  const client = idText(owner, name, given) ?? 'unknown';
  // Memory holds the key, and an app can take it from a header.
  if (client.length > MAX_KEY_LENGTH) return hash('sha256', client, 'base64url');
  // Some proxies add the port, which is another one for each connection.
  const bare = client.replace(/^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+):\d+)$/i, '$1$2');
  // "012" is a name, although some notations read it as an address.
  if (isIP(bare) === 0) return client;
  // The zone of a link-local address, as in `%br-lan`, is a name of this machine's.
  const address = ipaddr.process(bare.replace(/%.*/, ''));
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

/** The most clients that one limiter in memory counts: those with the latest attempts. */
const MAX_CLIENTS = 10_000;

/** Counts in the memory of this process, in fixed windows. Rejects only beyond `points`. */
export class MemoryLimiter implements AttemptLimiter {
  readonly #windows: RateLimiterMemory;
  /** The library keeps every key until its window ends, and visitors can have any number of addresses. */
  readonly #latest: LRUCache<string, true>;

  constructor(windowMs: number, points = Number.MAX_SAFE_INTEGER) {
    const windows = new RateLimiterMemory({ points, duration: windowMs / 1000 });
    this.#windows = windows;
    const dispose = (_true: true, key: string) => void windows.delete(key);
    this.#latest = new LRUCache({ max: MAX_CLIENTS, dispose, noDisposeOnSet: true });
  }

  consume(key: string): Promise<AttemptCount> {
    this.#latest.set(key, true);
    return this.#windows.consume(key);
  }

  async reward(key: string): Promise<void> {
    const count = await this.#windows.get(key);
    // A window that has ended does not begin again, and clients without a failed attempt take no place from the others.
    if (count && count.consumedPoints > 1 && count.msBeforeNext > 0)
      await this.#windows.reward(key);
    else this.#latest.delete(key);
  }
}

/**
 * Counts failed attempts in the memory of this process: a value for the option `guessLimit`. Guards with the
 * same instance count together, whatever their KeyApi.
 */
export class MemoryGuessLimit extends GuessLimitSettings implements GuessLimit {
  readonly limiter: AttemptLimiter;
  readonly totalLimiter: AttemptLimiter;

  constructor(options: GuessLimitOptions = {}) {
    super('MemoryGuessLimit', options);
    this.limiter = new MemoryLimiter(this.windowMs, this.limit);
    this.totalLimiter = new MemoryLimiter(MINUTE, this.total);
  }
}
