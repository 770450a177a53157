import { z } from 'zod';
import { amount, boardOf, offOr, oneOf, onOff, type SettingsOf, type Switch } from './switches.js';

/** Header values that a program or a form may choose: Node refuses to send anything else. */
const headerValue = z.string().regex(/^[\x21-\x7e][\x20-\x7e]*$/);

const redirectFault = {
  /** Default: `https://elsewhere.example/`. */
  location: headerValue.optional(),
  /** Default: 302. A 307 or 308 makes a careless client send its form to the other host. */
  status: z.literal([301, 302, 303, 307, 308]).optional(),
};

/** Where a redirect fault leads, and with which status. */
export interface RedirectFault extends z.infer<z.ZodObject<typeof redirectFault>> {}

const rateLimitFault = {
  /** Seconds; default 30. */
  retryAfter: z.number().min(0).optional(),
  /** `'seconds'` (default), or `'http-date'`: a date by the sandbox's clock. */
  form: z.enum(['seconds', 'http-date']).optional(),
};

/** How long a 429 answer asks to wait, and how its header says so. */
export interface RateLimitFault extends z.infer<z.ZodObject<typeof rateLimitFault>> {}

/** Where faults hit: one interface, or the path of one endpoint such as `/api/items/item`. */
export type FaultScope = 'key-api' | 'login-api' | `/${string}`;

const only: Switch<FaultScope | undefined> = {
  about: 'Where all of these hit',
  initial: undefined,
  accepts: (value) => typeof value === 'string' && /^(?:key-api$|login-api$|\/)/.test(value),
  expected: "'key-api', 'login-api' or a path",
  positions: [undefined, 'key-api', 'login-api'],
};

const times: Switch<number | undefined> = {
  about: 'How many requests they hit before they end; empty is no limit',
  unit: 'requests',
  initial: undefined,
  accepts: (value) => z.number().min(1).safeParse(value).success,
  expected: 'a number of requests, at least 1',
};

/** The switches of {@link SandboxFaults}. */
export const FAULTS = {
  /** Milliseconds of real time before anything happens. 0 by default. */
  latency: amount('Waits before anything happens', 'milliseconds'),
  /** Never answers. */
  hang: onOff('Never answers'),
  /** Redirects to another host: `true`, a location, or a {@link RedirectFault}. */
  redirect: offOr(
    'Redirects to another host',
    z.union([headerValue, z.strictObject(redirectFault)]),
    ', a location or { location, status }',
    true,
    { status: 307 },
  ),
  /** 429 with `Retry-After`: `true` (30 seconds), a number of seconds, or a {@link RateLimitFault}. */
  rateLimit: offOr(
    'Answers 429 with Retry-After',
    z.union([z.number().min(0), z.strictObject(rateLimitFault)]),
    ', a number of seconds or { retryAfter, form }',
    true,
    { form: 'http-date' },
    1,
  ),
  /** Share of requests, 0 to 1, answered 500. Spread evenly, not by chance: 0.5 fails every second one. */
  errorRate: amount('Share of requests answered 500, spread evenly', '0 to 1', { most: 1 }),
  /** An HTML page with HTTP 200. */
  html: onOff('An HTML page with HTTP 200'),
  /** Another content type: `true` is text/html. */
  contentType: offOr('A wrong content type', headerValue, ' or a content type', true, 'text/plain'),
  /** A byte order mark ahead of the JSON. */
  bom: onOff('A byte order mark ahead of the JSON'),
  /** Warning text ahead of the JSON. */
  warnings: onOff('Warning text ahead of the JSON'),
  /** The right answer followed by blanks, up to this many bytes in all. 0 by default: off. */
  oversize: amount('Fills the answer up with blanks to this size', 'bytes'),
  /** A complete HTTP answer whose body is cut in the middle. */
  truncated: onOff('Cuts the body in the middle, in a complete answer'),
  /** A small gzip answer that unpacks to this many bytes; `true` is 64 MiB. */
  gzipBomb: offOr('Small gzip, large body', z.number().min(1), ' or a number of bytes', true),
  /** A body that never ends: as fast as it is read (`true`), or one byte every 50 ms (`'slow'`). */
  endless: oneOf('A body that never ends; or one byte at a time', false, true, 'slow'),
  /** The connection is reset in the middle of the body. */
  reset: onOff('Resets the connection in the middle of the body'),
  /** Limits every fault above to one interface or one path. */
  only,
  /** Limits every fault above to the next so many requests they hit; then they are cleared. */
  times,
};

export type FaultSettings = SettingsOf<typeof FAULTS>;

/**
 * What can go wrong between a client and the service. Faults hit the API endpoints of both interfaces,
 * never pages and media; they combine. The first six happen instead of the service's work, the others to
 * an answer after the work was done, so an auth_key is spent by then.
 */
export interface SandboxFaults extends FaultSettings {
  /** Ends all faults. */
  clear(): void;
}

export function createFaults(onChange: () => void): SandboxFaults {
  const clear = () => {
    for (const name of Object.keys(FAULTS)) Object.assign(faults, { [name]: undefined });
  };
  const faults: SandboxFaults = boardOf('faults', FAULTS, onChange, { clear });
  return faults;
}
