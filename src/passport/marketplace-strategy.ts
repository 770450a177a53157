import type { Request } from 'express';
import OAuth2Strategy from 'passport-oauth2';
import { type LoginParts, type Outcome, runLogin } from './login-flow.js';
import { SessionAttempts } from './session-attempts.js';
import { checkStrategyOptions, type MarketplaceStrategyOptions } from './strategy-options.js';
import { UsedKeys } from './used-keys.js';
import {
  type AsyncVerify,
  type ClassicVerify,
  type ClassicVerifyWithParams,
  type ClassicVerifyWithRequest,
  type ClassicVerifyWithRequestAndParams,
  type Verify,
  verifyRunner,
} from './verify.js';

/** Options of `passport.authenticate('marketplace', …)`, beside passport's own. */
export interface MarketplaceAuthenticateOptions {
  /** Path on this site to go to after the login; read it with {@link returnTo}. */
  returnTo?: string | undefined;
}

type WithoutRequest = MarketplaceStrategyOptions & { passReqToCallback?: false | undefined };
type WithRequest = MarketplaceStrategyOptions & { passReqToCallback: true };

// Passport runs a strategy on `Object.create(strategy)`, where `#private` fields throw.
const PARTS = Symbol('marketgate.strategy');

/**
 * Passport strategy for the login with app (specification: interface B). Register it by its name:
 * `passport.authenticate('marketplace')`, on the path that starts the login and on the callback.
 *
 * Ends in one of: `redirect` (start); `success`; `fail`, when the visitor could not be authenticated
 * (401, or 403 for a callback that this browser did not start); `error`, when that could not be found
 * out; `pass`, for a callback without an attempt in a browser that is already logged in.
 */
export class MarketplaceStrategy extends OAuth2Strategy {
  declare private readonly [PARTS]: LoginParts;

  /** @throws TypeError that names the wrong option. */
  constructor(options: MarketplaceStrategyOptions, verify: AsyncVerify);
  constructor(options: WithoutRequest, verify: ClassicVerify);
  constructor(options: WithoutRequest, verify: ClassicVerifyWithParams);
  constructor(options: WithRequest, verify: ClassicVerifyWithRequest);
  constructor(options: WithRequest, verify: ClassicVerifyWithRequestAndParams);
  constructor(options: MarketplaceStrategyOptions, verify: Verify) {
    const settings = checkStrategyOptions(options);
    const run = verifyRunner(verify, settings.passReqToCallback);
    const authorizationURL = settings.loginApi.loginUrl();
    // The base class wants OAuth 2's own terms. Its client is never used, and gets no secret.
    super(
      {
        authorizationURL,
        tokenURL: authorizationURL,
        clientID: new URL(authorizationURL).searchParams.get('app_id') ?? 'marketplace',
        clientSecret: '',
      },
      () => {},
    );
    this.name = 'marketplace';
    const parts: LoginParts = {
      ...settings,
      attempts: new SessionAttempts(),
      usedKeys: new UsedKeys(settings.tokenStore),
      verify: run,
    };
    // Not enumerable, so that a strategy in a log shows nothing of it.
    Object.defineProperty(this, PARTS, { value: parts });
  }

  /** Called by passport, which has put `success`, `fail`, `redirect`, `pass` and `error` on `this`. */
  override authenticate(req: Request, options: MarketplaceAuthenticateOptions = {}): void {
    runLogin(this[PARTS], req, options.returnTo)
      .then((outcome) => conclude(this, outcome))
      .catch((error: unknown) => this.error(error));
  }
}

function conclude(strategy: OAuth2Strategy, outcome: Outcome): void {
  switch (outcome.type) {
    case 'redirect':
      strategy.redirect(outcome.url);
      break;
    case 'success':
      strategy.success(outcome.user, outcome.info);
      break;
    case 'fail':
      strategy.fail(outcome.challenge, outcome.status);
      break;
    case 'pass':
      strategy.pass();
      break;
  }
}
