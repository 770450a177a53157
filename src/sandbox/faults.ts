import type { RequestHandler, Response } from 'express';
import { faultsOf, sendErrorPage } from './answer.js';
import type { SandboxContext } from './context.js';
import { interfaceOf } from './request.js';
import { FAULTS, type FaultSettings, faultsInForce } from './switches.js';

/** Spreads values over a range evenly, in the same order each time. */
const GOLDEN_RATIO = 0.618_034;

/**
 * Carries out the faults that happen instead of the service's work, in this order: latency, hang,
 * redirect, rateLimit, errorRate, html. `sendAnswer` carries out the others.
 */
export function faultsBeforeAnswer({ faults, clock, counted }: SandboxContext): RequestHandler {
  /** Whether one of the scopes that a request is in has its turn to fail. Counts the request there. */
  const isFailingIn = (scope: string, errorRate: number): boolean => {
    const due = (counted.errorsDue.get(scope) ?? 0) + errorRate;
    const isFailing = due >= 1 - 1e-9;
    counted.errorsDue.set(scope, isFailing ? due - 1 : due);
    return isFailing;
  };
  return (req, res, next) => {
    const isHit = [undefined, req.path, interfaceOf(req.path)].includes(faults.only);
    const hits = faultsInForce(faults, [interfaceOf(req.path), req.path]).filter(
      ({ scope, on: { only, times, ...others } }) =>
        (scope !== '' || isHit) && Object.keys(others).length > 0,
    );
    if (hits.length === 0) return next();
    const settings: Readonly<FaultSettings> = Object.assign(
      Object.fromEntries(Object.entries(FAULTS).map(([key, { initial }]) => [key, initial])),
      ...hits.map(({ on }) => on),
    );
    // All of them count, so no `some`; and before `times` clears them, which starts the count again.
    const failing = hits.map(({ scope, on }) => isFailingIn(scope, on.errorRate ?? 0));
    const isFailing = failing.includes(true);
    for (const { set, on } of hits) {
      if (on.times === 1) for (const name of Object.keys(set)) Reflect.deleteProperty(set, name);
      else if (on.times !== undefined) set.times = on.times - 1;
    }
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
    const [least, most] = [settings.latency].flat() as [number, number?];
    const share = (++counted.delays * GOLDEN_RATIO) % 1;
    const timer = setTimeout(proceed, least + ((most ?? least) - least) * share);
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
