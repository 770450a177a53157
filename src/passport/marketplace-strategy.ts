import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { AuthenticateOptions } from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { type LoginMessage, loginChannel } from '../diagnostics.js';
import {
  asError,
  ERROR_CODES,
  isMarketgateError,
  MarketgateError,
  type MarketgateErrorCode,
} from '../errors.js';
import { isPrefetch, queryOf, responseOf } from '../express/plain-http.js';
import { leaveReturnTo, safeReturnTo, takeSavedReturnTo } from '../express/return-to.js';
import { adaptLogIn, canRegenerate, sessionOf } from '../express/session.js';
import type { AccessToken } from '../model/access-token.js';
import {
  askVisitor,
  type ConfirmationInput,
  confirmationPath,
  isForeignStart,
  isSubresource,
  mustAsk,
  pendingLogin,
  readConfirmation,
} from './confirmation.js';
import { type MarketplaceProfile, profileOf } from './profile.js';
import {
  type MarketplaceStrategyOptions,
  type StrategySettings,
  strategySettings,
} from './strategy-options.js';
import {
  type AnyClassic,
  type AnyClassicWithRequest,
  type AnyInline,
  type AnyInlineWithRequest,
  type AsyncVerify,
  type RunVerify,
  type Verify,
  verifyRunner,
} from './verify.js';

declare module 'passport' {
  interface AuthenticateOptions {
    /** For {@link MarketplaceStrategy}: path on this site to go to after the login; see {@link returnTo}. */
    returnTo?: string | undefined;
  }
}

/** Options of `passport.authenticate('marketplace', …)`: passport's own and `returnTo`. */
export type MarketplaceAuthenticateOptions = AuthenticateOptions;

type WithoutRequest = MarketplaceStrategyOptions & { passReqToCallback?: false | undefined };
type WithRequest = MarketplaceStrategyOptions & { passReqToCallback: true };

interface Login extends StrategySettings {
  readonly verify: RunVerify;
  /** Hosts on which logins have begun in this process. */
  readonly hosts: LRUCache<string, true>;
}

// Passport runs a strategy on `Object.create(strategy)`, where `#private` fields throw.
const LOGIN = Symbol('marketgate.login');

/**
 * Passport strategy for the login with app (specification: the login API). Register it by its name:
 * `passport.authenticate('marketplace')`, on the path that starts the login and on the callback.
 *
 * Ends in one of: `redirect` (start, or a callback that is passed on to `successRedirect`); `success`;
 * `fail`, when the visitor could not be authenticated (401, or 403 for a callback that this browser did not
 * start); `error`, when that could not be found out; `pass`, for a callback without an attempt in a browser
 * that is already logged in. With `failWithError` a failure is an `error` that says why.
 *
 * A subclass can override {@link userProfile}. It cannot override `authorizationParams`, `tokenParams` or
 * `parseErrorResponse` of passport-oauth2.
 */
export class MarketplaceStrategy extends OAuth2Strategy {
  declare private readonly [LOGIN]: Login;

  /**
   * The first overload of each kind only types inline callbacks.
   *
   * @param verify - {@link AsyncVerify}, or one of passport-oauth2's forms, known by its number of
   * arguments: {@link ClassicVerify}, {@link ClassicVerifyWithParams}, and with `passReqToCallback: true`
   * {@link ClassicVerifyWithRequest}, {@link ClassicVerifyWithRequestAndParams}. A function that declares no
   * arguments (`async (...args)`) gets those of the classic form and can return the user.
   * @throws TypeError that names the wrong option.
   */
  constructor(options: WithoutRequest, verify: AnyInline);
  constructor(options: WithRequest, verify: AnyInlineWithRequest);
  constructor(options: MarketplaceStrategyOptions, verify: AsyncVerify);
  constructor(options: WithoutRequest, verify: AnyClassic);
  constructor(options: WithRequest, verify: AnyClassicWithRequest);
  constructor(options: MarketplaceStrategyOptions, verify: Verify) {
    const settings = strategySettings(options);
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
    refuseDeadHooks(this);
    this.name = settings.name;
    const login: Login = { ...settings, verify: run, hosts: new LRUCache({ max: 100 }) };
    // Not enumerable, so that a strategy in a log shows nothing of it.
    Object.defineProperty(this, LOGIN, { value: login });
  }

