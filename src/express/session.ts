import type { Request } from 'express';

/** As much of a session as is used: express-session has `save`, cookie-session has not. */
export interface Session extends Record<string, unknown> {
  save?: (done: (error?: unknown) => void) => void;
}

/** The session of a request, if a session middleware has run. */
export function sessionOf(req: Request): Session | undefined {
  const session: unknown = Reflect.get(req, 'session');
  return typeof session === 'object' && session !== null ? (session as Session) : undefined;
}

/**
 * Written before the browser is sent on, and before anything is spent: left to the end of the answer,
 * a quick browser could be back before its session is.
 */
export function saveSession(session: Session): Promise<void> {
  return new Promise((resolve, reject) => {
    if (typeof session.save !== 'function') resolve();
    else session.save((error) => (error ? reject(error) : resolve()));
  });
}
