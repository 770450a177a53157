import type { Express } from 'express';
import { type LoginApi, MarketplaceStrategy, MemoryTokenStore, returnTo } from 'marketgate';
import { Passport } from 'passport';
import { type Customer, customerFrom } from './customer.js';

/** Logging in with the marketplace, and out. Comes before all routes that ask who is logged in. */
export function addLogin(app: Express, loginApi: LoginApi): void {
  // An instance of its own, so that two apps in one process (the tests) share nothing.
  const passport = new Passport();
  const tokenStore = new MemoryTokenStore();
  passport.use(
    new MarketplaceStrategy({ loginApi, tokenStore }, ({ profile }) => customerFrom(profile)),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser<Customer>((user, done) => done(null, user));
  app.use(passport.session());

  app.get('/login', passport.authenticate('marketplace'));
  app.get('/callback', passport.authenticate('marketplace', { failWithError: true }), (req, res) =>
    res.redirect(returnTo(req) ?? '/'),
  );
  // A POST, so that neither a picture's address on another site nor a prefetch logs anybody out.
  app.post('/logout', (req, res, next) => {
    req.logout((error) => (error ? next(error) : res.redirect(303, '/')));
  });
}