  /** Called by passport, which has put `success`, `fail`, `redirect`, `pass` and `error` on `this`. */
  override authenticate(req: Request, options: MarketplaceAuthenticateOptions = {}): void {
    responseOf(req)?.setHeader('Cache-Control', 'no-store');
    logIn({ strategy: this, login: this[LOGIN], req, options })
      .then(([type, ...args]) => {
        report(type);
        if (type !== 'ask') (this[type] as (...args: unknown[]) => void)(...args);
      })
      .catch((error: unknown) => {
        if (!(error instanceof Failure)) throw error;
        report('fail', error);
        // Passport's own error for `failWithError` says "Unauthorized" and not why.
        if (options.failWithError && !options.failureRedirect) this.error(error);
        else this.fail(error.challenge, error.status);
      })
      .catch((error: unknown) => {
        report('error', error);
        this.error(asError(error));
      });
  }

  /**
   * Loads the profile that verify gets (get_user_info). Override it to add to the profile: call `super` and
   * hand on what its `done` gets. The token is stored under the profile's `id`.
   */
  override userProfile(
    accessToken: string,
    done: (error?: unknown, profile?: MarketplaceProfile) => void,
  ): void {
    const { loginApi } = this[LOGIN];
    const site = loginApi.loginUrl().replace(/\/api\/oauth\?.*/, '/');
    loginApi
      .getUser(accessToken)
      .then((user) => done(null, profileOf(user, site)), done)
      // A callback of a subclass can throw; passport has put `error` on this very request's `this`.
      .catch((error: unknown) => this.error(asError(error)));
  }
}

/** Hooks of passport-oauth2 that nothing would call. */
const DEAD_HOOKS = ['authorizationParams', 'tokenParams', 'parseErrorResponse'] as const;

function refuseDeadHooks(strategy: MarketplaceStrategy): void {
  const hook = DEAD_HOOKS.find((name) => strategy[name] !== OAuth2Strategy.prototype[name]);
  if (hook === undefined) return;
  throw new TypeError(
    `MarketplaceStrategy: ${hook} is overridden but never called: the service takes no further parameters, and LoginApi reads its errors`,
  );
}

/** How a step of a login ends. A {@link Failure} that is thrown is passport's `fail`, all else `error`. */
type Outcome =
  | [type: 'redirect', url: string]
  | [type: 'success', user: Express.User, info: object]
  | [type: 'pass']
  | [type: 'ask'];

/** The visitor could not be authenticated. */
class Failure extends MarketgateError {
  /** What passport gets: the reason, or what verify says. */
  readonly challenge: object;

  constructor(code: MarketgateErrorCode, message: string, status = 401, challenge?: object) {
    super(code, message);
    Object.assign(this, { status, statusCode: status });
    this.challenge = challenge ?? { code, message };
  }
}

/** What the service says about the visitor is a failure; every other error stays one. */
function asFailure(error: unknown): never {
  if (!isMarketgateError(error)) throw error;
  const { code, message, status } = error;
  const isAboutVisitor = ['auth_key_rejected', 'login_failed', 'access_token_expired'];
  throw isAboutVisitor.includes(code) ? new Failure(code, message, status) : error;
}

/** One request to the strategy. */
interface Visit {
  readonly strategy: MarketplaceStrategy;
  readonly login: Login;
  readonly req: Request;
  readonly options: MarketplaceAuthenticateOptions;
}

async function logIn(visit: Visit): Promise<Outcome> {
  const { strategy, login, req } = visit;
  if (login === undefined) {
    throw new TypeError('MarketplaceStrategy: its constructor did not run; extend it with a class');
  }
  // Once more, because class fields are set after the constructor.
  refuseDeadHooks(strategy);
  if (isPrefetch(req) || req.method === 'HEAD') throw notFollowed('a prefetch or HEAD of a login');
  const query = queryOf(req);
  const authKey = readAuthKey(query);
  const confirmation = login.confirm ? readConfirmation(query) : undefined;
  if (authKey === undefined && confirmation === undefined) return start(visit);
  if (isSubresource(req)) {
    throw notFollowed('a callback that is no navigation (an image, a script, a fetch)');
  }
  if (authKey instanceof Failure) throw authKey;
  if (authKey !== undefined) return callback(visit, authKey);
  return confirm(visit, confirmation as ConfirmationInput);
}

/** Not a {@link Failure}: a browser would keep the redirect of one and show it as the login's result. */
const notFollowed = (what: string): MarketgateError =>
  new MarketgateError(
    'login_failed',
    `${what} was refused, so that it spends neither an auth_key nor where the visitor wants to go; follow the link instead`,
  );

