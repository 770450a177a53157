/** Where faults hit: one interface, or the path of one endpoint such as `/api/items/item`. */
export type FaultScope = 'key-api' | 'login-api' | `/${string}`;

/** A wrong answer's redirect: to where, and with which status. */
export interface RedirectFault {
  /** Default: `https://elsewhere.example/`. */
  location?: string;
  /** Default: 302. A 307 or 308 makes a careless client send its form to the other host. */
  status?: 301 | 302 | 303 | 307 | 308;
}

/** A 429 answer: how long to wait, and how the header says so. */
export interface RateLimitFault {
  /** Seconds; default 30. */
  retryAfter?: number;
  /** `'seconds'` (default), or `'http-date'`: a date by the sandbox's clock. */
  form?: 'seconds' | 'http-date';
}

/**
 * What can go wrong between a client and the service. Faults hit the API endpoints of both interfaces,
 * never pages and media; they combine. The first six happen instead of the service's work, the others to
 * an answer after the work was done, so an auth_key is spent by then.
 */
export interface SandboxFaults {
  /** Milliseconds of real time before anything happens. 0 by default. */
  latency: number;
  /** Never answers. */
  hang: boolean;
  /** Redirects to another host: `true`, a location, or both parts. */
  redirect: boolean | string | RedirectFault;
  /** 429 with `Retry-After`: `true` (30 seconds), a number of seconds, or a {@link RateLimitFault}. */
  rateLimit: boolean | number | RateLimitFault;
  /** Share of requests, 0 to 1, answered 500. Spread evenly, not by chance: 0.5 fails every second one. */
  errorRate: number;
  /** An HTML page with HTTP 200. */
  html: boolean;
  /** Another content type: `true` is text/html. */
  contentType: boolean | string;
  /** A byte order mark ahead of the JSON. */
  bom: boolean;
  /** Warning text ahead of the JSON. */
  warnings: boolean;
  /** The right answer followed by blanks, up to this many bytes in all. 0 by default: off. */
  oversize: number;
  /** A complete HTTP answer whose body is cut in the middle. */
  truncated: boolean;
  /** A small gzip answer that unpacks to this many bytes; `true` is 64 MiB. */
  gzipBomb: boolean | number;
  /** A body that never ends: as fast as it is read (`true`), or one byte every 50 ms (`'slow'`). */
  endless: boolean | 'slow';
  /** The connection is reset in the middle of the body. */
  reset: boolean;
  /** Limits every fault above to one interface or one path. */
  only: FaultScope | undefined;
  /** Limits every fault above to the next so many requests they hit; then they are cleared. */
  times: number | undefined;
  /** Ends all faults. */
  clear(): void;
}

/** The faults without their methods. */
export type FaultSettings = Omit<SandboxFaults, 'clear'>;
