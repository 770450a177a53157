import { isIPv4 } from 'node:net';
import { monotonic } from '../deadline.js';
import {
  countOption,
  flagOption,
  functionOption,
  positiveOption,
  shapedOption,
  wrongOption,
} from '../options.js';

/** The part of an undici `Dispatcher` (version 6, 7 or 8) that is used. */
export interface DispatcherLike {
  /** Sends one request, and passes the response to the handler. */
  dispatch(options: object, handler: object): boolean;
}

/** Options of both clients, {@link KeyApi} and {@link LoginApi}. */
export interface ClientOptions {
  /** Milliseconds for one call, with its retries and waits. Default 10,000. */
  timeout?: number | undefined;
  /** The largest response body in bytes; a larger one is refused. Default 16 MiB. */
  maxResponseBytes?: number | undefined;
  /**
   * How often a failed request is sent again. Default 2; 0 turns retries off. The exchange of an auth_key
   * is never retried, because an auth_key works once.
   */
  retries?: number | undefined;
  /** Allows plain http to a host that is not loopback; secrets then travel in clear text. Default false. */
  allowInsecure?: boolean | undefined;
  /**
   * An undici `Dispatcher` (version 6, 7 or 8) that sends the requests: a proxy agent, or a mock in tests.
   * `close()` leaves it open. Cannot be combined with `fetch`. Default: a keep-alive pool; through the
   * proxies of the environment where Node.js uses them (`NODE_USE_ENV_PROXY=1`); the global `fetch` on Bun.
   */
  dispatcher?: DispatcherLike | undefined;
  /**
   * A function that sends the requests instead of undici, for msw, nock, Bun and edge runtimes. The
   * deadline, `maxResponseBytes` (of decoded bytes) and the refusal of redirects still apply. Pass
   * `(url, init) => fetch(url, init)` if the global `fetch` is replaced later. Cannot be combined with
   * `dispatcher`.
   */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Returns the current time in epoch milliseconds, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined;
}

/** The names of {@link ClientOptions}, to check for unknown ones. */
export const CLIENT_OPTION_NAMES = [
  'timeout',
  'maxResponseBytes',
  'retries',
  'allowInsecure',
  'dispatcher',
  'fetch',
  'clock',
] as const;

/** {@link ClientOptions}, checked and complete. */
export interface ClientSettings {
  readonly timeout: number;
  readonly maxResponseBytes: number;
  readonly retries: number;
  readonly allowInsecure: boolean;
  readonly dispatcher: DispatcherLike | undefined;
  readonly fetch: ClientOptions['fetch'];
  /** The current time in epoch milliseconds. */
  readonly clock: () => number;
  /** The same, but never goes back; for durations. */
  readonly monotonicClock: () => number;
}

// A Node.js timer with a longer delay fires at once.
const LONGEST_TIMER = 2 ** 31 - 1;
const DEFAULT_BYTES = 16 * 1024 * 1024;

/** @throws TypeError that names the wrong option. */
export function checkClientOptions(owner: string, options: ClientOptions): ClientSettings {
  const { dispatcher } = options;
  const timeout = positiveOption(owner, 'timeout', options.timeout, 10_000, 'milliseconds');
  const most = options.maxResponseBytes;
  const clock = functionOption(owner, 'clock', options.clock) ?? Date.now;
  const fetch = functionOption(owner, 'fetch', options.fetch);
  if (dispatcher !== undefined) {
    const what = 'a Dispatcher of undici 6, 7 or 8';
    shapedOption<DispatcherLike>(owner, 'dispatcher', dispatcher, ['dispatch'], what);
    if (fetch !== undefined) throw wrongOption(owner, 'fetch', 'cannot go with "dispatcher"');
  }
  return {
    timeout: Math.min(timeout, LONGEST_TIMER),
    maxResponseBytes: positiveOption(owner, 'maxResponseBytes', most, DEFAULT_BYTES, 'bytes'),
    retries: countOption(owner, 'retries', options.retries, 2),
    allowInsecure: flagOption(owner, 'allowInsecure', options.allowInsecure),
    dispatcher,
    fetch,
    clock,
    monotonicClock: monotonic(clock),
  };
}

/** The address of a service: an origin, and the prefix of each endpoint's path. */
export interface ServiceUrl {
  readonly origin: string;
  readonly basePath: string;
}

/**
 * Checks `baseUrl` or `authUrl`. An error never repeats the value, which can contain a password.
 * @throws TypeError that names the option.
 */
export function serviceUrl(
  owner: string,
  name: string,
  value: unknown,
  allowInsecure: boolean,
): ServiceUrl {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw wrongOption(owner, name, 'must be an absolute http or https URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw wrongOption(owner, name, 'must not hold a user name or password');
  }
  if (url.search !== '' || url.hash !== '') {
    throw wrongOption(owner, name, 'must not hold a query or a fragment');
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw wrongOption(
      owner,
      name,
      'must be https: plain http would show the secrets to everyone on the way (allowInsecure: true permits it)',
    );
  }
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  (isIPv4(hostname) && hostname.startsWith('127.'));
