import { pipeline, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { Response } from 'express';
import { html } from '../html.js';
import type { FaultSettings } from './switches.js';

/** What PHP prints into an answer when warnings are not turned off on the server. */
export const WARNING_TEXT =
  '<br />\n<b>Warning</b>:  Undefined array key "lang" in <b>/srv/app/bootstrap.php</b> on line <b>112</b><br />\n';

export const BOM = '\uFEFF';
const HTML = 'text/html; charset=utf-8';
const DEFAULT_BOMB = 64 * 1024 * 1024;
const SLOW_INTERVAL = 50;
const BLANKS = Buffer.alloc(64 * 1024, ' ');

/** The faults that hit the request of a response, as they stood when it came in. */
export const faultsOf = new WeakMap<Response, Readonly<FaultSettings>>();

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
  res.locals.answer = body;
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
