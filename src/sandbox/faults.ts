import { pipeline, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { RequestHandler, Response } from 'express';
import { html } from '../html.js';
import type { SandboxContext } from './context.js';
import { interfaceOf } from './request.js';
import { FAULTS, type FaultSettings } from './switches.js';

/** What PHP prints into an answer when warnings are not turned off on the server. */
export const WARNING_TEXT =
  '<br />\n<b>Warning</b>:  Undefined array key "lang" in <b>/srv/app/bootstrap.php</b> on line <b>112</b><br />\n';

export const BOM = '\uFEFF';
const HTML = 'text/html; charset=utf-8';
const DEFAULT_BOMB = 64 * 1024 * 1024;
const SLOW_INTERVAL = 50;
const BLANKS = Buffer.alloc(64 * 1024, ' ');

/** The faults as they stood when the request of a response came in. */
const faultsOf = new WeakMap<Response, Readonly<FaultSettings>>();

/**
 * Carries out the faults that happen instead of the service's work, in this order: latency, hang,
 * redirect, rateLimit, errorRate, html. {@link sendAnswer} carries out the others.
 */
export function faultsBeforeAnswer({ faults, clock, counted }: SandboxContext): RequestHandler {
  return (req, res, next) => {
    const settings: Readonly<FaultSettings> = { ...faults };
    const { only, times, ...each } = settings;
    const isAnyOn = Object.entries(each).some(
      ([name, value]) => value !== FAULTS[name as keyof typeof each].initial,
    );
    const isHit = only === undefined || only === req.path || only === interfaceOf(req.path);
    if (!isAnyOn || !isHit) return next();
    // Before clear(), which starts the count again.
    counted.pendingErrors += settings.errorRate;
    const isFailing = counted.pendingErrors >= 1 - 1e-9;
    if (isFailing) counted.pendingErrors -= 1;
    if (times === 1) faults.clear();
    else if (times !== undefined) faults.times = times - 1;
    faultsOf.set(res, settings);
    const proceed = (): void => {
      const { redirect, rateLimit } = settings;
      if (settings.hang) {
        // No answer, and no timer either: only the caller or close() ends this.
      } else if (redirect !== false) {
        const { location = 'https://elsewhere.example/', status = 302 } =
          redirect === true ? {} : typeof redirect === 'string' ? { location: redirect } : redirect;
        res.writeHead(status, { Location: location }).end();
      } else if (rateLimit !== false) {
        refuseForNow(res, rateLimit, clock.now());
      } else if (isFailing) {
        sendErrorPage(res, 500, 'Internal Server Error', 'Whoops, something went wrong.');
      } else if (settings.html) {
        sendErrorPage(res, 200, 'Down for maintenance', 'We will be back in a few minutes.');
      } else {
        next();
      }
    };
    if (settings.latency === 0) return proceed();
    const timer = setTimeout(proceed, settings.latency);
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
  sendErrorPage(res, 429, '429 Too Many Requests', 'Please slow down.');
}

/** The bare HTML page that web servers and frameworks answer with when they have nothing better. */
export function sendErrorPage(res: Response, status: number, title: string, text: string): void {
  const head = html`<head><meta charset="utf-8"><title>${title}</title></head>`;
  const page = html`<!doctype html>\n<html lang="en">${head}<body><h1>${title}</h1><p>${text}</p></body></html>`;
  sendAnswer(res, status, page.toString(), HTML);
}

/** Sends what an API endpoint answers, changed by the faults of its request. */
export function sendAnswer(
  res: Response,
  status: number,
  body: string,
  contentType = 'application/json',
): void {
  const faults = faultsOf.get(res);
  const type = faults?.contentType || contentType;
  res.statusCode = status;
  res.setHeader('Content-Type', type === true ? HTML : type);
  res.setHeader('Cache-Control', 'no-store');
  const ahead = `${faults?.bom ? BOM : ''}${faults?.warnings ? WARNING_TEXT : ''}`;
  const whole = Buffer.from(ahead + body);
  if (res.req.method === 'HEAD') {
    // Its body goes nowhere, so nothing would slow down what writes an endless one.
    res.setHeader('Content-Length', whole.length);
    res.end();
    return;
  }
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