/** The auth_key of a callback, or what is wrong with it; `undefined` for the start of a login. */
function readAuthKey(query: Record<string, unknown>): string | Failure | undefined {
  const broken = (why: string) =>
    new Failure('auth_key_rejected', `The login could not be completed: ${why}.`);
  const { auth_key: value } = query;
  // Express 5 leaves `auth_key[]=…` as the name of another parameter.
  if (Object.keys(query).some((name) => name.startsWith('auth_key['))) {
    return broken('auth_key must be given once');
  }
  if (value === undefined) {
    // The service appends "?auth_key=…" literally, also behind a query that is already there.
    const others = Object.values(query).flat();
    return others.some((other) => typeof other === 'string' && other.includes('?auth_key='))
      ? broken(
          'the redirect URL registered with the app has a query of its own, which the service breaks; register one without',
        )
      : undefined;
  }
  if (typeof value !== 'string') return broken('auth_key must be given once');
  return value.trim() === '' ? broken('auth_key is empty') : value;
}

async function start({ login, req, options }: Visit): Promise<Outcome> {
  // Passport would only find out after the auth_key is spent.
  const isForPassport = '_sessionManager' in req && options.session !== false;
  if (isForPassport && sessionOf(req) !== undefined && !canRegenerate(req)) {
    throw new Error(
      'MarketplaceStrategy: passport gives every login a new session, and this one has no regenerate() (cookie-session has none); use express-session, or { session: false } on both routes and keep the login yourself',
    );
  }
  const saved = takeSavedReturnTo(req);
  const returnTo = safeReturnTo(options.returnTo) ?? saved;
  const { id } = await login.attempts.begin(req, {
    ...(returnTo !== undefined && { returnTo }),
    ...(isForeignStart(req) && { foreign: true }),
  });
  const host = hostOf(req);
  if (host !== undefined) login.hosts.set(host, true);
  const url = login.loginApi.loginUrl();
  return ['redirect', login.state ? `${url}&${new URLSearchParams({ state: id })}` : url];
}

async function callback(visit: Visit, authKey: string): Promise<Outcome> {
  const { login, req, options } = visit;
  const { attempts, claims } = login;
  const open = attempts.open(req);
  const used = claims.find(authKey);
  if (used !== undefined) {
    // Only a browser that has begun a login here learns what became of the key. A reload or a second tab
    // spends nothing, and takes no other tab's attempt.
    if (!isLoggedIn(req) && open.length > 0) throw alreadyUsed();
    return withoutAttempt(visit, used.returnTo);
  }
  const attempt = await attempts.take(req, login.state ? String(queryOf(req).state) : undefined);
  const wanted = safeReturnTo(options.returnTo);
  if (attempt === undefined) return withoutAttempt(visit, wanted);
  const { returnTo = wanted } = attempt;
  if (!(await claims.claim(authKey, { returnTo }))) throw alreadyUsed();

  let token: AccessToken;
  try {
    token = await login.loginApi.exchange(authKey);
  } catch (error) {
    // Of two tabs the service lets only the newest key live: this browser has what both came for.
    const isDead = isMarketgateError(error) && error.code === 'auth_key_rejected';
    return isDead && isLoggedIn(req) ? withoutAttempt(visit, returnTo) : asFailure(error);
  }
  const profile = await profileOfToken(visit, token);
  if (!mustAsk(login.confirm, req, open)) return complete(visit, token, profile, returnTo);

  const { id } = await attempts.begin(req, { waits: true });
  await login.pendingLogins.keep(id, pendingLogin(token, profile, returnTo));
  return ['redirect', confirmationPath(req, id)];
}

/** The page "Continue as NAME?", and the visitor's answer to it. */
async function confirm(visit: Visit, { id, answer }: ConfirmationInput): Promise<Outcome> {
  const { login, req } = visit;
  const { attempts, claims, pendingLogins } = login;
  if (answer === undefined) {
    const pending = attempts.isWaiting(req, id) ? await pendingLogins.find(id) : undefined;
    if (pending === undefined) return withoutAttempt(visit, undefined);
    const { name, username } = pending;
    const action = confirmationPath(req, id);
    askVisitor(req, { id, name, username, action }, login.renderConfirmation);
    return ['ask'];
  }
  const isHeld = await attempts.takeWaiting(req, id);
  if (answer === 'cancel') {
    if (!isHeld) return withoutAttempt(visit, undefined);
    // Dropped before the claim: a concurrent "Continue" that loses the claim must find no login.
    await pendingLogins.drop(id);
    await claims.claim(id);
    throw new Failure('login_failed', 'You chose not to continue, so nobody was logged in.');
  }
  const isFirst = isHeld && (await claims.claim(id));
  const pending = await (isHeld ? pendingLogins.find(id) : pendingLogins.findAnswered(id, req));
  if (pending === undefined) return withoutAttempt(visit, undefined);
  // The second request of a double click ends as the first does: the browser shows only the second.
  if (isFirst) await pendingLogins.answered(id, req, pending);
  const { token, userId, returnTo } = pending;
  const profile = await profileOfToken(visit, token);
  // The visitor agreed to this account and to no other.
  if (profile.id !== userId) throw notStarted(visit);
  return complete(visit, token, profile, returnTo);
}

