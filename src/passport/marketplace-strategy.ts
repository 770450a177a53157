import type { Request } from 'express';
import type { AuthenticateOptions } from 'passport';
import { Strategy as OAuth2Strategy } from 'passport-oauth2';
import type { Outcome as GuessOutcome } from '../check/guess-gate.js';
import { asError, isMarketgateError } from '../errors.js';
import {
  handleThrown,
  isPrefetch,
  noStore,
  queryOf,
  refuseWith,
  responseOf,
  trackResponses,
} from '../express/plain-http.js';
import { attachReturnTo, dropReturnTo, readReturnTo, safeReturnTo } from '../express/return-to.js';
import { canRegenerate, isLoggedIn, sessionOf, withLogIn } from '../express/session.js';
import type { AccessToken } from '../model/access-token.js';
import type { ClaimRecord } from './claims.js';
import {
  confirmationPath,
  isSentByAnotherSite,
  isStartedElsewhere,
  isSubresource,
  mustAsk,
  pendingLogin,
  readConfirmation,
  sendPage,
} from './confirmation.js';
import {
  Failure,
  hostOf,
  notAccepted,
  notStarted,
  report,
  tellDeveloper,
  throwAsFailure,
  withoutEffect,
} from './failure.js';
import { isEarly, type LoginAttempt, type LoginState, type PendingLogin } from './login-state.js';
import {
  type MarketplaceStrategyOptions,
  type StrategySetup,
  strategySetup,
} from './strategy-options.js';
import {
  type AnyClassic,
  type AnyClassicWithRequest,
  type AnyInline,
  type AnyInlineWithRequest,
  type AsyncVerify,
  type MarketplaceProfile,
  profileOf,
  type Verify,
  type VerifyWithDone,
} from './verify.js';

declare module 'passport' {
  interface AuthenticateOptions {
    /** For {@link MarketplaceStrategy}: path on this site to go to after the login; see {@link returnTo}. */
    returnTo?: string | undefined;
  }
}

/** Options of `passport.authenticate('marketplace', …)`: passport's options and `returnTo`. */
export type MarketplaceAuthenticateOptions = AuthenticateOptions;

type WithoutRequest = MarketplaceStrategyOptions & { passReqToCallback?: false | undefined };
type WithRequest = MarketplaceStrategyOptions & { passReqToCallback: true };

// Passport and `authenticate` run a strategy on `Object.create(strategy)`, where `#private` fields throw.
const SETUP_FOR = Symbol('marketgate.setupFor');

/**
 * Passport strategy for the login with app (specification: the login API). Use
 * `passport.authenticate('marketplace')` on the path that starts the login and on the callback.
 *
 * Each request ends in one of:
 *
 * - `redirect`: the start, a callback that leads to the "Continue as NAME?" page, or a callback that is
 *   passed on to `successRedirect`;
 * - the "Continue as NAME?" page;
 * - `success`;
 * - `fail`: the visitor could not be authenticated (401, or 403 for a callback that this browser did not
 *   start). With `failWithError` it is an `error` that says why;
 * - `pass`: a callback without a login attempt, in a browser that is already logged in;
 * - `error`: anything else.
 *
 * A subclass can override {@link userProfile}. It cannot override `authorizationParams`, `tokenParams` or
 * `parseErrorResponse` of passport-oauth2. Extend it with a `class`: an ES5 constructor that calls it
 * (`MarketplaceStrategy.call(this, …)`) throws a TypeError.
 */
export class MarketplaceStrategy extends OAuth2Strategy {
  declare private readonly [SETUP_FOR]: (name: string) => StrategySetup;

