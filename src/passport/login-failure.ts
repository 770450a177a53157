import type { Request } from 'express';
import { type LoginMessage, loginChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError, type MarketgateErrorCode } from '../errors.js';

interface FailureOptions {
  readonly status?: number;
  readonly info?: object;
  readonly detail?: string;
  readonly isOfAccount?: boolean;
}

/** The visitor could not be authenticated. */
export class Failure extends MarketgateError {
  readonly #info: object | undefined;
  readonly #isOfAccount: boolean;

  /** @param message for the operator. Visitors read `detail`, by default the code's usual text. */
  constructor(code: MarketgateErrorCode, message: string, options: FailureOptions = {}) {
    const { status = 401, info, detail } = options;
    super(code, message, { status, detail });
    this.#info = info;
    this.#isOfAccount = options.isOfAccount === true;
  }

  /** Whether the same login would end so again, because the service would log the same account in. */
  get isOfAccount(): boolean {
    return this.#isOfAccount;
  }

  /** What passport gets, as the `info` of a custom callback: the `info` of verify, or else this error. */
  get challenge(): object {
    return this.#info ?? this;
  }
}

const ABOUT_VISITOR = ['auth_key_rejected', 'login_failed', 'access_token_expired'];

/** Throws a {@link Failure} for an error of a client that is about the visitor, and any other error as it is. */
export function throwAsFailure(error: unknown): never {
  if (!isMarketgateError(error) || !ABOUT_VISITOR.includes(error.code)) throw error;
  throw new Failure(error.code, error.message);
}

/** Not a {@link Failure}: the browser would keep the redirect to `failureRedirect` as the login's result. */
export const withoutEffect = (what: string): MarketgateError =>
  new MarketgateError(
    'login_failed',
    `${what} (a prefetch, a frame, an image, a script or another method) was refused: only the browser's window logs in; follow the link, or set location.href = "/login"`,
  );

const NOT_NOW = 'Logging in does not work on this site at the moment. Please tell the site.';
const OTHER_ACCOUNT =
  'The marketplace can log the same account in again: to use another one, log out there first, and then log in here.';

/** Verify gave no user. @param info what verify says about it, in its own words if it has a text. */
export function notAccepted(info: unknown): Failure {
  const code = 'login_failed';
  const said = typeof info === 'string' ? info : (Object(info) as { message?: unknown }).message;
  if (typeof said === 'string') {
    return new Failure(code, said, {
      ...{ info: info as object, detail: said, isOfAccount: true },
    });
  }
  const message =
    'this site does not accept the account: verify gave no user; log in with another one, or look at verify';
  return new Failure(code, message, {
    detail: `This site does not accept this account. ${OTHER_ACCOUNT}`,
    isOfAccount: true,
    ...(info !== null && info !== undefined && { info: { code, ...Object(info), message } }),
  });
}

/** The visitor has answered "Not me". */
export const notMe = (): Failure =>
  new Failure('login_failed', 'the visitor chose "Not me", so nobody was logged in', {
    detail: `You chose not to continue, so nobody was logged in. ${OTHER_ACCOUNT}`,
    isOfAccount: true,
  });

export const alreadyUsed = (): Failure =>
  new Failure('auth_key_rejected', 'this auth_key was already used; log in again');

export const answeredElsewhere = (): Failure =>
  new Failure(
    'login_failed',
    'an answer to "Continue as NAME?" that another site has sent does not count',
    { status: 403 },
  );

export const anotherAccount = (): Failure =>
  new Failure(
    'login_failed',
    'the service says that the access_token belongs to another account than the one that the page has named; log in again',
  );

export const brokenRedirectUrl = (): Failure =>
  new Failure(
    'auth_key_rejected',
    'the callback cannot be used: the redirect URL registered with the app has a query of its own, which the service breaks; register one without',
    { detail: NOT_NOW },
  );

/** The only value of `auth_key`. @throws Failure for another number of values, or one that is no text. */
export function oneAuthKey([authKey, ...others]: readonly unknown[]): string {
  const isOne = typeof authKey === 'string' && others.length === 0;
  if (isOne && authKey.trim() !== '') return authKey;
  const why = isOne ? 'auth_key is empty' : 'auth_key must be given once';
  throw new Failure('auth_key_rejected', `the callback cannot be used: ${why}`, {
    detail: 'This login link is not complete. Please log in again.',
  });
}

/** The host without its port, because cookies are shared by all ports of a host. */
export const hostOf = (req: Request): string =>
  /^([\w.-]+|\[[\da-f:]+\])/i.exec(req.headers.host ?? '')?.[0].toLowerCase() ?? '';

/**
 * The failure of a callback without a login attempt.
 *
 * @param hosts on which logins have begun.
 * @param why the attempt is missing, as far as that is known.
 */
export function notStarted(
  req: Request,
  hosts: Iterable<string>,
  why: readonly (string | undefined)[],
): Failure {
  const host = hostOf(req);
  const hints = why.filter((each) => each !== undefined);
  // Which host this login began on is unknown: nothing but a cookie could say.
  if (host !== '' && [...hosts].some((other) => other !== host)) {
    hints.push(
      `it came back to ${host} but logins begin on another host, and cookies stay with their host, so open this site under ${host}, or register a redirect URL on the other host`,
    );
  }
  const hint =
    hints.join('; ') ||
    'if this happens again, look for a request that saves the session over it (resave: true), or for a link that opens old callbacks';
  const message = 'this login was not started in this browser, or too long ago';
  const advice = req.headers.cookie
    ? 'Please log in again.'
    : 'Please allow cookies for this site, and log in again.';
  return new Failure('login_failed', `${message}: ${hint}; log in again`, {
    status: 403,
    detail: `This login was not started in this browser, or too long ago. ${advice}`,
  });
}

/** Not a {@link Failure}: a `failureRedirect` would be the next round. */
export const endless = (): MarketgateError =>
  new MarketgateError(
    'login_failed',
    'logins have completed one right after another, and each led to a page that begins the next one, so this one was stopped. The usual causes: passport.session() does not run before the guard; "userId" of requireAccessToken or loadUser does not give the user_id of the marketplace; the guard has another tokenStore than the strategy; deserializeUser finds no user; a guard of the app\'s own sends the user to the login',
    { status: 500, detail: NOT_NOW },
  );

/** Publishes how a request to the strategy ended. @param error of a failed login. */
export function report(outcome: LoginMessage['outcome'], error?: unknown): void {
  if (!loginChannel.hasSubscribers) return;
  const { message } = Object(error) as { message?: unknown };
  const isCoded = isMarketgateError(error);
  // An error of the app can contain secrets. Its message is published only if verify gave it as `info`.
  const isOurs =
    isCoded || /^MarketplaceStrategy: /.test(typeof message === 'string' ? message : '');
  loginChannel.publish({
    outcome,
    ...(isCoded && { code: error.code }),
    ...(isOurs && { reason: message as string }),
  } satisfies LoginMessage);
}
