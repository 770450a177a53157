import type { Request, Response } from 'express';
import type { StrategyCreatedStatic } from 'passport';
import { clientKey } from '../attempts/client-key.js';
import { asError, isMarketgateError } from '../errors.js';
import type { AccessToken } from '../model/access-token.js';
import { isFreshLogin, note } from '../web/login-request.js';
import { isPrefetch, isScripted, pathnameOf, queryOf, withoutQuery } from '../web/request.js';
import {
  asciiPath,
  handleThrown,
  noStore,
  refuseWith,
  requiredResponse,
  sent,
} from '../web/response.js';
import { readReturnTo, removeReturnTo, safeReturnTo } from '../web/return-to.js';
import {
  checkKeepsLogin,
  leaveSession,
  type SessionRead,
  sessionOf,
  watchLogIn,
} from '../web/session.js';
import { identityOf, isLoggedIn } from '../web/user.js';
import {
  type Confirmed,
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
  failTellingWhy,
  hostOf,
  notAccepted,
  notStarted,
  report,
  throwAsFailure,
  tooManyRounds,
  withoutEffect,
} from './failure.js';
import {
  echoOf,
  isEarly,
  type LoginAttempt,
  type LoginState,
  markFor,
  type PendingLogin,
  pageOf,
  randomId,
  readState,
  shortHash,
  whyNoAttempt,
} from './login-state.js';
import type { MarketplaceAuthenticateOptions, StrategySetup } from './strategy-options.js';
import {
  browserOf,
  type Elsewhere,
  endOfSecond,
  findElsewhere,
  type LoginEnd,
  type Outcome,
  type RunningLogin,
} from './twice.js';
import type { MarketplaceProfile } from './verify.js';

/** What {@link Login} calls: passport's functions, and the strategy's hook. */
export interface LoginActions extends StrategyCreatedStatic {
  userProfile(
    accessToken: string,
    done: (error?: unknown, profile?: MarketplaceProfile) => void,
  ): void;
}

/** A browser can have several attempts at once, one per tab. A further one replaces the oldest. */
const MAX_ATTEMPTS = 5;
/** After so many logins, or starts, one right after another, a further start would be one of an endless redirect. */
const MAX_ROUNDS = 5;
/** How soon a start after the login before it is a part of such a redirect, in milliseconds. */
const ROUND = 10_000;

const FOLLOW_LINK =
  'it would use up the auth_key or begin a login that nobody wants; follow the link instead';
const NAVIGATE =
  'the visitor must see the marketplace; open the path in the window instead, as in location.href = "/login"';

/** Why an auth_key is not exchanged. */
const USED = new Error('this auth_key was already used');
const NO_ATTEMPT = new Error('other callbacks have taken all login attempts');

/**
 * One request to the strategy. The life of an attempt: `#start` begins it; `#callback` claims it when the auth_key is sent,
 * and it stays stored until the login has ended; then `#complete` logs in, or the login waits until `#answer` gets the
 * visitor's "Continue". `#once` is around `#callback` and `#answer`: what a browser sends twice ends as it did first.
 */
export class Login {
  readonly #setup: StrategySetup;
  readonly #req: Request;
  readonly #res: Response;
  readonly #options: MarketplaceAuthenticateOptions;
  readonly #actions: LoginActions;
  /** Who is logged in when the request comes. */
  readonly #who: string | undefined;
  /** What is stored about the browser; {@link #save} also writes it there. */
  #state: LoginState = { attempts: [] };
  /** The same as it was read last, with what has expired. */
  #stored: unknown;
  /** What this request runs, for others of this browser that come meanwhile. */
  #running: { readonly login: RunningLogin; readonly isSent: Promise<boolean> } | undefined;
  /** The attempt that this request uses. */
  #attempt: LoginAttempt | undefined;
  /** The login that waited for the answer of this request. */
  #answered: PendingLogin | undefined;
  /** Where a login leads, also where there was no room to store it. */
  #to: string | undefined;
  /** The attempt of a login whose response the browser has dropped. */
  #inherited: LoginAttempt | undefined;
  /** The `user_id` of the account that has logged in. */
  #account: string | undefined;
  /** How a login has ended that passport could not keep in the session. */
  #notKept: Outcome | undefined;

