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

/** As much of an undici `Dispatcher` as is used; those of undici 6, 7 and 8 fit. */
export interface DispatcherLike {
  /** Sends one request; the answer goes to the handler. */
  dispatch(options: object, handler: object): boolean;
}

/** Options of both clients, {@link KeyApi} and {@link LoginApi}. */
export interface ClientOptions {
  /** Milliseconds for one whole call with its retries and waits. Default 10,000. */
  timeout?: number | undefined;
  /** Bytes of a response body that are read at most; a longer one is refused. Default 16 MiB. */
  maxResponseBytes?: number | undefined;
  /**
   * How often a failed request is sent again, where that is safe. Default 2; 0 turns it off. The
   * exchange of an auth_key is never repeated, because it spends the key.
   */
  retries?: number | undefined;
  /**
   * Allow plain http to a host that is not loopback. Default false: the secrets would travel in
   * clear.
   */
  allowInsecure?: boolean | undefined;
  /**
   * An undici `Dispatcher` (version 6, 7 or 8) to send through: a proxy agent, or a mock in tests.
   * `close()` leaves it open. Default: a keep-alive pool. Not together with `fetch`.
   */
  dispatcher?: DispatcherLike | undefined;
  /**
   * A function to send with instead of undici: for msw, nock, Bun and edge runtimes. Deadline, size cap
   * (of decoded bytes) and the refusal of redirects stay. What replaces the global `fetch` later is seen
   * by `(url, init) => fetch(url, init)`. Not together with `dispatcher`.
   */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
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
  /** The present as epoch milliseconds. */
  readonly clock: () => number;
  /** The same, but it never goes back: durations are measured by it. */
  readonly monotonicClock: () => number;
}

// A timer of Node fires at once when it is given more.
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

/** Where a service is: an origin to connect to, and what stands before each endpoint's path. */
export interface ServiceUrl {
  readonly origin: string;
  readonly basePath: string;
}

/**
 * Reads `baseUrl` or `authUrl`. The value is not repeated in an error: it could hold a password.
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
