import type { RequestHandler } from 'express';
import { MarketgateError, requireLogin } from 'marketgate';
import { loggedIn } from './customer.js';

declare module 'express-session' {
  interface SessionData {
    /** Ends with the session, and so with the next login. */
    hasLoggedOut?: boolean;
  }
}

/**
 * Who has just logged out is asked before the next login starts: the marketplace still knows them, and
 * would log them in again, by the back button for one, before anybody saw a page.
 */
const askAfterLogout: RequestHandler = (req, _res, next) => {
  if (loggedIn(req) || !req.session.hasLoggedOut) return next();
  next(new MarketgateError('login_required', 'the visitor has logged out; wait for a new login'));
};

/** For routes that need a login. Everybody else is sent there, and comes back afterwards. */
export const customersOnly: RequestHandler[] = [askAfterLogout, requireLogin()];