  /**
   * The first two overloads only type inline callbacks.
   *
   * @param verify - {@link AsyncVerify}, {@link VerifyWithDone}, or one of passport-oauth2's forms, chosen by its
   * number of arguments: {@link ClassicVerify}, {@link ClassicVerifyWithParams}, and with `passReqToCallback: true`
   * {@link ClassicVerifyWithRequest}, {@link ClassicVerifyWithRequestAndParams}. A function that declares no
   * arguments (`async (...args)`) gets those of the classic form and can return the user.
   * @throws TypeError that names the wrong option.
   */
  constructor(options: WithoutRequest, verify: AnyInline);
  constructor(options: WithRequest, verify: AnyInlineWithRequest);
  constructor(options: MarketplaceStrategyOptions, verify: AsyncVerify);
  constructor(options: MarketplaceStrategyOptions, verify: VerifyWithDone);
  constructor(options: WithoutRequest, verify: AnyClassic);
  constructor(options: WithRequest, verify: AnyClassicWithRequest);
  constructor(options: MarketplaceStrategyOptions, verify: Verify) {
    let setup = strategySetup(options, verify);
    const authorizationURL = setup.loginApi.loginUrl();
    // The base class requires these options. Its OAuth 2 client is never used, and gets no secret.
    super(
      {
        authorizationURL,
        tokenURL: authorizationURL,
        clientID: new URL(authorizationURL).searchParams.get('app_id') ?? 'marketplace',
        clientSecret: '',
      },
      () => {},
    );
    refuseUnusedHooks(this);
    trackResponses();
    this.name = setup.name;
    const setupFor = (name: string): StrategySetup => {
      // The app or a class field can have changed the name since.
      if (name !== setup.name) setup = strategySetup({ ...options, name }, verify);
      return setup;
    };
    // Not enumerable, so that a strategy in a log does not show it.
    Object.defineProperty(this, SETUP_FOR, { value: setupFor });
  }

  /** Called by passport on an object with `success`, `fail`, `redirect`, `pass` and `error`. */
  override authenticate(req: Request, options: MarketplaceAuthenticateOptions = {}): void {
    const res = responseOf(req);
    if (res !== undefined) noStore(res);
    // Passport sets the functions on the strategy itself where it was given the object in place of its name. Without
    // this request's own copy, the next request would replace them, and a login would end in another visitor's browser.
    const { success, fail, redirect, pass, error: passError } = this;
    const own: this = Object.assign(Object.create(this), { success, fail, redirect, pass });
    // Passport's `error` calls the app's callback or `next`, which can throw.
    own.error = (error) => {
      try {
        passError.call(own, error);
      } catch (thrown) {
        handleThrown(req, res, thrown);
      }
    };
    handle(own, req, options)
      .then(([type, ...args]) => {
        const end = (): void => (own[type as 'success'] as (...args: unknown[]) => void)(...args);
        if (type === 'success') {
          return withLogIn(req, end, (error) => report(error ? 'error' : 'success', error));
        }
        report(type);
        if (type !== 'ask') end();
      })
      .catch((error: unknown) => {
        if (res !== undefined) refuseWith(res, error);
        if (!(error instanceof Failure)) throw error;
        report('fail', error);
        tellDeveloper(error);
        // Passport's own error for `failWithError` says only "Unauthorized".
        if (options.failWithError && !options.failureRedirect) own.error(error);
        else own.fail(error.challenge, error.status);
      })
      .catch((error: unknown) => {
        report('error', error);
        own.error(asError(error));
      });
  }

  /**
   * Loads the profile that verify gets (get_user_info). To add to the profile, override it, call `super`
   * and pass the changed profile to `done`. The token is stored under the profile's `id`.
   */
  override userProfile(
    accessToken: string,
    done: (error?: unknown, profile?: MarketplaceProfile) => void,
  ): void {
    const { loginApi } = this[SETUP_FOR](this.name);
    // The login URL is "…/api/oauth".
    const site = new URL('..', loginApi.loginUrl()).href;
    loginApi
      .getUser(accessToken)
      .then((user) => done(null, profileOf(user, site)), done)
      // A subclass's `done` can throw. `this` is the copy for this request.
      .catch((error: unknown) => this.error(asError(error)));
  }
}

/** Hooks of passport-oauth2 that this strategy does not call. */
const UNUSED_HOOKS = ['authorizationParams', 'tokenParams', 'parseErrorResponse'] as const;

function refuseUnusedHooks(strategy: MarketplaceStrategy): void {
  const hook = UNUSED_HOOKS.find((name) => strategy[name] !== OAuth2Strategy.prototype[name]);
  if (hook === undefined) return;
  throw new TypeError(
    `MarketplaceStrategy: ${hook} is overridden but never called: the service takes no further parameters, and LoginApi reads its errors`,
  );
}

/** How a request ends. A thrown {@link Failure} ends it with passport's `fail`, any other error with `error`. */
type Outcome =
  | [type: 'redirect', url: string]
  | [type: 'success', user: Express.User, info: object]
  | [type: 'pass']
  | [type: 'ask'];

