import { pipeline, Readable } from 'node:stream';
import type { RequestHandler, Response } from 'express';
import { html } from '../html.js';
import type { SandboxContext } from './context.js';
import { interfaceOf } from './request.js';
import { faultsOn, type ScopedFaults } from './switches.js';

const HTML = 'text/html; charset=utf-8';
const BLANKS = Buffer.alloc(64 * 1024, ' ');

/**
 * Carries out the faults that happen instead of the service's work, in this order: latency, hang, rateLimit,
 * errorRate, html. `send` carries out the others.
 */
export function faultsBeforeAnswer({ faultScopes, counts }: SandboxContext): RequestHandler {
  /** Whether a request of a scope has its turn to fail. Counts it there. */
  const isFailingIn = (scope: string, errorRate: number): boolean => {
    const due = (counts.errors.get(scope) ?? 0) + errorRate;
    const isFailing = due >= 1 - 1e-9;
    counts.errors.set(scope, isFailing ? due - 1 : due);
    return isFailing;
  };
  return (req, res, next) => {
    const scopes = ['', interfaceOf(req.path), req.path];
    const on = scopes.map((scope) => faultsOn(faultScopes.get(scope) ?? {}));
    const { latency = 0, ...faults }: Partial<ScopedFaults> = Object.assign({}, ...on);
    // All of them count, so no `some`.
    const isFailing = on
      .map(({ errorRate }, i) => errorRate !== undefined && isFailingIn(scopes[i] ?? '', errorRate))
      .includes(true);
    res.locals.faults = faults;
    const proceed = (): void => {
      if (faults.hang) {
        // No answer, and no timer either: only the caller or close() ends this.
      } else if (faults.rateLimit !== undefined) {
        res.setHeader('Retry-After', faults.rateLimit === true ? 30 : Number(faults.rateLimit));
        sendErrorPage(res, 429, '429 Too Many Requests', 'Please slow down.');
      } else if (isFailing) {
        sendErrorPage(res, 500, 'Internal Server Error', 'Whoops, something went wrong.');
      } else if (faults.html) {
        sendErrorPage(res, 200, 'Down for maintenance', 'We will be back in a few minutes.');
      } else {
        next();
      }
    };
    if (latency === 0) return proceed();
    const [least, most] = typeof latency === 'number' ? [latency, latency] : latency;
    const timer = setTimeout(proceed, least + Math.random() * (most - least));
    // The caller can hang up, or the sandbox close, during the wait.
    res.once('close', () => clearTimeout(timer));
  };
}

/** The bare HTML page that web servers and frameworks answer with when they have nothing better. */
export function sendErrorPage(res: Response, status: number, title: string, text: string): void {
  const head = html`<head><meta charset="utf-8"><title>${title}</title></head>`;
  const page = html`<!doctype html>\n<html lang="en">${head}<body><h1>${title}</h1><p>${text}</p></body></html>`;
  send(res, status, page.toString(), HTML);
}

/** Sends the JSON of an endpoint, as the option `answer` changes it. A text in place of the body is sent as it is. */
export function sendJson(
  { answer }: Pick<SandboxContext, 'answer'>,
  res: Response,
  status: number,
  body: object,
): void {
  const text = JSON.stringify(body);
  if (!answer) return void send(res, status, text);
  try {
    const changed = answer(res.req.path, JSON.parse(text));
    if (changed === undefined) throw new TypeError('it returned nothing, not even the body');
    send(res, status, typeof changed === 'string' ? changed : JSON.stringify(changed));
  } catch (error) {
    res.locals.msg = `createSandbox.answer failed: ${(error as Error).message}`;
    send(res, 500, res.locals.msg, 'text/plain; charset=utf-8');
  }
}

/** Sends what an endpoint answers, changed by the faults of its request. */
function send(res: Response, status: number, body: string, contentType = 'application/json'): void {
  // The body of a HEAD goes nowhere, so nothing would slow down what writes an endless one.
  const isHead = res.req.method === 'HEAD';
  const faults: Partial<ScopedFaults> = isHead ? {} : (res.locals.faults ?? {});
  res.locals.answer = body;
  res.statusCode = status;
  res.setHeader('Content-Type', contentType);
  res.setHeader('Cache-Control', 'no-store');
  const whole = Buffer.from(body);
  const half = whole.subarray(0, Math.floor(whole.length / 2));
  if (faults.endless) {
    res.write(whole);
    // No faster than they are read. Blanks after a JSON value are legal, so size is the only thing wrong.
    pipeline(Readable.from(blanks()), res, () => undefined);
    return;
  }
  res.setHeader('Content-Length', faults.truncated ? half.length : whole.length);
  if (faults.reset) {
    res.write(half);
    // A reset at once could overtake the first half, and would not be in the middle of anything.
    setTimeout(() => res.socket?.resetAndDestroy(), 10);
  } else {
    res.end(faults.truncated ? half : whole);
  }
}

function* blanks(): Generator<Buffer> {
  for (;;) yield BLANKS;
}
