import type { Request } from 'express';
import type { Strategy, StrategyCreatedStatic } from 'passport';
import { Strategy as OAuth2Strategy } from 'passport-oauth2';
import { asError } from '../errors.js';
import { Login } from './login.js';
import {
  type MarketplaceAuthenticateOptions,
  type MarketplaceStrategyOptions,
  type StrategySetup,
  strategySetup,
} from './strategy-options.js';
import {
  type AnyInline,
  type AsyncVerify,
  type Checked,
  type MarketplaceProfile,
  profileOf,
  type RefusingVerify,
  type WithReq,
} from './verify.js';

/** What the base class requires. Its OAuth 2 client is never used, and gets no secret. */
interface UnusedOptions {
  authorizationURL: string;
  tokenURL: string;
  clientID: string;
  clientSecret: string;
}

/** Typed as passport's own strategy, so that nobody needs the types of passport-oauth2. */
const Base: new (
  options: UnusedOptions,
  verify: () => void,
) => Strategy & StrategyCreatedStatic & { name: string } = OAuth2Strategy;

type WithoutRequest = MarketplaceStrategyOptions & { passReqToCallback?: false | undefined };
type WithRequest = MarketplaceStrategyOptions & { passReqToCallback: true };

// Passport and `authenticate` run a strategy on `Object.create(strategy)`, where `#private` fields throw.
const SETUP = Symbol('marketgate.setup');

/**
 * Passport strategy for the login with app (specification: the login API). Use
 * `passport.authenticate('marketplace')` on the path that starts the login and on the callback.
 *
 * It ends in `success`; in `redirect` to the service, to the "Continue as NAME?" page or to `successRedirect`; in that
 * page; in `pass` for a callback without a login attempt, in a browser that is already logged in; in `fail` (401, or
 * 403 for a callback that this browser did not start; with `failWithError` an error that says why); or in `error`.
 *
 * A subclass can override {@link userProfile}. The other hooks of passport-oauth2 are never called.
 */
export class MarketplaceStrategy<V = unknown> extends Base {
  /** Under which passport knows it: the option `name`. */
  declare name: string;
  declare private readonly [SETUP]: StrategySetup;

  /**
   * Makes the strategy, for `passport.use`.
   *
   * @example
   * passport.use(new MarketplaceStrategy({ loginApi }, async ({ profile }) => ({ id: profile.id })));
   *
   * @param verify - {@link AsyncVerify}, {@link VerifyWithDone}, or one of passport-oauth2's forms, chosen by its
   * number of arguments: `(accessToken, refreshToken, profile, done)`, with `params` before the profile, and with
   * `passReqToCallback: true` after `req`. A function that declares no arguments (`async (...args)`) gets those of
   * passport-oauth2 and can return the user.
   * @throws TypeError that names the wrong option.
   */
  // The first two overloads only type inline callbacks.
  constructor(options: WithoutRequest, verify: AnyInline);
  constructor(options: WithRequest, verify: AnyInline<WithReq>);
  constructor(options: WithoutRequest, verify: V & Checked<V>);
  constructor(options: WithRequest, verify: V & Checked<V, WithReq>);
  constructor(options: MarketplaceStrategyOptions, verify: RefusingVerify);
  constructor(options: MarketplaceStrategyOptions, verify: AsyncVerify);
  constructor(options: MarketplaceStrategyOptions, verify: unknown) {
    const setup = strategySetup(options, verify);
    const authorizationURL = setup.loginApi.loginUrl();
    super(
      { authorizationURL, tokenURL: authorizationURL, clientID: 'marketplace', clientSecret: '' },
      () => {},
    );
    this.name = setup.name;
    // Not enumerable, so that a strategy in a log does not show it.
    Object.defineProperty(this, SETUP, { value: setup });
  }

  /** Called by passport on an object with `success`, `fail`, `redirect`, `pass` and `error`. */
  override authenticate(req: Request, options: MarketplaceAuthenticateOptions = {}): void {
    // Passport sets the functions on the strategy itself where it was given the object in place of its name. Without
    // this request's own copy, the next request would replace them, and a login would end in another visitor's browser.
    const { success, fail, redirect, pass, error } = this;
    const own: this = Object.assign(Object.create(this), { success, fail, redirect, pass, error });
    try {
      void new Login(this[SETUP], req, options, own).run();
    } catch (error) {
      this.error(error);
    }
  }

  /**
   * Loads the profile that verify gets (get_user_info). To add to the profile, override it, call `super`
   * and pass the changed profile to `done`. The token is stored under the profile's `id`.
   */
  userProfile(
    accessToken: string,
    done: (error?: unknown, profile?: MarketplaceProfile) => void,
  ): void {
    const { loginApi } = this[SETUP];
    // The login URL is "…/api/oauth".
    const site = new URL('..', loginApi.loginUrl()).href;
    loginApi
      .getUser(accessToken)
      .then((user) => done(null, profileOf(user, site)), done)
      // A subclass's `done` can throw. `this` is the copy for this request.
      .catch((error: unknown) => this.error(asError(error)));
  }
}
