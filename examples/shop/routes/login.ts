import type { Express, Request, RequestHandler } from 'express';
import { MarketplaceStrategy, returnTo } from 'marketgate';
import { Passport } from 'passport';
import { type Customer, customerOf, loggedIn } from '../customer.js';
import type { Shop } from '../shop.js';

/** Logging in with the marketplace, and out. Comes before all routes that ask who is logged in. */
export function addLogin(app: Express, shop: Shop): void {
  const { loginApi, tokenStore, config } = shop;
  // An instance of its own, so that two shops in one process (the tests) share nothing.
  const passport = new Passport();
  passport.use(
    // A shop with a database would find or create its user here, by profile.id.
    new MarketplaceStrategy({ loginApi, tokenStore, confirm: config.confirmLogin }, ({ profile }) =>
      customerOf(profile),
    ),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser<Customer>((user, done) => done(null, user));
  app.use(passport.session());

  app.get('/login', startWhereItEnds(config.publicUrl), (req, res, next) => {
    // Anybody can write a link with ?to=…: the package drops whatever leads to another site.
    const wanted = typeof req.query.to === 'string' ? req.query.to : undefined;
    passport.authenticate('marketplace', { returnTo: wanted })(req, res, next);
  });

  app.get(
    '/callback',
    passport.authenticate('marketplace', { failWithError: true }),
    // Also reached by a reload: the strategy passes when this browser is logged in already.
    (req, res) => res.redirect(returnTo(req) ?? '/account'),
  );

  // A POST, so that neither a picture's address on another site nor a prefetch logs anybody out.
  app.post('/logout', (req, res, next) => {
    const customer = loggedIn(req);
    req.logout((error) => {
      if (error) return next(error);
      req.session.hasLoggedOut = true;
      const forgotten = customer ? tokenStore.delete(customer.id) : Promise.resolve();
      forgotten.then(() => res.redirect(303, '/'), next);
    });
  });
}

/**
 * The marketplace sends visitors back to the one registered address, and the session cookie belongs to
 * the host it was set on: a login that starts at 127.0.0.1 would come back, to localhost, a stranger.
 */
function startWhereItEnds(publicUrl: string | undefined): RequestHandler {
  if (publicUrl === undefined) return (_req, _res, next) => next();
  const { host } = new URL(publicUrl);
  return (req: Request, res, next) => {
    if (req.headers.host === host) return next();
    res.redirect(`${publicUrl}${req.originalUrl}`);
  };
}
