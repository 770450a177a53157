import type { Request, Response } from 'express';
import express5 from 'express';
import session from 'express-session';
import {
  type AsyncVerify,
  errorHandler,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  requireLogin,
  returnTo,
} from 'marketgate';
import { type AuthenticateOptions, Passport, type Strategy } from 'passport';
import { Browser } from './browser.js';
import { openShop } from './shop.js';
import { giveId, longSecret } from './strategy-harness.js';

/** Passport with a strategy. The session keeps whole users. */
export function passportWith(strategy: Strategy) {
  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));
  passport.use(strategy);
  return passport;
}

interface AppOptions extends Partial<MarketplaceStrategyOptions> {
  express?: typeof express5;
  /** Default: gives the user's id. */
  verify?: AsyncVerify;
  /** Of `passport.authenticate`. */
  auth?: AuthenticateOptions;
}

/** An app of Express with the session of passport, whose pages say who is logged in, and a browser. */
export async function openApp(given: AppOptions = {}) {
  const { express = express5, auth, verify = giveId, ...options } = given;
  const shop = await openShop();
  const strategy = new MarketplaceStrategy({ loginApi: shop.loginApi, ...options }, verify);
  const passport = passportWith(strategy);
  const app = express();
  app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
  app.use(passport.session());
  const login = passport.authenticate('marketplace', { failWithError: true, ...auth });
  app.get('/login', login);
  app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/'));
  const show = (req: Request, res: Response): void =>
    void res.send(`${req.originalUrl} ${req.user?.id ?? 'nobody'}`);
  app.get('/account', requireLogin(), show);
  app.get(['/', '/home'], show);
  app.use(errorHandler({ loginPath: '/login', log: false }));
  return { ...shop, origin: await shop.serve(app), browser: new Browser() };
}
