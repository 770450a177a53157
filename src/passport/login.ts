import type { Request, Response } from 'express';
import type { StrategyCreatedStatic } from 'passport';
import { asError } from '../errors.js';
import type { AccessToken } from '../model/access-token.js';
import { type Site, siteOfProcess } from '../site.js';
import { checkKeepsLogin, leaveSession, sessionOf } from '../web/express-session.js';
import { note } from '../web/login-request.js';
import {
  isClick,
  isPageLoad,
  isSentByAnotherSite,
  pathnameOf,
  queryOf,
  withoutQuery,
} from '../web/request.js';
import { asciiPath, handleThrown, noStore, refuseWith, requiredResponse } from '../web/response.js';
import {
  keepReturnTo,
  readReturnTo,
  removeReturnTo,
  safeReturnTo,
  shownPath,
} from '../web/return-to.js';
import { identityOf, identityOfUser } from '../web/user.js';
import { afterLogIn } from './after-log-in.js';
import {
  AGAIN,
  type Asked,
  askedQuery,
  mustAsk,
  readAsked,
  sendPage,
  sendPageThatLooksAgain,
  waitingLogin,
} from './confirmation.js';
import {
  alreadyUsed,
  anotherAccount,
  answeredElsewhere,
  brokenRedirectUrl,
  endless,
  Failure,
  hostOf,
  notAccepted,
  notMe,
  notStarted,
  oneAuthKey,
  report,
  throwAsFailure,
  withoutEffect,
} from './login-failure.js';
import type { LoginEnd } from './login-memory.js';
import {
  type LastLogin,
  type LoginState,
  type OpenLogin,
  randomId,
  readState,
  shortHash,
  type WaitingAccount,
  whyNoLogin,
  withLogin,
  without,
} from './login-state.js';
import type { MarketplaceAuthenticateOptions, StrategySetup } from './strategy-options.js';
import type { MarketplaceProfile } from './verify.js';

/*
 * The life of a login:
 *
 * 1. `#start` stores an attempt with the browser, and sends the browser to the service.
 * 2. `#callback` takes the attempt and exchanges the auth_key, once. Then the login is completed (5), or it waits (3).
 * 3. `#page` asks "Continue as NAME?".
 * 4. `#answer` takes the login that waits, or ends it.
 * 5. `#complete` ends all logins of the browser, and hands the user to passport.
 *
 * What the browser keeps is read once, and handed from step to step: see login-state.ts. What this process remembers, so that
 * nothing is used twice and what comes twice ends as it did first, is in login-memory.ts. No request waits for another.
 */

/** What {@link Login} calls: passport's functions, and the strategy's hook. */
export interface LoginActions extends StrategyCreatedStatic {
  userProfile(
    accessToken: string,
    done: (error?: unknown, profile?: MarketplaceProfile) => void,
  ): void;
}

/** How a request ends: one of passport's functions with its arguments, or a page of this package. */
type Outcome =
  | [type: 'redirect', url: string]
  | [type: 'success', user: Express.User, info: object, state: LoginState]
  | [type: 'pass']
  | [type: 'ask' | 'wait'];

/** So many logins, each begun right after the one before was completed, are an endless redirect. */
const MAX_ROUNDS = 3;
/** How soon the next round of such a redirect begins, in milliseconds. */
const ROUND = 10_000;

/** What it means that a browser that looks again has its session. */
const ELSEWHERE =
  'this process has its session, and the one that the marketplace led back to has not: give all processes one session store';