  /** @throws Error for a request without a response. */
  constructor(
    setup: StrategySetup,
    req: Request,
    options: MarketplaceAuthenticateOptions,
    actions: LoginActions,
  ) {
    this.#setup = setup;
    this.#req = req;
    this.#res = requiredResponse(req);
    this.#options = options;
    this.#actions = actions;
    this.#who = isLoggedIn(req) ? shortHash(identityOf(req.user)) : undefined;
  }

  /** Handles the request, and calls one of passport's functions. */
  async run(): Promise<void> {
    const outcome = await this.#handle().catch((error: unknown) => this.#failed(error));
    try {
      this.#perform(outcome);
    } catch (thrown) {
      // By the app's callback.
      handleThrown(this.#req, this.#res, thrown);
    }
    const { login, isSent } = this.#running ?? {};
    const isDelivered = (await isSent) === true;
    login?.end({
      ...{ outcome: this.#notKept ?? outcome, isDelivered, state: this.#state },
      ...{ attempt: this.#attempt, account: this.#account, to: this.#to },
    });
  }

  /** Calls one of passport's functions. */
  #perform(outcome: Outcome): void {
    const actions = this.#actions;
    const [type, what, info] = outcome;
    if (type === 'fail' || type === 'error') {
      refuseWith(this.#res, what);
      report(type, what);
    } else if (type !== 'success') report(type);
    if (type === 'redirect') actions.redirect(asciiPath(what));
    else if (type === 'pass') actions.pass();
    else if (type === 'error') actions.error(what);
    else if (type === 'fail') failTellingWhy(actions, this.#options, what);
    else if (type === 'success') {
      watchLogIn(this.#req, () => actions.success(what, info), {
        onEnd: (error) => {
          report(error ? 'error' : 'success', error);
          if (error) this.#notKept = ['error', asError(error)];
        },
        keep: (user) => this.#saveInNewSession(user),
      });
    }
  }

  /** How a request ends that has failed. A {@link Failure} becomes passport's `fail`, any other error `error`. */
  async #failed(error: unknown): Promise<Outcome> {
    const ends = this.#attempt ?? this.#answered;
    if (ends !== undefined) {
      const { id, to } = ends;
      const attempts = this.#attemptsWithout(id);
      const pending = this.#answered ? undefined : this.#state.pending;
      const n = this.#options.failureRedirect ? this.#rounds() + 1 : 0;
      const last = { id, to, at: this.#setup.clock(), n };
      // The first error is the one to tell.
      await this.#save({ attempts, pending, last }).catch(() => {});
    }
    return error instanceof Failure ? ['fail', error] : ['error', asError(error)];
  }

  /** Reads the request, and ends in {@link #start}, {@link #callback}, {@link #showPage} or {@link #answer}. */
  async #handle(): Promise<Outcome> {
    const req = this.#req;
    // The strategy runs again, as with a guard of a controller and one of a route.
    if (isFreshLogin(req)) return ['pass'];
    note(req, { isFresh: false });
    noStore(this.#res);
    // Test helpers give no method, and some no headers.
    const { method = 'GET' } = req;
    req.headers ??= {};
    // A form can begin a login by POST. Its body is never read.
    if (isPrefetch(req) || !['GET', 'POST'].includes(method)) {
      throw withoutEffect('a prefetch, HEAD or OPTIONS of a login', FOLLOW_LINK);
    }
    this.#readState();
    this.#checkSession();
    const query = queryOf(req);
    const authKeys = authKeysIn(query);
    const confirmed = readConfirmation(query);
    const isCallback = authKeys.length > 0 || hasBrokenUrl(query, this.#state);
    if (!isCallback && confirmed === undefined) {
      if (isScripted(req)) {
        throw withoutEffect('the start of a login by a script or an image', NAVIGATE);
      }
      return this.#start();
    }
    if (isSubresource(req) || (isCallback && method !== 'GET')) {
      const what = 'a callback that is no navigation (an image, a script, a fetch, a POST)';
      throw withoutEffect(what, FOLLOW_LINK);
    }
    if (authKeys.length > 0) {
      const authKey = readAuthKey(authKeys);
      return this.#once(`auth_key ${authKey}`, () => this.#callback(authKey));
    }
    if (confirmed !== undefined) {
      if (confirmed.answer === undefined) return this.#showPage(confirmed.id);
      return this.#once(`${confirmed.answer} ${confirmed.id}`, () => this.#answer(confirmed));
    }
    throw new Failure(
      'auth_key_rejected',
      'the callback cannot be used: the redirect URL registered with the app has a query of its own, which the service breaks; register one without',
      { detail: 'Logging in does not work on this site at the moment. Please tell the site.' },
    );
  }

  #readState(): void {
    const { storage, clock } = this.#setup;
    this.#stored = storage.read(this.#req);
    this.#state = readState(this.#stored, clock(), this.#who);
  }

  /** Replaces a part of what is stored about the browser. */
  async #save(change: Partial<LoginState>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    this.#state = await this.#setup.storage.write(this.#req, this.#state);
  }

  /** The attempts that stay when this one ends, with those of other tabs that have begun since. */
  #attemptsWithout(id: string): readonly LoginAttempt[] {
    const begun = this.#running?.login.begunMeanwhile ?? [];
    const byId = new Map([...this.#state.attempts, ...begun].map((it) => [it.id, it]));
    byId.delete(id);
    return [...byId.values()];
  }

  /** `passport.authorize` logs nobody in. Without any session, the app can have a callback of its own that keeps the login. */
  #checkSession(): void {
    const { session: isWanted, assignProperty } = this.#options;
    const session = sessionOf(this.#req);
    const isKept = '_sessionManager' in this.#req && isWanted !== false && !assignProperty;
    if (isKept && session !== undefined) checkKeepsLogin(this.#req, session);
  }

  // The start

  /** Begins a login attempt and sends the browser to the service. */
  async #start(): Promise<Outcome> {
    const setup = this.#setup;
    const req = this.#req;
    const state = this.#state;
    const at = setup.clock();
    const foreign = isStartedElsewhere(req) || undefined;
    this.#checkRounds(at);
    const to = this.#wanted();
    const attempt: LoginAttempt = { id: randomId(), at, to, foreign, who: this.#who };
    const running = setup.running.of(this.#browser());
    if (running) {
      running.begunMeanwhile = [...running.begunMeanwhile, attempt].slice(-MAX_ATTEMPTS);
    }
    const attempts = [...state.attempts, attempt].slice(-MAX_ATTEMPTS);
    // Where a login that waits in another tab leaves no room, its page goes first, and then that login.
    const { pending } = state;
    for (const waiting of [pending, pending && { ...pending, to: undefined }, undefined]) {
      await this.#save({ ...state, attempts, pending: waiting });
      if (this.#state.attempts.at(-1)?.id === attempt.id) break;
    }
    // A page in the session stays there beside attempts in a cookie: where the browser sends the start twice, the second
    // request can find the page gone from the session, and its cookie replaces that of the first.
    const isBeside = !setup.storage.isInSession && sessionOf(req) !== undefined;
    if (this.#state.attempts.at(-1)?.to !== undefined && !isBeside) removeReturnTo(req);
    const host = hostOf(req);
    if (host !== undefined) setup.hosts.set(host, true);
    const url = setup.loginApi.loginUrl();
    const query = setup.state ? `&${new URLSearchParams({ state: echoOf(attempt) })}` : '';
    return ['redirect', url + query];
  }

  /** Where the login leads: where this start says, or the page that required it, also after a login that has failed. */
  #wanted(): string | undefined {
    const { attempts, last } = this.#state;
    const earlier =
      attempts.findLast(({ to }) => to !== undefined)?.to ?? (last?.ok ? undefined : last?.to);
    const wanted = safeReturnTo(this.#options.returnTo) ?? readReturnTo(this.#req) ?? earlier;
    // A login that leads to itself would begin a second one, which then counts as begun here.
    const isItself = wanted !== undefined && withoutQuery(wanted) === pathnameOf(this.#req);
    return isItself ? undefined : wanted;
  }

  /** How many logins have ended in a row, right before now. */
  #rounds(): number {
    const { last } = this.#state;
    return last && this.#setup.clock() - last.at < ROUND ? last.n : 0;
  }

  /** Ends a redirect that would not end, where the service remembers the visitor's consent. @throws an error with the reason. */
  #checkRounds(now: number): void {
    if (this.#who !== undefined) return;
    const { attempts, last } = this.#state;
    if (this.#rounds() >= MAX_ROUNDS) {
      if (last?.ok) throw tooManyRounds('completed');
      // Not for one who presses "Log in" again and again.
      if (readReturnTo(this.#req) !== undefined) throw tooManyRounds('failed');
    }
    const isSentBack = isSentByAnotherSite(this.#req);
    const recent = attempts.filter(({ at }) => now - at < ROUND);
    const isAllSentBack = recent.slice(1).every(({ foreign }) => foreign);
    if (isSentBack && isAllSentBack && recent.length >= MAX_ROUNDS) throw tooManyRounds('begun');
  }

  // The callback

  /** Exchanges the auth_key for a token, once, and completes the login or asks the visitor first. */
  async #callback(authKey: string): Promise<Outcome> {
    const { claims, clock, askWhen } = this.#setup;
    const state = this.#state;
    if (state.pending?.key === shortHash(authKey)) {
      // It comes again, and the login waits for an answer.
      const { id, who } = state.pending;
      if (who === this.#who) return this.#lookAgain(confirmationQuery(id));
    }
    const isStarted = this.#inherited !== undefined || state.attempts.length > 0;
    const isUsed = claims.has(authKey);
    if (!isStarted && this.#cameWithoutSession()) {
      // Without an answer of the token store it counts as the first, which is refused and marks the browser.
      const isFirst = await claims.claim(authKey).catch(() => true);
      const elsewhere = isFirst ? undefined : await this.#endElsewhere({ page: randomId() });
      if (elsewhere !== undefined) return elsewhere;
    }
    if (isUsed) return this.#endUsed(isStarted);
    if (!isStarted) {
      const mark = markFor(state, authKey, clock());
      if (mark !== state.mark) await this.#save({ mark });
    }
    if (this.#attempts().length === 0 || isEarly(state, authKey)) return this.#endWithoutLogin();

    let token: AccessToken;
    try {
      token = await this.#exchange(authKey);
    } catch (error) {
      return this.#endRefused(error, authKey);
    }
    const attempt = this.#attempt as LoginAttempt;
    const profile = await this.#profileOf(token);
    const who = this.#who;
    const known = who && shortHash(profile.id, who);
    // An inherited attempt is no longer in the state.
    const begun = { ...state, attempts: [...state.attempts, attempt] };
    if (!mustAsk(askWhen, this.#req, begun, known)) {
      return this.#complete(token, profile, attempt);
    }
    const [id, key] = [pageOf(attempt, authKey), shortHash(authKey)];
    const pending = pendingLogin(token, profile, { id, at: clock(), key, who, to: attempt.to });
    await this.#save({ pending, attempts: this.#attemptsWithout(attempt.id) });
    return ['redirect', confirmationQuery(pending.id)];
  }

  /** The attempts of this browser that the callback can use: where the deployment echoes `state`, only that one. */
  #attempts(): readonly LoginAttempt[] {
    const attempts = this.#inherited ? [this.#inherited] : this.#state.attempts;
    if (!this.#setup.state) return attempts;
    const echoed = String(queryOf(this.#req).state);
    return attempts.filter((attempt) => echoOf(attempt) === echoed);
  }

  /** Trades the auth_key and an attempt for a token. @throws USED and NO_ATTEMPT, or what the service says. */
  async #exchange(authKey: string): Promise<AccessToken> {
    const { claims, clientOf, loginApi } = this.#setup;
    // Both only once the guess limit allows it: over it, nothing is used up, and nothing is stored.
    const take = async (): Promise<void> => {
      // The key is claimed before the attempt is taken: a key that was used in another process ends no tab's login.
      if (!(await claims.claim(authKey))) throw USED;
      this.#attempt = await this.#takeAttempt();
      if (this.#attempt === undefined) throw NO_ATTEMPT;
    };
    const visitor = clientOf(this.#req);
    // Another site's page can begin logins and open callbacks. The visitor's address must not pay for them.
    const isForeign = this.#attempts().every(({ foreign }) => foreign);
    const client = isForeign && visitor ? `elsewhere ${clientKey(String(visitor))}` : visitor;
    const token = await loginApi.exchange(authKey, { client, beforeSend: take });
    // An app can have given an object of its own, which takes no such option.
    if (this.#attempt === undefined) await take();
    return token;
  }

  /** Ends a callback whose auth_key or attempt another request has used, or whose auth_key the service refuses. */
  async #endRefused(error: unknown, authKey: string): Promise<Outcome> {
    const isUsed = error === USED || error === NO_ATTEMPT;
    // Without a token store that claims, only the service knows that another process has exchanged the key.
    const isRejected = isMarketgateError(error) && error.code === 'auth_key_rejected';
    const canRunElsewhere = this.#attempt !== undefined && this.#inherited === undefined;
    if (isUsed || (isRejected && canRunElsewhere)) {
      // A callback without any has ended before.
      const attempt = (this.#attempt ?? this.#attempts().at(-1)) as LoginAttempt;
      const [page, key] = [pageOf(attempt, authKey), shortHash(authKey)];
      const elsewhere = await this.#endElsewhere({
        attempt: attempt.id,
        page,
        key,
        isCertain: isUsed,
      });
      if (elsewhere !== undefined) return elsewhere;
    }
    if (error === USED) return this.#endUsed(true);
    if (error === NO_ATTEMPT) return this.#endWithoutLogin();
    return throwAsFailure(error);
  }

  /** Takes an attempt, for a single use: the newest, because visitors mostly finish the login they began last. */
  async #takeAttempt(): Promise<LoginAttempt | undefined> {
    if (this.#inherited !== undefined) return this.#inherited;
    // Concurrent callbacks can find the same attempt, and a browser can send an old cookie again. Only the first
    // claim succeeds; the others try the next attempt.
    for (const attempt of [...this.#attempts()].reverse()) {
      if (await this.#setup.claims.claim(attempt.id)) return attempt;
    }
    return undefined;
  }

  #profileOf(token: AccessToken): Promise<MarketplaceProfile> {
    return new Promise<MarketplaceProfile>((resolve, reject) => {
      const returned: unknown = this.#actions.userProfile(token.value, (error, profile) => {
        if (error) reject(error);
        else if (profile?.id) resolve(profile);
        else reject(new TypeError('MarketplaceStrategy: userProfile gave no profile with an id'));
      });
      // An override can be an async function that fails before it calls its callback.
      if (returned instanceof Promise) returned.catch(reject);
    }).catch(throwAsFailure);
  }

  // "Continue as NAME?"

  /** Sends the page that asks. Without a login that waits for it, it is the second time that the browser comes. */
  async #showPage(id: string): Promise<Outcome> {
    const pending = this.#pending(id);
    if (pending === undefined) return this.#endWithoutLogin(id);
    const isLoggedInAs = this.#options.assignProperty ? 'connect' : 'switch';
    const change = this.#who ? isLoggedInAs : 'login';
    await sendPage(this.#req, this.#res, pending, change, this.#setup.renderConfirmation);
    return ['ask'];
  }

  /** The login that waits for the answer. @throws Failure where somebody else is logged in by now. */
  #pending(id: string): PendingLogin | undefined {
    const { pending } = this.#state;
    // An old cookie can still have one that has been answered.
    if (pending?.id !== id || this.#setup.claims.has(answerTo(id))) return undefined;
    if (pending.who === this.#who) return pending;
    const message = 'somebody else has logged in, or out, since this login began';
    throw new Failure('login_failed', `${message}; log in again`, {
      status: 403,
      detail: 'You have logged in or out since this login began. Please begin again.',
    });
  }

  /** Acts on the visitor's answer. */
  async #answer({ id, answer }: Confirmed): Promise<Outcome> {
    const { claims } = this.#setup;
    const pending = this.#pending(id);
    if (pending === undefined) {
      const elsewhere = this.#cameWithoutSession() && (await this.#endElsewhere({ page: id }));
      return elsewhere || this.#endWithoutLogin(id);
    }
    if (isSentByAnotherSite(this.#req)) {
      const message = 'an answer to "Continue as NAME?" that another site has sent does not count';
      throw new Failure('login_failed', message, { status: 403 });
    }
    if (answer === 'continue') {
      // Claimed after the call, so that a retry after an outage finds it.
      const profile = await this.#profileOf(pending.token);
      if (shortHash(profile.id) !== pending.account) {
        const message =
          'the service says that the access_token belongs to another account than the one that the page has named';
        throw new Failure('login_failed', `${message}; log in again`);
      }
      const isFirst = await claims.claim(answerTo(id));
      if (!isFirst) return (await this.#endElsewhere({ page: id })) ?? this.#endWithoutLogin(id);
      this.#answered = pending;
      return this.#complete(pending.token, profile, pending);
    }
    this.#answered = pending;
    await claims.claim(answerTo(id));
    const detail = 'You chose not to continue, so nobody was logged in.';
    throw new Failure('login_failed', detail, { detail });
  }

  // The end

  /** Stores the token, runs verify and logs the user in. @param login - the attempt, or what waited for "Continue". */
  async #complete(
    token: AccessToken,
    profile: MarketplaceProfile,
    { id, to }: { readonly id: string; readonly to?: string | undefined },
  ): Promise<Outcome> {
    const { tokenStore, tokenName, verify, claims, clock } = this.#setup;
    const req = this.#req;
    await tokenStore?.set(tokenName(profile.id), token);
    const { user, info } = await verify({ profile, token, req });
    if (!user) throw notAccepted(info);
    // A stranger's callback link could otherwise use another tab's attempt to switch the account. Claimed as well, for
    // an old cookie that still has them.
    const { pending } = this.#state;
    const others = this.#attemptsWithout(id).map((it) => it.id);
    const open = [...others, ...(pending ? [answerTo(pending.id)] : [])];
    await Promise.all(open.map((it) => claims.claim(it).catch(() => false)));
    this.#account = profile.id;
    // `passport.authorize` leaves the user who is logged in.
    const whoThen = this.#options.assignProperty ? this.#who : shortHash(identityOf(user));
    this.#to = to ?? readReturnTo(req) ?? safeReturnTo(this.#options.returnTo);
    removeReturnTo(req);
    await this.#saveLoggedIn(whoThen, {
      attempts: [],
      last: { id, at: clock(), ok: true, to: this.#to, n: this.#rounds() + 1 },
    });
    return this.#succeed(['success', user, info ?? {}]);
  }

  /** Saves that somebody has logged in. */
  #saveLoggedIn(who: string | undefined, { attempts, last }: LoginState): Promise<void> {
    const known = who && shortHash(this.#account, who);
    return this.#save({ attempts, mark: undefined, pending: undefined, last, known });
  }

  #succeed(outcome: Outcome): Outcome {
    note(this.#req, { isFresh: true, returnTo: this.#to });
    return outcome;
  }

  /** Saves once more who has logged in: passport has begun a new session. It reads where to go from there. */
  async #saveInNewSession(user: unknown): Promise<void> {
    const session = sessionOf(this.#req);
    if (this.#options.successReturnToOrRedirect && session && this.#to) session.returnTo = this.#to;
    await this.#saveLoggedIn(shortHash(identityOf(user)), this.#state);
  }

  /**
   * Ends a callback that exchanges nothing. A logged-in user is redirected to `successRedirect`, or passed on to the next
   * handler. For anybody else it throws a {@link Failure} with status 403.
   *
   * @param id of a login that has ended, or any other, where the browser has sent it twice.
   */
  #endWithoutLogin(id?: string): Outcome {
    const { last } = this.#state;
    if (!isLoggedIn(this.#req)) {
      // A login that the app keeps elsewhere, or not at all, as with `passport.authorize`.
      if (id !== undefined && last?.ok && last.to !== undefined) return ['redirect', last.to];
      const { storage, clock, hosts } = this.#setup;
      const why = storage.whyMissing(this.#req) ?? whyNoAttempt(this.#stored, clock(), this.#who);
      throw notStarted(this.#req, hosts, why);
    }
    const to = id === undefined ? undefined : last?.to;
    note(this.#req, { returnTo: to ?? safeReturnTo(this.#options.returnTo) });
    const { successReturnToOrRedirect, successRedirect } = this.#options;
    const url = successReturnToOrRedirect ? (to ?? successReturnToOrRedirect) : successRedirect;
    return url === undefined ? ['pass'] : ['redirect', url];
  }

  /** Ends a callback with a used auth_key. Only a browser that has begun a login learns that it was used. */
  #endUsed(isStarted: boolean): Outcome {
    if (isLoggedIn(this.#req) || !isStarted) return this.#endWithoutLogin();
    throw new Failure('auth_key_rejected', 'this auth_key was already used; log in again');
  }

  // Twice is once: see twice.ts

  #browser(): readonly string[] {
    return browserOf(this.#req, this.#setup.storage.sentBy(this.#req));
  }

  /**
   * Runs a login, once for each browser at a time. Another request of this browser waits for the first one's response.
   *
   * @param subject - what only this browser has: its auth_key, or the "Continue" that was pressed.
   */
  async #once(subject: string, run: () => Promise<Outcome>): Promise<Outcome> {
    const { running } = this.#setup;
    const browser = this.#browser();
    if (browser.length === 0) return run();
    let next = run;
    // Each round waits for the newest, until nobody has begun since.
    let seen: RunningLogin | undefined;
    for (;;) {
      const first = running.of(browser);
      if (first === undefined || first === seen) break;
      // It would wait for itself where the strategy runs again on a callback that was passed on.
      if (first.req === this.#req) return run();
      seen = first;
      const after = await this.#endAsSecond(await first.ended, first.subject === subject, run);
      if (typeof after !== 'function') return after;
      next = after;
    }
    this.#running = { login: running.begin(browser, subject, this.#req), isSent: sent(this.#res) };
    return next();
  }

  /** Ends as the second of two requests, or gives what is left to do. */
  async #endAsSecond(
    first: LoginEnd,
    isEqual: boolean,
    run: () => Promise<Outcome>,
  ): Promise<Outcome | (() => Promise<Outcome>)> {
    const { storage, claims } = this.#setup;
    // Of the round before: another has run with it since.
    this.#inherited = undefined;
    // What the first has saved must not be undone. Where it cannot be read, the state is from before, and only the claims tell
    // what was used since.
    const session = await storage.refresh(this.#req);
    if (session === 'read') this.#readState();
    const isAnswer = authKeysIn(queryOf(this.#req)).length === 0;
    const { attempts, pending } = this.#state;
    const hasOwn = isAnswer
      ? pending !== undefined && !claims.has(answerTo(pending.id))
      : attempts.some(({ id }) => !claims.has(id));
    switch (endOfSecond(first, isEqual, hasOwn, session)) {
      case 'run':
        return run;
      case 'inherit':
        this.#inherited = first.attempt;
        return run;
      case 'take over':
        return () => this.#takeOver(first);
      case 'same':
        return first.outcome;
      case 'look again': {
        const [type, url] = first.outcome;
        return this.#lookAgain(type === 'redirect' ? url : confirmationQuery(randomId()));
      }
    }
  }

  /** Sends the browser there with the cookies of the first response: this one sets none. */
  #lookAgain(url: string): Outcome {
    leaveSession(this.#req);
    return ['redirect', url];
  }

  /** Ends as a login whose response the browser has dropped. */
  async #takeOver({ outcome, state, attempt, account, to }: LoginEnd): Promise<Outcome> {
    this.#attempt = attempt;
    this.#account = account;
    this.#to = to;
    await this.#save(state);
    return outcome[0] === 'success' ? this.#succeed(outcome) : outcome;
  }

  /** Whether the session of its cookie was gone when the request came: another process can have replaced it by that of the login. */
  #cameWithoutSession(): boolean {
    const { storage } = this.#setup;
    return storage.isInSession && storage.whyMissing(this.#req) !== undefined;
  }

  /** Ends as a login of this browser in another process, if there is one. */
  async #endElsewhere(
    login: Pick<Elsewhere, 'page'> & Partial<Elsewhere>,
  ): Promise<Outcome | undefined> {
    const look = async (): Promise<[SessionRead, LoginState]> => {
      const session = await this.#setup.storage.refresh(this.#req);
      if (session === 'read') this.#readState();
      return [session, this.#state];
    };
    const page = await findElsewhere({ attempt: login.page, isCertain: true, ...login }, look);
    return page === undefined ? undefined : this.#lookAgain(confirmationQuery(page));
  }
}

/** What is claimed for the visitor's answer: the attempt itself is claimed at the exchange. */
const answerTo = (id: string): string => `answer ${id}`;

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