/** One request to the strategy. */
interface StrategyRequest {
  readonly strategy: MarketplaceStrategy;
  readonly setup: StrategySetup;
  readonly req: Request;
  readonly options: MarketplaceAuthenticateOptions;
}

/** Ends in {@link start}, {@link callback} or {@link answerConfirmation}, by the query. */
async function handle(
  strategy: MarketplaceStrategy,
  req: Request,
  options: MarketplaceAuthenticateOptions,
): Promise<Outcome> {
  // Repeated here, because class fields are set after the constructor.
  refuseUnusedHooks(strategy);
  const setup = strategy[SETUP_FOR](strategy.name);
  const request: StrategyRequest = { strategy, setup, req, options };
  // Test helpers give no method, and some no headers.
  const { method = 'GET' } = req;
  req.headers ??= {};
  // A form can begin or confirm a login by POST.
  if (isPrefetch(req) || !['GET', 'POST'].includes(method)) {
    throw withoutEffect('a prefetch, HEAD or OPTIONS of a login');
  }
  const query = queryOf(req);
  const authKey = readAuthKey(request, query);
  const confirmation = readConfirmation(query);
  if (authKey === undefined && confirmation === undefined) return start(request);
  if (isSubresource(req) || (authKey !== undefined && method !== 'GET')) {
    throw withoutEffect('a callback that is no navigation (an image, a script, a fetch, a POST)');
  }
  if (authKey instanceof Failure) throw authKey;
  if (authKey !== undefined) return callback(request, authKey);
  return answerConfirmation(request, confirmation as ConfirmationQuery);
}

/**
 * The auth_key of a callback, or what is wrong with it; `undefined` when the query has none. Does not throw the
 * failure, because a callback that is no navigation must be refused without one.
 */
