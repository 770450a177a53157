import type { Request, Response } from 'express';
import OAuth2Strategy from 'passport-oauth2';
import { type LoginMessage, loginChannel } from '../diagnostics.js';
import { asError, ERROR_CODES } from '../errors.js';
import { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { MemoryTokenStore } from '../stores/memory-token-store.js';
import { tokenNameFor } from '../stores/token-store.js';
import { askForConfirmation } from './confirmation.js';
import { type LoginParts, runLogin } from './login-flow.js';
import type { Outcome } from './outcome.js';
import { PendingLogins } from './pending-logins.js';
import { checkStrategyOptions, type MarketplaceStrategyOptions } from './strategy-options.js';
import { UsedKeys } from './used-keys.js';
import { type AsyncVerify, type Verify, verifyRunner } from './verify.js';
import type {
  AnyInline,
  AnyInlineWithRequest,
  Inferred4,
  Inferred5,
  InferredWithRequest5,
  InferredWithRequest6,
} from './verify-inference.js';

/** Options of `passport.authenticate('marketplace', …)`, beside passport's own. */
export interface MarketplaceAuthenticateOptions {
  /** Path on this site to go to after the login; read it with {@link returnTo}. */
  returnTo?: string | undefined;
  /** Passport's own. A callback that is passed on goes there, too. */
  successRedirect?: string | undefined;
  /** Passport's own. Used like `successRedirect` for a callback that is passed on. */
  successReturnToOrRedirect?: string | undefined;
}

declare module 'passport' {
  interface AuthenticateOptions {
    /** For the strategy "marketplace": path on this site to go to after the login. */
    returnTo?: string | undefined;
  }
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

  /**
   * The first overload of each kind only serves to type inline callbacks: see verify-inference.ts.
   *
   * @param verify - {@link AsyncVerify}, or one of passport-oauth2's forms, told by its number of
   * arguments: {@link ClassicVerify}, {@link ClassicVerifyWithParams}, and with
   * `passReqToCallback: true` {@link ClassicVerifyWithRequest},
   * {@link ClassicVerifyWithRequestAndParams}.
   * @throws TypeError that names the wrong option.
   */
  constructor(options: WithoutRequest, verify: AnyInline);
  constructor(options: WithRequest, verify: AnyInlineWithRequest);
  constructor(options: MarketplaceStrategyOptions, verify: AsyncVerify);
  constructor(options: WithoutRequest, verify: Inferred4);
  constructor(options: WithoutRequest, verify: Inferred5);
  constructor(options: WithRequest, verify: InferredWithRequest5);
  constructor(options: WithRequest, verify: InferredWithRequest6);
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
    const { name } = settings;
    this.name = name;
    const parts: LoginParts = {
      ...settings,
      usedKeys: new UsedKeys(settings.tokenStore, settings.scope),
      pendingLogins: new PendingLogins(
        settings.tokenStore ??
          new GuardedTokenStore(new MemoryTokenStore({ clock: settings.clock })),
        settings.clock,
      ),
      verify: run,
      tokenName: tokenNameFor(name),
    };
    // Not enumerable, so that a strategy in a log shows nothing of it.
    Object.defineProperty(this, PARTS, { value: parts });
  }

  /** Called by passport, which has put `success`, `fail`, `redirect`, `pass` and `error` on `this`. */
  override authenticate(req: Request, options: MarketplaceAuthenticateOptions = {}): void {
    // Neither the way to the service nor what comes of a login is for a cache.
    (req as { res?: Response }).res?.setHeader('Cache-Control', 'no-store');
    runLogin(this[PARTS], req, options.returnTo)
      .then((outcome) => {
        report(outcome.type, outcome.type === 'fail' ? outcome.challenge : undefined);
        conclude(this, req, outcome, options);
      })
      .catch((error: unknown) => {
        report('error', error);
        this.error(asError(error));
      });
  }
}

/** @param why - what has the code: a failure's challenge, or an error. */
function report(outcome: LoginMessage['outcome'], why: unknown): void {
  if (!loginChannel.hasSubscribers) return;
  const code: unknown = (why as { code?: unknown } | undefined)?.code;
  // A code of the app's own can be anything, so only ours are passed on.
  const isOurs = typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
  const message: LoginMessage = { outcome, ...(isOurs && { code }) };
  loginChannel.publish(message);
}

function conclude(
  strategy: MarketplaceStrategy,
  req: Request,
  outcome: Outcome,
  options: MarketplaceAuthenticateOptions,
): void {
  const passedOnTo = options.successReturnToOrRedirect ?? options.successRedirect;
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
      if (passedOnTo === undefined) strategy.pass();
      else strategy.redirect(passedOnTo);
      break;
    case 'ask':
      askForConfirmation(req, outcome, strategy[PARTS].renderConfirmation);
  }
}