/** One request to the strategy. */
export class Login {
  readonly #setup: StrategySetup;
  readonly #req: Request;
  readonly #res: Response;
  readonly #options: MarketplaceAuthenticateOptions;
  readonly #actions: LoginActions;
  /** Who is logged in when the request comes. */
  readonly #who: string | undefined;

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
    this.#who = hashOf(identityOf(req));
  }

  /** Handles the request, and calls one of passport's functions. */
  async run(): Promise<void> {
    try {
      const outcome = await this.#handle().catch((error: unknown) => this.#failed(error));
      if (outcome !== undefined) this.#perform(outcome);
    } catch (thrown) {
      // By the app's callback.
      handleThrown(this.#req, this.#res, thrown);
    }
  }

  #perform(outcome: Outcome): void {
    const [type] = outcome;
    if (type !== 'success') report(type === 'wait' ? 'redirect' : type);
    if (type === 'success') this.#succeed(outcome);
    else if (type === 'redirect') this.#actions.redirect(asciiPath(outcome[1]));
    else if (type === 'pass') this.#actions.pass();
  }

  /** Calls passport's `success`, and saves who is logged in once more when passport has begun a new session. */
  #succeed([, user, info, state]: Extract<Outcome, ['success', ...unknown[]]>): void {
    let isReported = false;
    const hasBegun = afterLogIn(this.#req, async (error) => {
      if (error || !isReported) report(error ? 'error' : 'success', error);
      if (error) return;
      // A second run in this request keeps its login through this one, too.
      isReported = true;
      const session = sessionOf(this.#req);
      const { to } = state.last ?? {};
      // Where passport reads it.
      if (this.#options.successReturnToOrRedirect && session && to) session.returnTo = to;
      // The login counts also where this cannot be saved.
      await this.#save({ ...state, who: hashOf(identityOf(this.#req)) }).catch(() => {});
    });
    this.#actions.success(user, info);
    // With `passport.authorize` or the app's callback, passport can keep no login, or only later.
    isReported = !hasBegun();
    if (isReported) report('success');
  }

  /** A {@link Failure} becomes passport's `fail`, which says only "Unauthorized"; with `failWithError` it is given itself. */
  #failed(error: unknown): undefined {
    refuseWith(this.#res, error);
    const { failWithError, failureRedirect } = this.#options;
    const isFailure = error instanceof Failure;
    if (isFailure && error.isOfAccount) {
      // Where the visitor can log out of the account.
      const marketplace = new URL('/', this.#setup.loginApi.loginUrl()).href;
      note(this.#req, { marketplace });
    }
    report(isFailure ? 'fail' : 'error', error);
    if (isFailure && (failureRedirect || !failWithError)) {
      this.#actions.fail(error.challenge, error.status);
    } else this.#actions.error(asError(error));
  }

  #site(): Site | undefined {
    return this.#setup.site ?? siteOfProcess();
  }

  /** Reads the request, and ends in one of the steps. */
  async #handle(): Promise<Outcome> {
    const req = this.#req;
    note(req, { isFresh: false });
    noStore(this.#res);
    // Test helpers give no method, and some no headers.
    const { method = 'GET' } = req;
    req.headers ??= {};
    const query = queryOf(req);
    const authKeys = authKeysIn(query);
    const asked = readAsked(query);
    const isStart = authKeys.length === 0 && asked === undefined;
    // A form can begin a login by POST. Its body is never read.
    if (!isPageLoad(req) || !(method === 'GET' || (isStart && method === 'POST'))) {
      throw withoutEffect(isStart ? 'the start of a login' : 'a callback');
    }
    this.#checkSession();
    const state = readState(this.#setup.storage.read(req), this.#setup.clock(), this.#who);
    if (authKeys.length > 0) return this.#callback(state, oneAuthKey(authKeys));
    if (asked === undefined) return this.#start(state, query);
    return asked.answer === undefined ? this.#page(state, asked) : this.#answer(state, asked);
  }

  /** `passport.authorize` logs nobody in. Without any session, the app can have a callback of its own that keeps the login. */
  #checkSession(): void {
    const { session: isWanted, assignProperty } = this.#options;
    const session = sessionOf(this.#req);
    const isKept = '_sessionManager' in this.#req && isWanted !== false && !assignProperty;
    if (isKept && session !== undefined) checkKeepsLogin(this.#req, session);
  }

  #save(state: LoginState): Promise<void> {
    return this.#setup.storage.write(this.#req, state);
  }

  // 1. The start

  async #start(state: LoginState, query: Record<string, unknown>): Promise<Outcome> {
    const req = this.#req;
    const { clock, memory, loginApi } = this.#setup;
    if (state.logins.length > 0 && hasBrokenUrl(query)) throw brokenRedirectUrl();
    const wanted = safeReturnTo(this.#options.returnTo);
    // A login that leads to its own start would begin a second one.
    const isItself = wanted !== undefined && withoutQuery(wanted) === pathnameOf(req);
    const last = this.#nextRound(state.last, (isItself ? undefined : wanted) ?? readReturnTo(req));
    if (wanted !== undefined && !isItself) await keepReturnTo(req, this.#res, wanted);
    const foreign = isSentByAnotherSite(req) || undefined;
    const attempt: OpenLogin = { id: randomId(), at: clock(), foreign };
    await this.#save({ ...state, last, logins: withLogin(state.logins, attempt) });
    memory.hosts.set(hostOf(req), true);
    const echoed = this.#setup.state ? `&state=${attempt.id}` : '';
    return ['redirect', loginApi.loginUrl() + echoed];
  }

  /**
   * Counts the logins that begin right after the one before, for the same page or none.
   * @throws an error with the usual causes, where the service remembers the visitor's consent and the redirects would not end.
   */
  #nextRound(last: LastLogin | undefined, to: string | undefined): LastLogin | undefined {
    if (last === undefined) return undefined;
    const isSoon = this.#setup.clock() - last.at < ROUND && !isClick(this.#req);
    const isNext = isSoon && (to === undefined || shownPath(to) === last.to);
    const n = isNext ? last.n + 1 : 0;
    if (n >= MAX_ROUNDS) throw endless();
    return { ...last, n };
  }

  // 2. The callback

  /** Exchanges the auth_key, or finds the end of the login that has. */
  async #callback(state: LoginState, authKey: string): Promise<Outcome> {
    const { memory } = this.#setup;
    // Nothing is awaited from here until the end is remembered.
    let end = memory.endOf(this.#req, authKey);
    if (end === undefined) {
      const waiting = state.logins.find((it) => it.waiting?.key === shortHash(authKey));
      if (waiting !== undefined) return ['redirect', askedQuery(waiting.id)];
      const attempt = this.#attemptOf(state);
      if (attempt === undefined) return this.#withoutAttempt(state, authKey);
      if (memory.isUsed(authKey)) return this.#passOn(alreadyUsed());
      if (state.mark?.key === shortHash(authKey)) return this.#passOn(this.#notStarted(state));
      const redeem = () => this.#redeem(state, attempt, authKey);
      const login = this.#useUp(state, attempt, [attempt.id, authKey], redeem);
      end = memory.remember(this.#req, authKey, login);
    }
    return this.#complete(state, await end);
  }

  /** The newest attempt: visitors mostly finish the login they began last. Where the service echoes `state`, that one. */
  #attemptOf({ logins }: LoginState): OpenLogin | undefined {
    const { state: isEchoed, memory } = this.#setup;
    const { state } = queryOf(this.#req);
    return logins.findLast(
      ({ id, waiting }) => !waiting && !memory.isUsed(id) && (!isEchoed || id === state),
    );
  }

  /** Trades the auth_key for a token. Then verify runs, or the login waits for the visitor's answer. */
  async #redeem(state: LoginState, attempt: OpenLogin, authKey: string): Promise<LoginEnd> {
    const { loginApi, client, confirm, clock } = this.#setup;
    const exchanging = loginApi.exchange(authKey, { client: client(this.#req) });
    const token = await exchanging.catch(throwAsFailure);
    const profile = await this.#profileOf(token);
    if (!mustAsk(confirm.ask, state, shortHash(profile.id))) return this.#verify(token, profile);
    return { attempt, asks: waitingLogin(attempt, authKey, token, profile, clock()) };
  }

  /** Uses a login up, which a failure removes. What an outage ends can be tried again by a reload. */
  async #useUp<T>(
    state: LoginState,
    login: OpenLogin,
    secrets: readonly string[],
    work: () => Promise<T>,
  ): Promise<T> {
    const { memory } = this.#setup;
    memory.use(...secrets);
    try {
      return await work();
    } catch (error) {
      // The first error is the one to tell.
      if (error instanceof Failure) await this.#save(without(state, login)).catch(() => {});
      else memory.giveBack(...secrets);
      throw error;
    }
  }

  /** Exchanges nothing, and marks the browser: a stranger can have sent it here. No login of it takes this auth_key later. */
  async #withoutAttempt(state: LoginState, authKey: string): Promise<Outcome> {
    const { memory, storage, state: isEchoed } = this.#setup;
    if (storage.isGone(this.#req)) return this.#lookAgain();
    const failure = this.#notStarted(state);
    // Where the service echoes `state`, a stranger's callback fits no attempt.
    if (!memory.isUsed(authKey) && !isEchoed) await this.#mark(state, authKey);
    return this.#passOn(failure);
  }

  #mark(state: LoginState, secret: string): Promise<void> {
    return this.#save({ ...state, mark: { at: this.#setup.clock(), key: shortHash(secret) } });
  }

  /** Another process can have replaced the session, and the browser gets that response, too: this one sets no cookie. */
  #lookAgain(): Outcome {
    leaveSession(this.#req);
    sendPageThatLooksAgain(this.#res, this.#site());
    return ['wait'];
  }

  /**
   * Lets a logged-in user go on, to `successRedirect` or the next handler. @throws the failure for anybody else.
   * @param to where the login led that has ended before.
   */
  #passOn(failure: Failure, to?: string): Outcome {
    if (this.#who === undefined) throw failure;
    const { returnTo, successReturnToOrRedirect, successRedirect } = this.#options;
    note(this.#req, { returnTo: to ?? safeReturnTo(returnTo) });
    const url = (successReturnToOrRedirect && to) || successReturnToOrRedirect || successRedirect;
    return url ? ['redirect', url] : ['pass'];
  }

  /** @param isAgain - whether the browser has looked again. */
  #notStarted(state: LoginState, isAgain = false): Failure {
    const { storage, memory } = this.#setup;
    const why = storage.whyMissing(this.#req, hostOf(this.#req));
    const isElsewhere = isAgain && this.#attemptOf(state) !== undefined;
    const whyNot = isElsewhere ? ELSEWHERE : whyNoLogin(storage.read(this.#req), state);
    return notStarted(this.#req, memory.hosts.keys(), [why, whyNot]);
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

  // 3. "Continue as NAME?"

  async #page(state: LoginState, { id }: Asked): Promise<Outcome> {
    const login = this.#waitingOf(state, id);
    if (login === undefined) return this.#withoutWaiting(state, id);
    const change = this.#options.assignProperty ? 'connect' : 'switch';
    const { render } = this.#setup.confirm;
    await sendPage(this.#req, this.#res, login, this.#who ? change : 'login', render, this.#site());
    return ['ask'];
  }

  #waitingOf({ logins }: LoginState, id: string): OpenLogin | undefined {
    return logins.find((it) => it.id === id && it.waiting && !this.#setup.memory.isUsed(id));
  }

  /** The login has ended, or the browser looks again: it is logged in now, or it is refused. */
  async #withoutWaiting(state: LoginState, id: string): Promise<Outcome> {
    if (id !== AGAIN && this.#setup.storage.isGone(this.#req)) return this.#lookAgain();
    const failure = this.#notStarted(state, id === AGAIN);
    if (id === AGAIN && this.#who === undefined) await this.#mark(state, id);
    return this.#passOn(failure, state.last?.to);
  }

  // 4. The answer

  /** Acts on the visitor's answer, or finds the end of the login that has. */
  async #answer(state: LoginState, { id, answer }: Asked): Promise<Outcome> {
    const { memory } = this.#setup;
    if (isSentByAnotherSite(this.#req)) throw answeredElsewhere();
    const secret = `${answer} ${id}`;
    let end = memory.endOf(this.#req, secret);
    if (end === undefined) {
      const login = this.#waitingOf(state, id);
      if (login === undefined) return this.#withoutWaiting(state, id);
      const act = () => (answer === 'continue' ? this.#continue(login) : Promise.reject(notMe()));
      end = memory.remember(this.#req, secret, this.#useUp(state, login, [id], act));
    }
    return this.#complete(state, await end);
  }

  /** The page has named the account, so no other one is logged in. */
  async #continue({ waiting }: OpenLogin): Promise<LoginEnd> {
    const { token, account } = waiting as WaitingAccount;
    const profile = await this.#profileOf(token);
    if (shortHash(profile.id) !== account) throw anotherAccount();
    return this.#verify(token, profile);
  }

  // 5. The end

  /** Stores the token, and asks the app whose it is. */
  async #verify(token: AccessToken, profile: MarketplaceProfile): Promise<LoginEnd> {
    const { tokenStore, tokenName, verify } = this.#setup;
    const req = this.#req;
    await tokenStore?.set(tokenName(profile.id), token);
    const { user, info } = await verify({ profile, token, req });
    if (!user) throw notAccepted(info);
    const to = readReturnTo(req) ?? safeReturnTo(this.#options.returnTo);
    return { user, info: info ?? {}, account: shortHash(profile.id), to };
  }

  /** Sends the browser to the page that asks, or logs the user in: each request by itself, where it comes twice. */
  async #complete(state: LoginState, end: LoginEnd): Promise<Outcome> {
    const { memory, clock } = this.#setup;
    if (end.asks) {
      const { logins } = without(state, end.attempt);
      await this.#save({ ...state, logins: withLogin(logins, end.asks) });
      return ['redirect', askedQuery(end.asks.id)];
    }
    const { user, info, account, to } = end;
    // A login ends all others: a stranger's link could otherwise use an attempt of another tab to switch the account.
    memory.use(...state.logins.map(({ id }) => id));
    removeReturnTo(this.#req, this.#res);
    // `passport.authorize` leaves the user who is logged in.
    const who = this.#options.assignProperty ? this.#who : hashOf(identityOfUser(user));
    const last = { at: clock(), to: to && shownPath(to), n: state.last?.n ?? 0 };
    const completed = { who, account, logins: [], last };
    await this.#save(completed);
    note(this.#req, { isFresh: true, returnTo: to });
    return ['success', user, info, completed];
  }
}

const hashOf = (identity: string | undefined): string | undefined =>
  identity === undefined ? undefined : shortHash(identity);

/** Whether the redirect URL has a query: the service appends "?auth_key=…" even then. */
const hasBrokenUrl = (query: Record<string, unknown>): boolean =>
  Object.values(query)
    .flat()
    .some((value) => typeof value === 'string' && value.includes('?auth_key='));

/** The values of `auth_key`. Express 5 parses `auth_key[]=…` as a parameter of the name `auth_key[]`. */
const authKeysIn = (query: Record<string, unknown>): unknown[] =>
  Object.entries(query).flatMap(([name, value]) => {
    if (name === 'auth_key') return [value];
    return name.startsWith('auth_key[') ? [[value]] : [];
  });
