import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { ignoreRejection } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import { functionOption, knownOptions, positiveOption, wrongOption } from '../options.js';

/** Milliseconds that a clock can go back by small corrections, without having been set back. */
const SLEW = 1000;

/** How many failed attempts a client has. An attempt fails when the service does not know the code. */
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
  keyGenerator?: ((req: Request) => string | number | null | undefined) | undefined;
}

/** The result of {@link GuessLimit.reserve}. */
export type Reservation =
  | {
      /** The attempt is allowed. */
      readonly isAllowed: true;
      /** Gives the attempt back, because the answer was not negative. */
      release(): Promise<void>;
      /** Marks the attempt as failed: other attempts no longer wait for its release. Optional. */
      settle?(): Promise<void>;
    }
  | {
      /** No attempt is left. */
      readonly isAllowed: false;
      /** Seconds until the next attempt can be allowed. */
      readonly retryAfter: number;
      /** Whether attempts without an answer are counted: it is worth trying again soon. Default false. */
      readonly isPending?: boolean;
    };

/**
 * Counts failed attempts. An attempt is reserved before the service is asked, so that no burst exceeds the
 * limit, and released unless the answer is negative.
 */
export interface GuessLimit {
  /** Failed attempts of one client within `windowMs`. */
  readonly limit: number;
  /** Milliseconds that a failed attempt counts. */
  readonly windowMs: number;
  /** The client key of a request. */
  keyGenerator(req: Request): string;
  /** Takes one attempt of a client, if there is one left. */
  reserve(client: string): Promise<Reservation>;
}

/** How many failed attempts are allowed, and for how many milliseconds each counts. */
export type Limit = Pick<GuessLimit, 'limit' | 'windowMs'>;

/**
 * The limit of all clients together. Beyond it, only clients without a failed attempt are admitted, which leaves
 * requests for customers whose code is not cached. It is high and its window short, so that neither a few clients that
 * guess nor the typing errors of many customers block others for long.
 */
export const totalLimit = ({ limit, windowMs }: Limit): Limit => ({
  limit: Math.max(limit * 10, 100),
  windowMs: Math.min(windowMs, 60_000),
});

/** Milliseconds that an attempt waits for the answers of others: as long as a request lasts by default. */
export const MAX_WAIT = 10_000;

/** {@link GuessLimitOptions}, checked and complete. */
export class GuessLimitSettings {
  readonly limit: number;
  readonly windowMs: number;
  /** The client key of a request. */
  readonly keyGenerator: (req: Request) => string;

  constructor(owner: string, options: GuessLimitOptions) {
    const given = knownOptions(owner, options, ['limit', 'windowMs', 'keyGenerator']);
    this.limit = positiveOption(owner, 'limit', given.limit, 10, 'codes');
    if (!Number.isSafeInteger(this.limit)) {
      throw wrongOption(owner, 'limit', 'must be a whole number');
    }
    this.windowMs = positiveOption(owner, 'windowMs', given.windowMs, 60_000, 'milliseconds');
    const keyGenerator = functionOption(owner, 'keyGenerator', given.keyGenerator) ?? addressOf;
    this.keyGenerator = (req) => {
      const client = keyGenerator(req);
      if (client === addressOf(req)) checkProxy(req);
      return clientKey(client);
    };
  }
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

/** Bytes of an IPv6 address that distinguish customers of a provider: a /56. */
const IPV6_BYTES = 7;

/**
 * The key under which a client is counted: the /56 of an IPv6 address, an IPv4 address also where it is
 * written inside an IPv6 one, both without a port, and any other name as it is.
 *
 * @throws TypeError for anything else, which would count all clients as one, or each request separately.
 */
export function clientKey(client: unknown): string {
  if ((client ?? '') === '') return 'unknown';
  if (typeof client === 'number') return String(client);
  if (typeof client !== 'string') {
    ignoreRejection(client);
    throw new TypeError(
      'guessLimit: "keyGenerator" must return a string, a number or undefined, and no Promise',
    );
  }
  // Some proxies add the port, which is another one for each connection.
  const bare = client.replace(/^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+):\d+)$/i, '$1$2');
  // "012" is a name, although some notations read it as an address.
  if (isIP(bare) === 0) return client;
  // The zone of a link-local address, as in `%br-lan`, is a name of this machine's.
  const address = ipaddr.process(bare.replace(/%.*/, ''));
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

