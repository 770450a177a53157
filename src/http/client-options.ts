import { isIPv4 } from 'node:net';
import type { GuessLimitOption } from '../attempts/guess-limit.js';
import { MAX_TIMER_DELAY } from '../deadline.js';
import {
  type Check,
  count,
  flag,
  functionOf,
  ifUnset,
  positive,
  refuseStray,
  type Table,
  unchecked,
  type Values,
  wrongOption,
} from '../options.js';

/** A `fetch`: that of Node.js, of undici, or the app's own. */
export type FetchLike = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body: string | null;
    signal: AbortSignal;
    redirect: 'manual';
    cache: 'no-store';
  },
) => Promise<{
  /** The HTTP status. */
  readonly status: number;
  /** `error` for a request that failed, `opaqueredirect` for a redirect whose status is hidden. */
  readonly type: string;
  /** Whether a redirect was followed, which is refused. */
  readonly redirected: boolean;
  /** Where it led. */
  readonly url?: string;
  /** The headers. */
  readonly headers: Pick<Headers, 'get'>;
  /** A stream of bytes, or none. */
  readonly body: object | null;
}>;

/** Options of both clients, {@link KeyApi} and {@link LoginApi}. */
export interface ClientOptions {
  /**
   * Milliseconds for one call, with its retries and waits. A request takes at most half of the time that is left, if a retry
   * can follow. Default 10,000.
   */
  timeout?: number | undefined;
  /** The largest response body in bytes; a larger one is refused. Default 16 MiB. */
  maxResponseBytes?: number | undefined;
  /**
   * How often a request is sent again after what says nothing about its input: no connection, no answer in time, HTTP 502,
   * 503 or 504. Default 2. The exchange of an auth_key, which works once, never is.
   */
  retries?: number | undefined;
  /** Allows plain http to a host that is not loopback; secrets then travel in clear text. Default false. */
  allowInsecure?: boolean | undefined;
  /**
   * A function that sends the requests in place of the package's own connections: for an undici dispatcher of the app's,
   * msw, nock and edge runtimes. The deadline, `maxResponseBytes` (of decoded bytes) and the refusal of redirects still
   * apply. It must not retry by itself. Pass `(url, init) => fetch(url, init)` if the global `fetch` is replaced later.
   * Default: connections through undici, which honour `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, never for loopback; the
   * global `fetch` on Bun.
   */
  fetch?: FetchLike | undefined;
  /**
   * How many failed attempts a client can make: wrong codes, unknown items and failed logins, over all calls that name the
   * same `client`. Over the limit they reject with `too_many_attempts`, and the service is not asked. Valid codes, cached
   * answers and outages do not count. A `RedisGuessLimit` of `marketgate/redis` counts over a fleet; `false` turns it off.
   * Default: 10 in a minute for each client, and 30 for all together.
   */
  guessLimit?: GuessLimitOption | undefined;
  /** The current time in epoch milliseconds, for tests. Default: `Date.now`; for durations, a clock that cannot step. */
  clock?: (() => number) | undefined;
}

/** An address of the service. The error never repeats it, because it can contain a password. */
export const serviceUrl: Check<URL> = (owner, name, value) => {
  if (typeof value === 'string') refuseStray(owner, name, value);
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw wrongOption(owner, name, `must be an absolute http or https URL${ifUnset(value)}`);
  }
  if (url.username + url.password + url.search + url.hash !== '') {
    throw wrongOption(owner, name, 'must not hold a user name, password, query or fragment');
  }
  return url;
};

export const CLIENT_OPTIONS = {
  timeout: positive('milliseconds', 10_000),
  maxResponseBytes: positive('bytes', 16 * 1024 * 1024),
  retries: count(2),
  allowInsecure: flag,
  fetch: functionOf<FetchLike>(),
  guessLimit: unchecked<GuessLimitOption | undefined>(),
  clock: functionOf<() => number>(),
} satisfies Table<ClientOptions>;

/**
 * Makes settings of the options that both clients have.
 * @param urlName the option with the address of the service.
 * @throws TypeError for an address that would show the secrets to others.
 */
export function clientSettings(
  owner: string,
  urlName: string,
  url: URL,
  options: Omit<Values<typeof CLIENT_OPTIONS>, 'guessLimit'>,
) {
  const { timeout, maxResponseBytes, retries, allowInsecure, fetch, clock } = options;
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    const why = 'plain http would show the secrets to everyone on the way';
    throw wrongOption(owner, urlName, `must be https: ${why} (allowInsecure: true permits it)`);
  }
  return {
    timeout: Math.min(timeout, MAX_TIMER_DELAY),
    maxResponseBytes,
    retries,
    // Without a slash at the end, for the paths of the endpoints.
    url: { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') },
    fetch,
    /** Epoch milliseconds, for dates. */
    clock: clock ?? Date.now,
    /** Milliseconds, for durations: it cannot step, unless it is the app's own. */
    timer: clock ?? (() => performance.now()),
  };
}

/** What a client works with. */
export type ClientSettings = Readonly<ReturnType<typeof clientSettings>>;

/** @param hostname as in a URL: an IPv6 address in brackets. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  (isIPv4(hostname) && hostname.startsWith('127.'));
