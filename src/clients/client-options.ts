import { type GuessLimitOption, guessLimitOption } from '../guess/guess-limit.js';
import { type FetchLike, HTTP_OPTIONS } from '../http/settings.js';
import type { Table } from '../options.js';

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
   * apply. It must neither retry by itself nor throw at an HTTP status. Pass `(url, init) => fetch(url, init)` if the global
   * `fetch` is replaced later. Default: connections through undici, which honour `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, never for loopback; the
   * global `fetch` on Bun.
   */
  fetch?: FetchLike | undefined;
  /**
   * How often a client can be answered with anything but a positive answer: wrong codes, unknown items and failed logins, over
   * all calls that name the same `client`. Over the limit they reject with `too_many_attempts`, and the service is not asked.
   * Valid codes, cached answers and outages do not count. A `RedisGuessLimit` of `marketgate/redis` counts over a fleet; `false` turns it off.
   * Default: 10 in a minute for each client, and 30 for all together.
   */
  guessLimit?: GuessLimitOption | undefined;
  /** The current time in epoch milliseconds, for tests. Default: `Date.now`; for durations, a clock that cannot step. */
  clock?: (() => number) | undefined;
}

export const CLIENT_OPTIONS = {
  ...HTTP_OPTIONS,
  guessLimit: guessLimitOption,
} satisfies Table<ClientOptions>;
