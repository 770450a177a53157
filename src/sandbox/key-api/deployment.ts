import type { Request, RequestHandler, Response } from 'express';
import type { SandboxContext } from '../context.js';
import { sendAnswer, sendOutage } from '../faults.js';

const BROWSER = /Mozilla|Chrome|Firefox|Edge|Opera/;
const MINUTE = 60_000;
const DEFAULT_LIMIT = 60;

/** Frameworks answer their own errors as HTML, or as `{message}` to clients that accept JSON. */
function sendFrameworkError(
  req: Request,
  res: Response,
  status: number,
  message: string,
  form: boolean | 'html' | 'json' = true,
): void {
  const isJson = form === true ? req.headers.accept?.includes('/json') : form === 'json';
  if (isJson) sendAnswer(res, status, JSON.stringify({ message }));
  else sendOutage(res, status, `${status}`, message);
}

/**
 * What stands in front of the key API on real deployments (field notes): a switched-off API, a crash, a
 * rate limit per client address, and the redirect of browsers.
 */
export function deployment({ dialect, clock }: SandboxContext): RequestHandler {
  const counts = new Map<string, number>();
  let windowStart = Number.NEGATIVE_INFINITY;

  /** Counts a request, and says whether it is within the limit. */
  const isWithinLimit = (req: Request, res: Response): boolean => {
    const limit = dialect.rateLimit === true ? DEFAULT_LIMIT : Number(dialect.rateLimit);
    const now = clock.now();
    if (now < windowStart || now >= windowStart + MINUTE) {
      windowStart = now;
      counts.clear();
    }
    const address = req.socket.remoteAddress ?? '';
    const count = (counts.get(address) ?? 0) + 1;
    counts.set(address, count);
    res.setHeader('X-RateLimit-Limit', limit);
    res.setHeader('X-RateLimit-Remaining', Math.max(0, limit - count));
    if (count <= limit) return true;
    const reset = Math.ceil((windowStart + MINUTE - now) / 1000);
    res.setHeader('Retry-After', reset);
    res.setHeader('X-RateLimit-Reset', Math.ceil(now / 1000) + reset);
    return false;
  };

  return (req, res, next) => {
    const { apiDisabled, crash, rateLimit, browserRedirect } = dialect;
    if (apiDisabled) return sendFrameworkError(req, res, 404, 'Not Found', 'html');
    if (crash !== false) return sendFrameworkError(req, res, 500, 'Server Error', crash);
    if (rateLimit !== false && !isWithinLimit(req, res)) {
      return sendFrameworkError(req, res, 429, 'Too Many Attempts.');
    }
    if (browserRedirect && BROWSER.test(req.headers['user-agent'] ?? '')) {
      return void res.writeHead(302, { Location: '/' }).end();
    }
    next();
  };
}
