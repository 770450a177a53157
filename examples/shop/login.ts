import type { Express, Request, RequestHandler } from 'express';
import {
  type LoginApi,
  MarketgateError,
  MarketplaceStrategy,
  MemoryTokenStore,
  requireLogin,
  returnTo,
} from 'marketgate';
import { Passport } from 'passport';

/** Who is logged in, as stored in the session. */
export interface Customer {
  /** The marketplace's `user_id`. Key your own records by it, never by the e-mail address. */
  id: string;
  name: string;
  email?: string;
  picture?: string;
}

declare module 'express-session' {
  interface SessionData {
    hasLoggedOut?: boolean;
  }
}

export const customerOf = (req: Request): Customer | undefined => req.user as Customer | undefined;

/** Login and logout. Comes before all routes that need the customer. */
export function addLogin(app: Express, loginApi: LoginApi): void {
  const tokenStore = new MemoryTokenStore();
  const passport = new Passport();
  passport.use(
    // A shop with a database finds or creates its user here, by profile.id.
    new MarketplaceStrategy(
      { loginApi, tokenStore },
      ({ profile }): Customer => ({
        id: profile.id,
        name: profile.displayName ?? profile.username ?? profile.id,
        email: profile.emails?.[0]?.value,
        picture: profile.photos?.[0]?.value,
      }),
    ),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser<Customer>((user, done) => done(null, user));
  app.use(passport.session());

  app.get('/login', (req, res, next) => {
    // The package drops a value that leads to another site.
    const wanted = typeof req.query.to === 'string' ? req.query.to : undefined;
    passport.authenticate('marketplace', { returnTo: wanted })(req, res, next);
  });
  app.get('/callback', passport.authenticate('marketplace', { failWithError: true }), (req, res) =>
    res.redirect(returnTo(req) ?? '/account'),
  );
  // A POST, because a link or an image of another site could send a GET.
  app.post('/logout', (req, res, next) => {
    const customer = customerOf(req);
    req.logout((error) => {
      if (error) return next(error);
      req.session.hasLoggedOut = true;
      const deleted = customer ? tokenStore.delete(customer.id) : Promise.resolve();
      deleted.then(() => res.redirect(303, '/'), next);
    });
  });
}

/**
 * After a logout the next login needs a click. Otherwise the marketplace, which still knows the visitor,
 * would log them in again, for example through the back button.
 */
const askAfterLogout: RequestHandler = (req, _res, next) => {
  if (customerOf(req) || !req.session.hasLoggedOut) return next();
  next(new MarketgateError('login_required', 'the visitor has logged out'));
};

/** For routes that need a login: sends visitors through it, and back. */
export const customersOnly: RequestHandler[] = [
  askAfterLogout,
  requireLogin({ loginPath: '/login' }),
];