/** The most clients that are remembered: those with the latest attempts. */
const MAX_CLIENTS = 10_000;

/** An attempt at a code in a {@link CodeAttemptLog}. */
interface CodeAttempt {
  readonly at: number;
  /** Whether it has its answer, a negative one. */
  isSettled: boolean;
}

/**
 * Recent attempts at codes, by client. Limits that share a log count together, whatever their `limit` and `windowMs`:
 * each counts within its own window. By `Date.now`, which goes on while the machine sleeps.
 */
export class CodeAttemptLog {
  /** Attempts, the oldest first. The client with the latest attempt is the last. */
  readonly #clients = new Map<string, CodeAttempt[]>();
  /** The attempts of all clients, the oldest first. */
  readonly #all: CodeAttempt[] = [];
  /** Twice as many attempts as count for the highest limit so far, so that releases leave enough. */
  #maxAttempts = 0;
  /** The longest window so far. Older attempts are dropped. */
  #maxWindow = 0;

  /** How many clients and attempts are remembered. */
  get size(): { clients: number; attempts: number } {
    const attempts = new Set([...this.#all, ...[...this.#clients.values()].flat()]).size;
    return { clients: this.#clients.size, attempts };
  }

  /** Takes one attempt of a client, if there is one left. */
  reserve(client: string, settings: Limit): Reservation {
    const { limit, windowMs } = settings;
    const now = Date.now();
    // After the clock was set back, nobody knows how old the attempts are.
    if (now <= (this.#all.at(-1)?.at ?? now) - SLEW) {
      this.#clients.clear();
      this.#all.length = 0;
    }
    this.#maxWindow = Math.max(this.#maxWindow, windowMs);
    const isOld = (attempt: CodeAttempt | undefined) =>
      attempt !== undefined && attempt.at + this.#maxWindow <= now;
    for (const [name, attempts] of this.#clients) {
      if (!isOld(attempts.at(-1))) break;
      this.#clients.delete(name);
    }
    /** When an attempt stops counting. Not later than now if it does not count. */
    const endOf = (attempt: CodeAttempt | undefined, window: number) =>
      attempt === undefined ? 0 : attempt.at + window;
    const own = this.#clients.get(client) ?? [];
    for (const attempts of [own, this.#all]) while (isOld(attempts[0])) attempts.shift();
    const total = totalLimit(settings);
    // Also true for an attempt without an answer.
    const hasCounted = endOf(own.at(-1), windowMs) > now;
    const ownEnd = endOf(own.at(-limit), windowMs);
    const totalEnd = hasCounted ? endOf(this.#all.at(-total.limit), total.windowMs) : 0;
    const until = Math.max(ownEnd, totalEnd);
    if (until > now) {
      const counted = ownEnd > now ? own.slice(-limit) : this.#all.slice(-total.limit);
      return {
        isAllowed: false,
        retryAfter: Math.max(1, Math.ceil((until - now) / 1000)),
        isPending: counted.some(({ isSettled }) => !isSettled),
      };
    }
    this.#clients.delete(client);
    this.#clients.set(client, own);
    const [oldest = client] = this.#clients.keys();
    if (this.#clients.size > MAX_CLIENTS) this.#clients.delete(oldest);
    this.#maxAttempts = Math.max(this.#maxAttempts, total.limit * 2);
    const attempt: CodeAttempt = { at: now, isSettled: false };
    for (const attempts of [own, this.#all]) {
      attempts.push(attempt);
      if (attempts.length > this.#maxAttempts) attempts.shift();
    }
    return {
      isAllowed: true,
      settle: async () => {
        attempt.isSettled = true;
      },
      release: async () => {
        for (const attempts of [own, this.#all]) {
          const index = attempts.lastIndexOf(attempt);
          if (index !== -1) attempts.splice(index, 1);
        }
        if (own.length === 0 && this.#clients.get(client) === own) this.#clients.delete(client);
      },
    };
  }
}

/**
 * Counts failed attempts in the memory of this process: a value for the option `guessLimit`. Guards with the
 * same instance count together.
 */
export class MemoryGuessLimit extends GuessLimitSettings implements GuessLimit {
  readonly #log = new CodeAttemptLog();

  constructor(options: GuessLimitOptions = {}) {
    super('MemoryGuessLimit', options);
  }

  async reserve(client: string): Promise<Reservation> {
    return this.#log.reserve(client, this);
  }
}
