import type { NextFunction, RequestHandler, Response } from 'express';
import type { SandboxContext } from '../context.js';
import { outagePage } from '../pages/outage-page.js';
import { type ActiveFaults, hitByFaults } from './active-faults.js';
import { sendAnswer } from './send-answer.js';

const HTML = 'text/html; charset=utf-8';

function redirectAway(res: Response, fault: ActiveFaults['redirect']): void {
  const { location = 'https://elsewhere.example/', status = 302 } =
    typeof fault === 'object' ? fault : typeof fault === 'string' ? { location: fault } : {};
  res.statusCode = status;
  res.setHeader('Location', location);
  res.end();
}

function refuseForNow(res: Response, fault: ActiveFaults['rateLimit'], now: number): void {
  const { retryAfter = 30, form = 'seconds' } =
    typeof fault === 'object' ? fault : typeof fault === 'number' ? { retryAfter: fault } : {};
  // A date only means something next to the sender's own time, so that is sent too.
  res.setHeader('Date', new Date(now).toUTCString());
  res.setHeader(
    'Retry-After',
    form === 'seconds' ? String(retryAfter) : new Date(now + retryAfter * 1000).toUTCString(),
  );
  const body = outagePage('429 Too Many Requests', 'Please slow down.');
  sendAnswer(res, { status: 429, contentType: HTML, body });
}

/**
 * Carries out the faults that happen instead of the service's work, in this order: latency, hang,
 * redirect, rateLimit, errorRate, html.
 */
export function faultsBeforeAnswer(context: SandboxContext): RequestHandler {
  let owed = 0;

  const failsNow = (rate: number): boolean => {
    owed += rate;
    if (owed < 1 - 1e-9) return false;
    owed -= 1;
    return true;
  };

  const sendHtml = (res: Response, status: number, title: string, text: string): void =>
    sendAnswer(res, { status, contentType: HTML, body: outagePage(title, text) });

  const proceed = (faults: ActiveFaults, res: Response, next: NextFunction): void => {
    if (faults.hang) {
      // No answer, and no timer either: only the caller or close() ends this.
    } else if (faults.redirect !== false) {
      redirectAway(res, faults.redirect);
    } else if (faults.rateLimit !== false) {
      refuseForNow(res, faults.rateLimit, context.clock.now());
    } else if (faults.errorRate > 0 && failsNow(faults.errorRate)) {
      sendHtml(res, 500, 'Internal Server Error', 'Whoops, something went wrong.');
    } else if (faults.html) {
      sendHtml(res, 200, 'Down for maintenance', 'We will be back in a few minutes.');
    } else {
      next();
    }
  };

  return (req, res, next) => {
    const faults = hitByFaults(context.faults, req, res);
    if (!faults) return next();
    if (faults.latency === 0) return proceed(faults, res, next);
    const timer = setTimeout(() => proceed(faults, res, next), faults.latency);
    // The caller may hang up, or the sandbox close, while we wait.
    res.once('close', () => clearTimeout(timer));
  };
}
