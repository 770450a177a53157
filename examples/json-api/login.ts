import type { Express, RequestHandler } from 'express';
import { type LoginApi, MarketplaceStrategy, returnTo, type TokenStore } from 'marketgate';
import { Passport } from 'passport';
import type { AppConfig } from './config.js';
import { LoginFailure } from './errors.js';
import type { LoginCookie } from './login-cookie.js';
import { type Visitor, visitorFrom, visitorOf } from './visitor.js';

interface LoginParts {
  config: AppConfig;
  loginApi: LoginApi;
  tokenStore: TokenStore;
  loginCookie: LoginCookie;
}

/** Logging in with the marketplace, and out. */
export function addLogin(
  app: Express,
  { config, loginApi, tokenStore, loginCookie }: LoginParts,
): void {
  // An instance of its own, so that two apps in one process (the tests) share nothing.
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy(
      {
        loginApi,
        tokenStore,
        // No session: a login under way is bound to the browser by a signed cookie of ten minutes.
        loginAttempts: { cookieSecret: config.cookieSecrets },
      },
      // An app with a database would find or create its user here, by profile.id.
      ({ profile }) => visitorFrom(profile),
    ),
  );

  app.get('/login', startWhereItEnds(config.publicUrl), (req, res, next) => {
    // Anybody can write a link with ?to=…: the package drops whatever leads to another site.
    const wanted = typeof req.query.to === 'string' ? req.query.to : undefined;
    passport.authenticate('marketplace', { session: false, returnTo: wanted })(req, res, next);
  });

  // With a callback of our own we are handed the strategy's words for a failure; passport's own answer
  // would be "Forbidden" and no more.
  const authenticate: RequestHandler = (req, res, next) => {
    const done = (
      error: unknown,
      visitor?: Visitor | false | null,
      info?: object,
      status?: unknown,
    ) => {
      if (error) return next(error);
      if (!visitor) return next(new LoginFailure(info, status));
      // Only for a login: passport does not call this for a callback that is passed on, so that nobody
      // renews a copied login cookie with it. A handler behind this one would ask isFreshLogin(req).
      loginCookie.issue(res, visitor).then(() => next(), next);
    };
    passport.authenticate('marketplace', { session: false }, done)(req, res, next);
  };
  app.get('/callback', authenticate, (req, res) => {
    // Also reached without a new cookie, by a reload: the strategy passes on who is logged in already.
    res.redirect(returnTo(req) ?? '/');
  });

  // A POST, so that neither a picture's address on another site nor a prefetch logs anybody out.
  app.post('/logout', (req, res, next) => {
    const visitor = visitorOf(req);
    // Another site's form brings no cookie along (SameSite=Lax), and so must not clear it either.
    if (visitor === undefined) return void res.sendStatus(204);
    tokenStore.delete(visitor.id).then(() => {
      loginCookie.clear(res);
      res.sendStatus(204);
    }, next);
  });
}

/**
 * The marketplace sends visitors back to the one registered address, and cookies belong to the host
 * they were set on: a login that starts at 127.0.0.1 would come back, to localhost, a stranger.
 */
function startWhereItEnds(publicUrl: string): RequestHandler {
  const { host } = new URL(publicUrl);
  return (req, res, next) => {
    if (req.headers.host === host) return next();
    res.redirect(`${publicUrl}${req.originalUrl}`);
  };
}