function readAuthKey(
  { setup, req }: StrategyRequest,
  query: { auth_key?: unknown },
): string | Failure | undefined {
  const broken = (
    why: string,
    detail = 'This login link is not complete. Please log in again.',
  ): Failure => new Failure('auth_key_rejected', `the callback cannot be used: ${why}`, { detail });
  const { auth_key: value } = query;
  // Express 5 parses `auth_key[]=…` as a parameter of the name `auth_key[]`.
  if (Object.keys(query).some((name) => name.startsWith('auth_key['))) {
    return broken('auth_key must be given once');
  }
  if (value === undefined) {
    // The service appends "?auth_key=…" even to a URL that has a query. Before a login has begun, a link with such
    // text is the app's own, as in "/login?next=/a?auth_key=1".
    const appended = Object.values(query)
      .flat()
      .filter((it): it is string => typeof it === 'string' && it.includes('?auth_key='));
    // A link has a slash before its query. A value of the redirect URL's own query has none: "1?auth_key=…".
    const isBroken = appended.some((text) => !/^[^?]*\//.test(text));
    return isBroken || (appended.length > 0 && setup.states.read(req).attempts.length > 0)
      ? broken(
          'the redirect URL registered with the app has a query of its own, which the service breaks; register one without',
          'Logging in does not work on this site at the moment. Please tell the site.',
        )
      : undefined;
  }
  if (typeof value !== 'string') return broken('auth_key must be given once');
  return value.trim() === '' ? broken('auth_key is empty') : value;
}

/** Begins a login attempt and sends the browser to the service. */
async function start(request: StrategyRequest): Promise<Outcome> {
  const { setup, req, options } = request;
  checkSession(request);
  const returnTo = safeReturnTo(options.returnTo) ?? readReturnTo(req);
  const foreign = isStartedElsewhere(req) || undefined;
  const { id } = await setup.states.begin(req, { to: returnTo, foreign });
  const host = hostOf(req);
  if (host !== undefined) setup.hosts.set(host, true);
  const url = setup.loginApi.loginUrl();
  return ['redirect', setup.state ? `${url}&${new URLSearchParams({ state: id })}` : url];
}

/**
 * Refuses a login that passport could not keep in a session. Passport itself finds out only after the exchange.
 * `passport.authorize` logs nobody in. Without any session, the app can have a callback of its own that keeps the login.
 */
function checkSession({ req, options }: StrategyRequest): void {
  const isKept = '_sessionManager' in req && options.session !== false && !options.assignProperty;
  const session = sessionOf(req);
  if (!isKept || session === undefined || canRegenerate(req, session)) return;
  throw new Error(
    'MarketplaceStrategy: passport gives every login a new session, and this one has no regenerate() (cookie-session has none); use express-session before passport, or { session: false } on both routes and keep the login yourself',
  );
}

/** Exchanges the auth_key for a token, once, and completes the login or asks the visitor first. */
async function callback(request: StrategyRequest, authKey: string): Promise<Outcome> {
  const { setup, req, options } = request;
  const { states, claims, clock } = setup;
  // Before an attempt is taken, because `mustAsk` needs them all.
  const state = states.read(req);
  const used = claims.find(authKey);
  if (used !== undefined) return endUsed(request, state, used);
  const record: ClaimRecord = { returnTo: safeReturnTo(options.returnTo) };
  const isOpen = ({ id }: LoginAttempt): boolean => claims.find(id) === undefined;
  if (!state.attempts.some(isOpen)) {
    await states.mark(req, authKey);
    return endWithoutLogin(request, record.returnTo);
  }
  const canExchange = attemptsOf(request).some(isOpen) && !isEarly(state, authKey);
  const exchanged = canExchange ? await exchange(request, authKey, record) : undefined;
  if (exchanged === 'used') return endUsed(request, state, record);
  if (exchanged === undefined) return endWithoutLogin(request, record.returnTo);
  const { token, returnTo } = exchanged;
  const profile = await profileOfToken(request, token);
  if (!mustAsk(setup.askWhen, req, state)) return complete(request, token, profile, returnTo);

  const pending = pendingLogin(token, profile, clock(), returnTo);
  await states.write(req, { pending });
  return ['redirect', confirmationPath(req, pending.id)];
}

/** The attempts of this browser that the callback can use: where the deployment echoes `state`, only that one. */
function attemptsOf({ setup, req }: StrategyRequest): readonly LoginAttempt[] {
  const { attempts } = setup.states.read(req);
  if (!setup.state) return attempts;
  const state = String(queryOf(req).state);
  return attempts.filter(({ id }) => id === state);
}

/**
 * Trades the auth_key and an attempt for a token. Gives 'used' for a key that another request has used, and `undefined`
 * when concurrent callbacks have taken all attempts.
 */
async function exchange(request: StrategyRequest, authKey: string, record: ClaimRecord) {
  const { setup, req } = request;
  const { claims, guessGate, loginApi } = setup;
  checkSession(request);
  const ask = async () => {
    // The key is claimed before the attempt is taken: a key that was used in another process ends no tab's login.
    if (!(await claims.claim(authKey, record))) return 'used';
    const attempt = await takeAttempt(request);
    if (attempt === undefined) return undefined;
    const { to: returnTo = record.returnTo } = attempt;
    // A reload of the callback goes there too.
    claims.remember(authKey, { returnTo });
    return { returnTo, token: await loginApi.exchange(authKey) };
  };
  // The limit comes before all else: over it, nothing is used up, and nothing is stored.
  const asked =
    guessGate?.attempt(guessGate.keyGenerator(req), ask, undefined, isRefusedKey) ?? ask();
  return asked.catch(throwAsFailure);
}

/** Whether the service has refused the auth_key. An outage does not count for the guess limit. */
const isRefusedKey = (outcome: GuessOutcome<unknown>): boolean =>
  'error' in outcome &&
  isMarketgateError(outcome.error) &&
  outcome.error.code === 'auth_key_rejected';

/**
 * Takes an attempt from the browser, for a single use: the newest, because the service accepts only the newest
 * auth_key of a user.
 */
async function takeAttempt(request: StrategyRequest): Promise<LoginAttempt | undefined> {
  const { setup, req } = request;
  for (;;) {
    const attempt = attemptsOf(request).at(-1);
    if (attempt === undefined) return undefined;
    const attempts = setup.states.read(req).attempts.filter(({ id }) => id !== attempt.id);
    await setup.states.write(req, { attempts });
    // Concurrent callbacks can find the same attempt, and a browser can send an old cookie again. Only
    // the first claim succeeds; the others try the next attempt.
    if (await setup.claims.claim(attempt.id)) return attempt;
  }
}

type ConfirmationQuery = NonNullable<ReturnType<typeof readConfirmation>>;

/** Sends the "Continue as NAME?" page, or acts on the visitor's answer to it. */
async function answerConfirmation(
  request: StrategyRequest,
  { id, answer }: ConfirmationQuery,
): Promise<Outcome> {
  const { setup, req } = request;
  const { states, claims } = setup;
  const { pending } = states.read(req);
  // An old cookie can still have an answered one.
  if (pending?.id !== id || claims.find(id) !== undefined) return endWithoutLogin(request);
  if (answer === undefined) {
    await sendPage(req, pending, setup.renderConfirmation);
    return ['ask'];
  }
  if (isSentByAnotherSite(req)) {
    const message = 'an answer to "Continue as NAME?" that another site has sent does not count';
    throw new Failure('login_failed', message, { status: 403 });
  }
  if (answer === 'continue') return completePending(request, pending);
  await states.write(req, { pending: undefined });
  await claims.claim(id);
  const detail = 'You chose not to continue, so nobody was logged in.';
  throw new Failure('login_failed', detail, { detail });
}

/** Completes a login that the visitor has confirmed. Until then it stays, so that a retry after an outage finds it. */
async function completePending(
  request: StrategyRequest,
  { id, token, user, to }: PendingLogin,
): Promise<Outcome> {
  checkSession(request);
  const profile = await profileOfToken(request, token);
  // The visitor has agreed to this account only.
  if (profile.id !== user) {
    const detail = 'The account is another one than you have confirmed. Please log in again.';
    throw new Failure('login_failed', detail, { status: 403, detail });
  }
  if (!(await request.setup.claims.claim(id))) return endWithoutLogin(request);
  return complete(request, token, profile, to);
}

/** Stores the token, runs verify and logs the user in. */
async function complete(
  { setup, req }: StrategyRequest,
  token: AccessToken,
  profile: MarketplaceProfile,
  returnTo: string | undefined,
): Promise<Outcome> {
  await setup.tokenStore?.set(setup.tokenName(profile.id), token);
  const { user, info } = await setup.verify({ profile, token, req });
  if (!user) throw notAccepted(info);
  // A stranger's callback link could otherwise use another tab's attempt to switch the account. Claimed as well, for
  // an old cookie that still has them.
  const { attempts, pending } = setup.states.read(req);
  const ids = [...attempts.map(({ id }) => id), ...(pending ? [pending.id] : [])];
  await Promise.all(ids.map((id) => setup.claims.claim(id).catch(() => false)));
  await setup.states.end(req);
  await dropReturnTo(req);
  attachReturnTo(req, returnTo);
  Object.defineProperty(req, FRESH, { value: true });
  return ['success', user, info ?? {}];
}

const profileOfToken = (
  { strategy }: StrategyRequest,
  token: AccessToken,
): Promise<MarketplaceProfile> =>
  new Promise<MarketplaceProfile>((resolve, reject) => {
    const returned: unknown = strategy.userProfile(token.value, (error, profile) => {
      if (error) reject(error);
      else if (typeof profile?.id === 'string' && profile.id !== '') resolve(profile);
      else reject(new TypeError('MarketplaceStrategy: userProfile gave no profile with an id'));
    });
    // An override can be an async function that fails before it calls its callback.
    if (returned instanceof Promise) returned.catch(reject);
  }).catch(throwAsFailure);

/**
 * Ends a callback that exchanges nothing. A logged-in user is redirected to `successRedirect`, or passed on to the next
 * handler. For anybody else it throws a {@link Failure} with status 403.
 */
function endWithoutLogin(request: StrategyRequest, returnTo?: string): Outcome {
  const { req, options } = request;
  if (!isLoggedIn(req)) throw notStarted(req, request.setup.hosts);
  attachReturnTo(req, returnTo);
  const url = options.successReturnToOrRedirect ?? options.successRedirect;
  return url === undefined ? ['pass'] : ['redirect', url];
}

/** Ends a callback with a used auth_key. The attempts of other tabs stay open. */
function endUsed(request: StrategyRequest, state: LoginState, { returnTo }: ClaimRecord): Outcome {
  // Only a browser with an open attempt learns that the key was used.
  if (isLoggedIn(request.req) || state.attempts.length === 0) {
    return endWithoutLogin(request, returnTo);
  }
  throw new Failure('auth_key_rejected', 'this auth_key was already used; log in again');
}

const FRESH = Symbol.for('marketgate.freshLogin');

/**
 * Whether this request has just logged a user in. A callback that a logged-in user opens again (a reload,
 * a second tab) reaches the handler too. The handler must not renew a login then, because a stolen login
 * cookie could be kept alive for ever.
 */
export const isFreshLogin = (req: object): boolean =>
  (req as { [FRESH]?: unknown })[FRESH] === true;
