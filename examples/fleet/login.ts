import type { Express } from 'express';
import {
  type LoginApi,
  loadUser,
  MarketplaceStrategy,
  requireAccessToken,
  requireLogin,
  returnTo,
  type TokenStore,
} from 'marketgate';
import { Passport } from 'passport';

/** Who is logged in, as it lies in the session. */
interface Customer {
  id: string;
  name: string;
}

/**
 * Logging in, and out. The login may begin in one worker, come back to another and be asked about in a
 * third: the attempt and the user lie in the session, the token in the token store, both in Redis.
 */
export function addLogin(
  app: Express,
  { loginApi, tokenStore }: { loginApi: LoginApi; tokenStore: TokenStore },
): void {
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy(
      { loginApi, tokenStore },
      ({ profile }): Customer => ({
        id: profile.id,
        name: profile.displayName || profile.username || profile.id,
      }),
    ),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser<Customer>((user, done) => done(null, user));
  app.use(passport.session());

  app.get('/login', passport.authenticate('marketplace'));
  app.get('/callback', passport.authenticate('marketplace', { failureRedirect: '/' }), (req, res) =>
    res.redirect(returnTo(req) ?? '/'),
  );
  app.post('/logout', (req, res, next) => {
    const customer = req.user as Customer | undefined;
    req.logout((error) => {
      if (error) return next(error);
      const forgotten = customer ? tokenStore.delete(customer.id) : Promise.resolve();
      forgotten.then(() => res.redirect(303, '/'), next);
    });
  });
  app.get(
    '/me',
    requireLogin({ loginPath: '/login' }),
    requireAccessToken({ tokenStore, loginPath: '/login' }),
    loadUser(loginApi, { tokenStore }),
    (req, res) => res.json({ worker: process.pid, user: req.marketplace?.user }),
  );
}
