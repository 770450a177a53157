import type { RequestHandler, Response } from 'express';
import { faultsOf, sendErrorPage } from './answer.js';
import type { SandboxContext } from './context.js';
import { interfaceOf } from './request.js';
import { FAULTS, type FaultSettings } from './switches.js';

/**
 * Carries out the faults that happen instead of the service's work, in this order: latency, hang,
 * redirect, rateLimit, errorRate, html. `sendAnswer` carries out the others.
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
    counted.errorsDue += settings.errorRate;
    const isFailing = counted.errorsDue >= 1 - 1e-9;
    if (isFailing) counted.errorsDue -= 1;
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
