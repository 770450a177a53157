import { NoAnswer, within } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** A session. Its methods take a callback (express-session) or return a promise (iron-session). */
export interface Session extends Record<string, unknown> {
  save?: (done: (error?: unknown) => void) => unknown;
  regenerate?: (done: (error?: unknown) => void) => unknown;
}

/** How long one call to a session can take, in milliseconds. */
const SESSION_TIMEOUT = 5000;

/** The session of a request, if a session middleware has run. */
export function sessionOf(req: object): Session | undefined {
  const session: unknown = Reflect.get(req, 'session');
  return typeof session === 'object' && session !== null ? (session as Session) : undefined;
}

/** Whether somebody is logged in: passport sets `req.user`. */
export const isLoggedIn = (req: object): boolean => Boolean((req as { user?: unknown }).user);

/**
 * Calls a method of the session, if it has it. A session is saved before a redirect, because a save at the end of
 * the response can come after the browser's next request.
 *
 * @throws MarketgateError `store_unavailable` when it does not answer.
 */
export async function callSession(session: Session, method: 'save' | 'regenerate'): Promise<void> {
  if (typeof session[method] !== 'function') return;
  try {
    await within(
      SESSION_TIMEOUT,
      () =>
        new Promise<void>((resolve, reject) => {
          const returned = session[method]?.((error) => (error ? reject(error) : resolve())) as
            | { then?: unknown }
            | undefined;
          // Also the promise of a library.
          if (typeof returned?.then === 'function')
            Promise.resolve(returned).then(() => resolve(), reject);
        }),
    );
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new MarketgateError(
      'store_unavailable',
      `session.${method} ${error.message}; look at the store of the sessions`,
    );
  }
}