async function complete(
  { login, req }: Visit,
  token: AccessToken,
  profile: MarketplaceProfile,
  returnTo: string | undefined,
): Promise<Outcome> {
  await login.tokenStore?.set(login.tokenName(profile.id), token);
  const { user, info } = await login.verify({ profile, token, req });
  if (!user) {
    const { message = 'This site does not accept the account: verify gave no user.' } = {
      ...(info as { message?: unknown } | undefined),
    };
    throw new Failure('login_failed', String(message), 401, info);
  }
  // A stranger's callback must find no attempt of another tab, and log the user in to another account.
  await login.attempts.endAll(req);
  leaveReturnTo(req, returnTo);
  Object.defineProperty(req, FRESH, { value: true, configurable: true });
  adaptLogIn(req);
  return ['success', user, info ?? {}];
}

const profileOfToken = ({ strategy }: Visit, token: AccessToken): Promise<MarketplaceProfile> =>
  new Promise<MarketplaceProfile>((resolve, reject) => {
    strategy.userProfile(token.value, (error, profile) => {
      if (error) reject(error);
      else if (typeof profile?.id === 'string' && profile.id !== '') resolve(profile);
      else reject(new TypeError('MarketplaceStrategy: userProfile gave no profile with an id'));
    });
  }).catch(asFailure);

/** A callback that spends nothing: a logged-in user goes on to the app. */
function withoutAttempt(visit: Visit, returnTo: string | undefined): Outcome {
  const { req, options } = visit;
  if (!isLoggedIn(req)) throw notStarted(visit);
  leaveReturnTo(req, returnTo);
  const url = options.successReturnToOrRedirect ?? options.successRedirect;
  return url === undefined ? ['pass'] : ['redirect', url];
}

const isLoggedIn = (req: Request): boolean => Boolean((req as { user?: unknown }).user);

const alreadyUsed = () =>
  new Failure('auth_key_rejected', 'This login link was already used. Please log in again.');

/** Without the port: browsers send cookies to all ports of a host. */
const hostOf = (req: Request): string | undefined =>
  /^([\w.-]+|\[[\da-f:]+\])/i.exec(req.headers?.host ?? '')?.[0].toLowerCase();

function notStarted({ login: { hosts }, req }: Visit): Failure {
  const host = hostOf(req);
  let hint = 'If this happens again, allow cookies for this site.';
  if (host !== undefined && hosts.size > 0 && !hosts.has(host)) {
    hint = `It came back to ${host} but logins begin on another host, and cookies stay with their host: open this site under ${host}, or register a redirect URL on the other host.`;
  } else if (!req.headers?.cookie) {
    hint =
      'No cookie came back with it: allow cookies for this site. (Its developer: no cookie comes back that is SameSite=Strict, nor one that is Secure on plain http or behind an undeclared proxy.)';
  }
  return new Failure(
    'login_failed',
    `This login was not started in this browser, or too long ago. ${hint} Please log in again.`,
    403,
  );
}

/** @param error of a failed login. */
function report(outcome: LoginMessage['outcome'], error?: unknown): void {
  if (!loginChannel.hasSubscribers) return;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  // Code and message of the app's own errors can be anything, so only ours are passed on.
  const isCoded = typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
  const isOurs = isCoded || String(message).startsWith('MarketplaceStrategy: ');
  loginChannel.publish({
    outcome,
    ...(isCoded && { code }),
    ...(isOurs && { reason: String(message) }),
  } satisfies LoginMessage);
}

const FRESH = Symbol.for('marketgate.freshLogin');

/**
 * Whether this request of the callback has just logged somebody in. A callback that a logged-in user opens
 * again (a reload, a second tab) reaches the handler too, and must not renew a login: a stolen login cookie
 * could then be kept alive for ever.
 */
export const isFreshLogin = (req: object): boolean =>
  (req as { [FRESH]?: unknown })[FRESH] === true;
