import { pipeline, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { NextFunction, RequestHandler, Response } from 'express';
import { z } from 'zod';
import { html } from '../html.js';
import { amount, boardOf, offOr, oneOf, onOff, type SettingsOf, type Switch } from './board.js';
import type { SandboxClock } from './clock.js';
import { interfaceOf } from './request.js';

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

/** More cannot be said as a date. */
const seconds = z.int().min(0).max(1e12);

const rateLimitFault = {
  /** Seconds; default 30. */
  retryAfter: seconds.optional(),
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
  schema: z.union([z.literal(['key-api', 'login-api']), z.templateLiteral(['/', z.string()])]),
  expected: "'key-api', 'login-api' or a path",
  positions: [undefined, 'key-api', 'login-api'],
};

const times: Switch<number | undefined> = {
  about: 'How many requests they hit before they end; empty is no limit',
  unit: 'requests',
  initial: undefined,
  schema: z.int().min(1),
  expected: 'a whole number of requests, at least 1',
};

/** A timer of Node.js that is longer fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** It is made in memory. */
const LARGEST_BOMB = 2 ** 30;

/** The switches of {@link SandboxFaults}. */
export const FAULTS = {
  /** Milliseconds of real time before anything happens. 0 by default. */
  latency: amount('Waits before anything happens', 'milliseconds', LONGEST_TIMER),
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
    z.union([seconds, z.strictObject(rateLimitFault)]),
    ', a whole number of seconds or { retryAfter, form }',
    true,
    { form: 'http-date' },
    1,
  ),
  /** Share of requests, 0 to 1, answered 500. Spread evenly, not by chance: 0.5 fails every second one. */
  errorRate: amount('Share of requests answered 500, spread evenly', '0 to 1', 1),
  /** An HTML page with HTTP 200. */
  html: onOff('An HTML page with HTTP 200'),
  /** Another content type: `true` is text/html. */
  contentType: offOr('A wrong content type', headerValue, ' or a content type', true, 'text/plain'),
  /** A byte order mark ahead of the JSON. */
  bom: onOff('A byte order mark ahead of the JSON'),
  /** Warning text ahead of the JSON. */
  warnings: onOff('Warning text ahead of the JSON'),
  /** The right answer followed by blanks, up to this many bytes in all. 0 by default: off. */
  oversize: {
    ...amount('Fills the answer up with blanks to this size', 'bytes', Number.MAX_SAFE_INTEGER),
    schema: z.int().min(0),
    expected: 'a whole number of bytes',
  },
  /** A complete HTTP answer whose body is cut in the middle. */
  truncated: onOff('Cuts the body in the middle, in a complete answer'),
  /** A small gzip answer that unpacks to this many bytes; `true` is 64 MiB. */
  gzipBomb: offOr(
    'Small gzip, large body',
    z.int().min(1).max(LARGEST_BOMB),
    ` or a whole number of bytes from 1 to ${LARGEST_BOMB}`,
    true,
  ),
  /** A body that never ends: as fast as it is read (`true`), or one byte every 50 ms (`'slow'`). */
  endless: oneOf('A body that never ends; or one byte at a time', false, true, 'slow'),
  /** The connection is reset in the middle of the body. */
  reset: onOff('Resets the connection in the middle of the body'),
  /** Limits every fault above to one interface or one path. */
  only,
  /** Limits every fault above to the next so many requests they hit; then they are cleared. */
  times,
};

type FaultSettings = SettingsOf<typeof FAULTS>;

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

/** What PHP prints into an answer when warnings are not turned off on the server. */
export const WARNING_TEXT =
  '<br />\n<b>Warning</b>:  Undefined array key "lang" in <b>/srv/app/bootstrap.php</b> on line <b>112</b><br />\n';

export const BOM = '\uFEFF';
const HTML = 'text/html; charset=utf-8';
const DEFAULT_BOMB = 64 * 1024 * 1024;
const SLOW_INTERVAL = 50;
const BLANKS = Buffer.alloc(64 * 1024, ' ');

/** The faults as they stood when the request of a response came in. */
const active = new WeakMap<Response, Readonly<FaultSettings>>();

/**
 * Carries out the faults that happen instead of the service's work, in this order: latency, hang,
 * redirect, rateLimit, errorRate, html. {@link sendAnswer} carries out the others.
 */
