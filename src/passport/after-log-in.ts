import type { Request } from 'express';
import { handleThrown, responseOf } from '../web/response.js';

/**
 * Calls `then` each time passport has kept a login of this request in a new session, before the app hears of it. The app
 * can have given `authenticate` a callback, and call `req.logIn` itself, or never.
 *
 * @param then - gets the error with which passport has failed.
 * @returns whether passport has begun to keep one.
 */
export function afterLogIn(req: Request, then: (error: unknown) => Promise<void>): () => boolean {
  let hasBegun = false;
  const original = req.logIn as ((...args: unknown[]) => unknown) | undefined;
  const logIn = (...args: unknown[]): unknown => {
    const done = args.at(-1);
    // Without a callback, passport keeps no login in a session.
    if (typeof done !== 'function') return original?.apply(req, args);
    hasBegun = true;
    return original?.call(req, ...args.slice(0, -1), (error?: unknown) => {
      then(error)
        .then(() => done(error))
        .catch((thrown: unknown) => handleThrown(req, responseOf(req), thrown));
    });
  };
  Object.assign(req, { logIn, login: logIn });
  return () => hasBegun;
}
