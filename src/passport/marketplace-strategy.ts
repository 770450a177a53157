import type { Request } from 'express';
import type { AuthenticateOptions } from 'passport';
import { Strategy as OAuth2Strategy } from 'passport-oauth2';
import { clientKey } from '../attempts/client-key.js';
import { asError } from '../errors.js';
import type { AccessToken } from '../model/access-token.js';
import { markFreshLogin, markLoginRequest } from '../web/login-request.js';
import { isPrefetch, isScripted, pathnameOf, queryOf, withoutQuery } from '../web/request.js';
import { handleThrown, noStore, refuseWith, responseOf, trackResponses } from '../web/response.js';
import { attachReturnTo, dropReturnTo, readReturnTo, safeReturnTo } from '../web/return-to.js';
import { canRegenerate, sessionOf, withLogIn } from '../web/session.js';
import { identityOf, isLoggedIn } from '../web/user.js';
import {
  confirmationQuery,
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
  throwAsFailure,
  withoutEffect,
} from './failure.js';
import {
  isEarly,
  type LoginAttempt,
  type LoginState,
  markFor,
  randomId,
  readState,
  shortHash,
} from './login-state.js';
import {
  type MarketplaceStrategyOptions,
  type StrategySetup,
  strategySetup,
} from './strategy-options.js';
import {
  type AnyClassic,
  type AnyInline,
  type AsyncVerify,
  type MarketplaceProfile,
  profileOf,
  type VerifyWithDone,
  type WithReq,
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
export class MarketplaceStrategy extends OAuth2Strategy {
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
  constructor(options: MarketplaceStrategyOptions, verify: AsyncVerify);
  constructor(options: MarketplaceStrategyOptions, verify: VerifyWithDone);
  constructor(options: WithoutRequest, verify: AnyClassic);
  constructor(options: WithRequest, verify: AnyClassic<WithReq>);
  constructor(options: MarketplaceStrategyOptions, verify: unknown) {
    const setup = strategySetup(options, verify);
    const authorizationURL = setup.loginApi.loginUrl();
    // The base class requires these options. Its OAuth 2 client is never used, and gets no secret.
    super(
      { authorizationURL, tokenURL: authorizationURL, clientID: 'marketplace', clientSecret: '' },
      () => {},
    );
    trackResponses();
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
    const who = isLoggedIn(req) ? shortHash(identityOf(req.user)) : undefined;
    void run({ strategy: own, setup: this[SETUP], req, options, who, state: { attempts: [] } });
  }

  /**
   * Loads the profile that verify gets (get_user_info). To add to the profile, override it, call `super`
   * and pass the changed profile to `done`. The token is stored under the profile's `id`.
   */
  override userProfile(
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

/** How a request ends. A thrown {@link Failure} becomes passport's `fail`, any other error `error`. */
type Outcome =
  | [type: 'redirect', url: string]
  | [type: 'success', user: Express.User, info: object]
  | [type: 'pass']
  | [type: 'ask']
  | [type: 'fail', challenge: object, status: number]
  | [type: 'error', error: object];

/** One request to the strategy. */
interface StrategyRequest {
  readonly strategy: MarketplaceStrategy;
  readonly setup: StrategySetup;
  readonly req: Request;
  readonly options: MarketplaceAuthenticateOptions;
  /** Who is logged in when the request comes. */
  readonly who: string | undefined;
  /** What is stored about the browser: {@link save} changes both. */
  state: LoginState;
  /** The `user_id` of the account that has logged in. */
  account?: string;
}

/** Handles a request, and calls one of passport's functions on its strategy. */
async function run(request: StrategyRequest): Promise<void> {
  const { strategy, req } = request;
  try {
    const [type, ...args] = await handle(request).catch((error) => failed(request, error));
    if (type === 'redirect' || type === 'pass' || type === 'ask') report(type);
    if (type === 'ask') return;
    const end = (): void => (strategy[type] as (...args: unknown[]) => void)(...args);
    if (type === 'success') {
      const onEnd = (error?: unknown) => report(error ? 'error' : 'success', error);
      withLogIn(req, end, onEnd, (user) => keepKnown(request, user));
    } else end();
  } catch (thrown) {
    // By the app's callback.
    handleThrown(req, responseOf(req), thrown);
  }
}

/** How a request ends that has failed. */
function failed({ req, options }: StrategyRequest, error: unknown): Outcome {
  const res = responseOf(req);
  if (res !== undefined) refuseWith(res, error);
  const isFailure = error instanceof Failure;
  report(isFailure ? 'fail' : 'error', error);
  // Passport's own error for `failWithError` says only "Unauthorized".
  const isError = !isFailure || (options.failWithError && !options.failureRedirect);
  return isError ? ['error', asError(error)] : ['fail', error.challenge, error.status];
}

const FOLLOW_LINK =
  'it would use up the auth_key or begin a login that nobody wants; follow the link instead';
const NAVIGATE =
  'the visitor must see the marketplace; open the path in the window instead, as in location.href = "/login"';

/** Ends in {@link start}, {@link callback} or {@link answerConfirmation}, by the query. */
async function handle(request: StrategyRequest): Promise<Outcome> {
  const { setup, req } = request;
  markLoginRequest(req);
  const res = responseOf(req);
  if (res !== undefined) noStore(res);
  // Test helpers give no method, and some no headers.
  const { method = 'GET' } = req;
  req.headers ??= {};
  // A form can begin or confirm a login by POST.
  if (isPrefetch(req) || !['GET', 'POST'].includes(method)) {
    throw withoutEffect('a prefetch, HEAD or OPTIONS of a login', FOLLOW_LINK);
  }
  request.state = readState(setup.storage.read(req), setup.clock(), request.who);
  checkSession(request);
  const query = queryOf(req);
  const authKeys = authKeysIn(query);
  const confirmation = readConfirmation(query);
  const isCallback = authKeys.length > 0 || hasBrokenUrl(query, request.state);
  if (!isCallback && confirmation === undefined) {
    if (isScripted(req))
      throw withoutEffect('the start of a login by a script or an image', NAVIGATE);
    return start(request);
  }
  if (isSubresource(req) || (isCallback && method !== 'GET')) {
    const what = 'a callback that is no navigation (an image, a script, a fetch, a POST)';
    throw withoutEffect(what, FOLLOW_LINK);
  }
  if (authKeys.length > 0) return callback(request, readAuthKey(authKeys));
  if (confirmation !== undefined) return answerConfirmation(request, confirmation);
  throw new Failure(
    'auth_key_rejected',
    'the callback cannot be used: the redirect URL registered with the app has a query of its own, which the service breaks; register one without',
    { detail: 'Logging in does not work on this site at the moment. Please tell the site.' },
  );
}

/**
 * Whether the redirect URL has a query: the service appends "?auth_key=…" even then. A link with such text is the app's
 * own before a login has begun, as in "/login?next=/a?auth_key=1".
 */
const hasBrokenUrl = (query: Record<string, unknown>, { attempts }: LoginState): boolean =>
  Object.values(query)
    .flat()
    .filter((value) => typeof value === 'string' && value.includes('?auth_key='))
    .some((value) => attempts.length > 0 || !/^[^?]*\//.test(String(value)));

/** The values of `auth_key`. Express 5 parses `auth_key[]=…` as a parameter of the name `auth_key[]`. */
const authKeysIn = (query: Record<string, unknown>): unknown[] =>
  Object.entries(query).flatMap(([name, value]) => {
    if (name === 'auth_key') return [value];
    return name.startsWith('auth_key[') ? [[value]] : [];
  });

function readAuthKey([authKey, ...others]: unknown[]): string {
  const isOne = typeof authKey === 'string' && others.length === 0;
  if (isOne && authKey.trim() !== '') return authKey;
  const why = isOne ? 'auth_key is empty' : 'auth_key must be given once';
  throw new Failure('auth_key_rejected', `the callback cannot be used: ${why}`, {
    detail: 'This login link is not complete. Please log in again.',
  });
}

/** Replaces a part of what is stored about the browser. */
async function save(request: StrategyRequest, change: Partial<LoginState>): Promise<void> {
  request.state = { ...request.state, ...change };
  await request.setup.storage.write(request.req, request.state);
}

/** A browser can have several at once, one per tab. A further one replaces the oldest. */
const MAX_ATTEMPTS = 5;

/** Begins a login attempt and sends the browser to the service. */
async function start(request: StrategyRequest): Promise<Outcome> {
  const { setup, req, options, who, state } = request;
  const id = randomId();
  const wanted = safeReturnTo(options.returnTo) ?? readReturnTo(req);
  // A login that leads to itself would begin a second one, which then counts as begun here.
  const isItself = wanted !== undefined && withoutQuery(wanted) === pathnameOf(req);
  const to = isItself ? undefined : wanted;
  const foreign = isStartedElsewhere(req) || undefined;
  const attempt: LoginAttempt = { id, at: setup.clock(), to, foreign, who };
  await save(request, { attempts: [...state.attempts, attempt].slice(-MAX_ATTEMPTS) });
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
  const { setup, req, who, state } = request;
  const { claims, clock } = setup;
  const isStarted = state.attempts.length > 0;
  if (claims.has(authKey)) return endUsed(request, isStarted);
  if (!isStarted) {
    const mark = markFor(state, authKey, clock());
    if (mark !== state.mark) await save(request, { mark });
  }
  const hasAttempt = attemptsOf(request).length > 0;
  if (!hasAttempt || isEarly(state, authKey)) return endWithoutLogin(request);

  const exchanged = await exchange(request, authKey);
  if (exchanged === 'used') return endUsed(request, isStarted);
  if (exchanged === undefined) return endWithoutLogin(request);
  const { token, to } = exchanged;
  const profile = await profileOfToken(request, token);
  const known = who && shortHash(profile.id, who);
  if (!mustAsk(setup.askWhen, req, state, known)) return complete(request, token, profile, to);
  const pending = pendingLogin(token, profile, { at: clock(), who, to });
  await save(request, { pending });
  return ['redirect', confirmationQuery(pending.id)];
}

/** The attempts of this browser that the callback can use: where the deployment echoes `state`, only that one. */
function attemptsOf({ setup, req, state }: StrategyRequest): readonly LoginAttempt[] {
  if (!setup.state) return state.attempts;
  const echoed = String(queryOf(req).state);
  return state.attempts.filter(({ id }) => id === echoed);
}

/** Why an auth_key is not exchanged. */
const USED = new Error('this auth_key was already used');
const NO_ATTEMPT = new Error('other callbacks have taken all login attempts');

/**
 * Trades the auth_key and an attempt for a token. Gives 'used' for a key that another request has used, and `undefined`
 * when other callbacks have taken all attempts.
 */
async function exchange(request: StrategyRequest, authKey: string) {
  const { claims, clientOf, loginApi } = request.setup;
  let attempt: LoginAttempt | undefined;
  // Both only once the guess limit allows it: over it, nothing is used up, and nothing is stored.
  const take = async (): Promise<void> => {
    // The key is claimed before the attempt is taken: a key that was used in another process ends no tab's login.
    if (!(await claims.claim(authKey))) throw USED;
    attempt = await takeAttempt(request);
    if (attempt === undefined) throw NO_ATTEMPT;
  };
  try {
    const visitor = clientOf(request.req);
    // Another site's page can begin logins and open callbacks. The visitor's address must not pay for them.
    const isForeign = attemptsOf(request).every(({ foreign }) => foreign);
    const client = isForeign && visitor ? `elsewhere ${clientKey(String(visitor))}` : visitor;
    const token = await loginApi.exchange(authKey, { client, beforeSend: take });
    // An app can have given an object of its own, which takes no such option.
    if (attempt === undefined) await take();
    return { to: attempt?.to, token };
  } catch (error) {
    if (error === USED) return 'used';
    if (error === NO_ATTEMPT) return undefined;
    return throwAsFailure(error);
  }
}

/** Takes an attempt from the browser, for a single use: the newest, because visitors mostly finish the login they began last. */
async function takeAttempt(request: StrategyRequest): Promise<LoginAttempt | undefined> {
  for (;;) {
    const attempt = attemptsOf(request).at(-1);
    if (attempt === undefined) return undefined;
    await save(request, { attempts: request.state.attempts.filter((it) => it !== attempt) });
    // Concurrent callbacks can find the same attempt, and a browser can send an old cookie again. Only
    // the first claim succeeds; the others try the next attempt.
    if (await request.setup.claims.claim(attempt.id)) return attempt;
  }
}

/** Sends the "Continue as NAME?" page, or acts on the visitor's answer to it. */
async function answerConfirmation(
  request: StrategyRequest,
  { id, answer }: NonNullable<ReturnType<typeof readConfirmation>>,
): Promise<Outcome> {
  const { setup, req, options, who, state } = request;
  const { pending } = state;
  if (pending?.id !== id) return endWithoutLogin(request);
  if (pending.who !== who) {
    const message = 'somebody else has logged in, or out, since this login began';
    throw new Failure('login_failed', `${message}; log in again`, {
      status: 403,
      detail: 'You have logged in or out since this login began. Please begin again.',
    });
  }
  if (answer === undefined) {
    const isLoggedInAs = options.assignProperty ? 'connect' : 'switch';
    await sendPage(req, pending, who ? isLoggedInAs : 'login', setup.renderConfirmation);
    return ['ask'];
  }
  if (isSentByAnotherSite(req)) {
    const message = 'an answer to "Continue as NAME?" that another site has sent does not count';
    throw new Failure('login_failed', message, { status: 403 });
  }
  if (answer === 'continue') {
    // Claimed after the call, so that a retry after an outage finds it.
    const profile = await profileOfToken(request, pending.token);
    if (shortHash(profile.id) !== pending.account) {
      const message =
        'the service says that the access_token belongs to another account than the one that the page has named';
      throw new Failure('login_failed', `${message}; log in again`);
    }
    if (!(await setup.claims.claim(id))) return endWithoutLogin(request);
    return complete(request, pending.token, profile, pending.to);
  }
  await save(request, { pending: undefined });
  await setup.claims.claim(id);
  const detail = 'You chose not to continue, so nobody was logged in.';
  throw new Failure('login_failed', detail, { detail });
}

/** Stores the token, runs verify and logs the user in. */
async function complete(
  request: StrategyRequest,
  token: AccessToken,
  profile: MarketplaceProfile,
  to: string | undefined,
): Promise<Outcome> {
  const { setup, req, options, who, state } = request;
  await setup.tokenStore?.set(setup.tokenName(profile.id), token);
  const { user, info } = await setup.verify({ profile, token, req });
  if (!user) throw notAccepted(info);
  // A stranger's callback link could otherwise use another tab's attempt to switch the account. Claimed as well, for
  // an old cookie that still has them.
  const open = [...state.attempts, ...(state.pending ? [state.pending] : [])];
  await Promise.all(open.map(({ id }) => setup.claims.claim(id).catch(() => false)));
  // `passport.authorize` leaves the user who is logged in.
  const whoThen = options.assignProperty ? who : shortHash(identityOf(user));
  const known = whoThen && shortHash(profile.id, whoThen);
  await save(request, { attempts: [], mark: undefined, pending: undefined, known });
  request.account = profile.id;
  await dropReturnTo(req);
  attachReturnTo(req, to ?? safeReturnTo(options.returnTo));
  markFreshLogin(req);
  return ['success', user, info ?? {}];
}

/** Saves once more with which account this user has logged in: passport has begun a new session. */
async function keepKnown(request: StrategyRequest, user: unknown): Promise<void> {
  if (request.account === undefined) return;
  await save(request, { known: shortHash(request.account, shortHash(identityOf(user))) });
}

const profileOfToken = (
  { strategy }: StrategyRequest,
  token: AccessToken,
): Promise<MarketplaceProfile> =>
  new Promise<MarketplaceProfile>((resolve, reject) => {
    const returned: unknown = strategy.userProfile(token.value, (error, profile) => {
      if (error) reject(error);
      else if (profile?.id) resolve(profile);
      else reject(new TypeError('MarketplaceStrategy: userProfile gave no profile with an id'));
    });
    // An override can be an async function that fails before it calls its callback.
    if (returned instanceof Promise) returned.catch(reject);
  }).catch(throwAsFailure);

/**
 * Ends a callback that exchanges nothing. A logged-in user is redirected to `successRedirect`, or passed on to the next
 * handler. For anybody else it throws a {@link Failure} with status 403.
 */
function endWithoutLogin({ req, options, setup }: StrategyRequest): Outcome {
  if (!isLoggedIn(req)) throw notStarted(req, setup.hosts);
  attachReturnTo(req, safeReturnTo(options.returnTo));
  const url = options.successReturnToOrRedirect ?? options.successRedirect;
  return url === undefined ? ['pass'] : ['redirect', url];
}

/** Ends a callback with a used auth_key. Only a browser that has begun a login learns that it was used. */
function endUsed(request: StrategyRequest, isStarted: boolean): Outcome {
  if (isLoggedIn(request.req) || !isStarted) return endWithoutLogin(request);
  throw new Failure('auth_key_rejected', 'this auth_key was already used; log in again');
}
