import { isIPv4 } from 'node:net';
import { MAX_TIMER_DELAY } from '../deadline.js';
import {
  type Check,
  count,
  flag,
  functionOf,
  ifUnset,
  machineClock,
  positive,
  refuseStray,
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
  /** A stream of bytes, text, bytes, or none. */
  readonly body: object | string | null;
}>;

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

/** The checks of the options of both clients that are about HTTP. */
export const HTTP_OPTIONS = {
  timeout: positive('milliseconds', 10_000),
  maxResponseBytes: positive('bytes', 16 * 1024 * 1024),
  retries: count(2),
  allowInsecure: flag,
  fetch: functionOf<FetchLike>(),
  clock: functionOf<() => number>(),
};

/**
 * Makes settings of the options that are about HTTP.
 * @param urlName the option with the address of the service.
 * @throws TypeError for an address that would show the secrets to others.
 */
export function clientSettings(
  owner: string,
  urlName: string,
  url: URL,
  options: Values<typeof HTTP_OPTIONS>,
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
    clock: clock ?? machineClock,
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