export function faultsBeforeAnswer(faults: SandboxFaults, clock: SandboxClock): RequestHandler {
  let owed = 0;
  const failsNow = (rate: number): boolean => {
    owed += rate;
    if (owed < 1 - 1e-9) return false;
    owed -= 1;
    return true;
  };

  const proceed = (settings: Readonly<FaultSettings>, res: Response, next: NextFunction): void => {
    const { redirect, rateLimit, errorRate } = settings;
    if (settings.hang) {
      // No answer, and no timer either: only the caller or close() ends this.
    } else if (redirect !== false) {
      const { location = 'https://elsewhere.example/', status = 302 } =
        redirect === true ? {} : typeof redirect === 'string' ? { location: redirect } : redirect;
      res.writeHead(status, { Location: location }).end();
    } else if (rateLimit !== false) {
      refuseForNow(res, rateLimit, clock.now());
    } else if (errorRate > 0 && failsNow(errorRate)) {
      sendOutage(res, 500, 'Internal Server Error', 'Whoops, something went wrong.');
    } else if (settings.html) {
      sendOutage(res, 200, 'Down for maintenance', 'We will be back in a few minutes.');
    } else {
      next();
    }
  };

  return (req, res, next) => {
    const settings: Readonly<FaultSettings> = { ...faults };
    const { only, times, ...each } = settings;
    const isAnyOn = Object.entries(each).some(
      ([name, value]) => value !== FAULTS[name as keyof typeof each].initial,
    );
    const isHit = only === undefined || only === req.path || only === interfaceOf(req.path);
    if (!isAnyOn || !isHit) return next();
    if (times === 1) faults.clear();
    else if (times !== undefined) faults.times = times - 1;
    active.set(res, settings);
    if (settings.latency === 0) return proceed(settings, res, next);
    const timer = setTimeout(() => proceed(settings, res, next), settings.latency);
    // The caller can hang up, or the sandbox close, during the wait.
    res.once('close', () => clearTimeout(timer));
  };
}

function refuseForNow(res: Response, fault: FaultSettings['rateLimit'], now: number): void {
  const { retryAfter = 30, form = 'seconds' } =
    typeof fault === 'object' ? fault : typeof fault === 'number' ? { retryAfter: fault } : {};
  // A date only means something next to the sender's own time, so that is sent too.
  res.setHeader('Date', new Date(now).toUTCString());
  const until = new Date(now + retryAfter * 1000).toUTCString();
  res.setHeader('Retry-After', form === 'seconds' ? retryAfter : until);
  sendOutage(res, 429, '429 Too Many Requests', 'Please slow down.');
}

/** The bare HTML page that web servers and frameworks answer with when they have nothing better. */
export function sendOutage(res: Response, status: number, title: string, text: string): void {
  const head = html`<head><meta charset="utf-8"><title>${title}</title></head>`;
  const page = html`<!doctype html>\n<html lang="en">${head}<body><h1>${title}</h1><p>${text}</p></body></html>`;
  sendAnswer(res, status, page.toString(), HTML);
}

/** Sends what an API endpoint answers, spoilt by the faults that hit this request. */
export function sendAnswer(
  res: Response,
  status: number,
  body: string,
  contentType = 'application/json',
): void {
  const faults = active.get(res);
  const type = faults?.contentType || contentType;
  res.statusCode = status;
  res.setHeader('Content-Type', type === true ? HTML : type);
  res.setHeader('Cache-Control', 'no-store');
  const ahead = `${faults?.bom ? BOM : ''}${faults?.warnings ? WARNING_TEXT : ''}`;
  const whole = Buffer.from(ahead + body);
  const half = whole.subarray(0, Math.floor(whole.length / 2));

  if (faults?.reset) {
    res.setHeader('Content-Length', whole.length);
    res.write(half);
    // A reset at once could overtake the first half, and would not be in the middle of anything.
    const timer = setTimeout(() => res.socket?.resetAndDestroy(), 10);
    res.once('close', () => clearTimeout(timer));
  } else if (faults?.endless === 'slow') {
    res.write(whole);
    const timer = setInterval(() => res.write(' '), SLOW_INTERVAL);
    res.once('close', () => clearInterval(timer));
  } else if (faults?.endless) {
    sendBlanks(res, whole, Number.POSITIVE_INFINITY);
  } else if (faults?.gzipBomb) {
    const size = faults.gzipBomb === true ? DEFAULT_BOMB : faults.gzipBomb;
    const blanks = Buffer.alloc(Math.max(0, size - whole.length), ' ');
    res.setHeader('Content-Encoding', 'gzip');
    res.end(gzipSync(Buffer.concat([whole, blanks]), { level: 9 }));
  } else if (faults && !faults.truncated && faults.oversize > whole.length) {
    sendBlanks(res, whole, faults.oversize - whole.length);
  } else {
    const sent = faults?.truncated ? half : whole;
    res.setHeader('Content-Length', sent.length);
    res.end(sent);
  }
}

/** Blanks after a JSON value are legal JSON, so size is the only thing wrong. */
function* blanks(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= BLANKS.length) yield BLANKS.subarray(0, left);
}

/** Sends `start` and then blanks, no faster than they are read; without a Content-Length they must be counted. */
function sendBlanks(res: Response, start: Buffer, count: number): void {
  res.write(start);
  pipeline(Readable.from(blanks(count)), res, () => undefined);
}
