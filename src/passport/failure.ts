import type { Request } from 'express';
import type { AuthenticateOptions, StrategyCreatedStatic } from 'passport';
import { type LoginMessage, loginChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError, type MarketgateErrorCode } from '../errors.js';

/** The visitor could not be authenticated. */
export class Failure extends MarketgateError {
  readonly #info: object | undefined;

  /** @param message for the operator. Visitors read `detail`, by default the code's usual text. */
  constructor(
    code: MarketgateErrorCode,
    message: string,
    options: { status?: number; info?: object; detail?: string } = {},
  ) {
    const { status = 401, info, detail } = options;
    super(code, message, { detail });
    Object.assign(this, { status, statusCode: status });
    this.#info = info;
  }

  /** What passport gets, as the `info` of a custom callback: the `info` of verify, or else this error. */
  get challenge(): object {
    return this.#info ?? this;
  }
}

const ABOUT_VISITOR = ['auth_key_rejected', 'login_failed', 'access_token_expired'];

/** Throws a {@link Failure} for an error that is about the visitor, and any other error as it is. */
export function throwAsFailure(error: unknown): never {
  if (!isMarketgateError(error) || !ABOUT_VISITOR.includes(error.code)) throw error;
  throw new Failure(error.code, error.message);
}

/** Not a {@link Failure}: the browser would keep the redirect to `failureRedirect` as the login's result. */
export const withoutEffect = (what: string, why: string): MarketgateError =>
  new MarketgateError('login_failed', `${what} was refused, because ${why}`);

/** Verify gave no user. @param info what verify says about it, in its own words if it has a text. */
export function notAccepted(info: unknown): Failure {
  const code = 'login_failed';
  const said = typeof info === 'string' ? info : (Object(info) as { message?: unknown }).message;
  if (typeof said === 'string') {
    return new Failure(code, said, { info: info as object, detail: said });
  }
  const message =
    'this site does not accept the account: verify gave no user; log in with another one, or look at verify';
  const detail = 'This site does not accept this account. Please log in with another one.';
  return new Failure(code, message, {
    detail,
    ...(info !== null && info !== undefined && { info: { code, ...Object(info), message } }),
  });
}

/** The host without its port, because cookies are shared by all ports of a host. */
export const hostOf = (req: Request): string | undefined =>
  /^([\w.-]+|\[[\da-f:]+\])/i.exec(req.headers.host ?? '')?.[0].toLowerCase();

/**
 * The failure of a callback without a login attempt.
 *
 * @param hosts on which logins have begun.
 * @param why the attempt is missing, if that is known.
 */
export function notStarted(
  req: Request,
  hosts: { keys(): Iterable<string> },
  why: string | undefined,
): Failure {
  const host = hostOf(req);
  const hasCookie = Boolean(req.headers.cookie);
  const hints = why ? [why] : [];
  // Which host this login began on is unknown: nothing but a cookie could say.
  if (host !== undefined && [...hosts.keys()].some((other) => other !== host)) {
    hints.push(
      `it came back to ${host} but logins begin on another host, and cookies stay with their host, so open this site under ${host}, or register a redirect URL on the other host`,
    );
  }
  if (!hasCookie) {
    hints.push(
      'no cookie came back with it, as when the browser blocks cookies, or when they are SameSite=Strict, or Secure on plain http or behind an undeclared proxy',
    );
  }
  const hint =
    hints.join('; ') ||
    'if this happens again, look for a request that saves the session over it (resave: true), or for a link that opens old callbacks';
  const message = 'this login was not started in this browser, or too long ago';
  const advice = hasCookie
    ? 'Please log in again.'
    : 'Please allow cookies for this site, and log in again.';
  return new Failure('login_failed', `${message}: ${hint}; log in again`, {
    status: 403,
    detail: `This login was not started in this browser, or too long ago. ${advice}`,
  });
}

/** What happens in each round of a redirect that would not end. */
const ROUNDS = {
  completed:
    'five logins have completed one after another, and nobody is logged in after them: passport.session() does not run before the guard, deserializeUser finds no user, or the session of the login does not come back',
  failed:
    'five logins have failed one after another: failureRedirect leads to a page that requires a login; let it lead to a page for everybody',
  begun:
    'the marketplace has sent the browser back five times without an auth_key: something drops the query of the callback, or a guard stands before it',
};

/** Not a {@link Failure}: a `failureRedirect` would be the next round. */
export const tooManyRounds = (what: keyof typeof ROUNDS): MarketgateError =>
  new MarketgateError('login_failed', `${ROUNDS[what]}; this login was stopped`, {
    detail: 'Logging in does not work on this site at the moment. Please tell the site.',
  });

/**
 * Calls passport's `fail`, and tells why where `failWithError` is set: passport's own error says only "Unauthorized". It reads
 * this option when all strategies of an array have failed, last, so that the option can say that they have.
 */
export function failTellingWhy(
  actions: Pick<StrategyCreatedStatic, 'fail' | 'error'>,
  options: AuthenticateOptions,
  failure: Failure,
): void {
  const fail = () => actions.fail(failure.challenge, failure.status);
  const descriptor = Object.getOwnPropertyDescriptor(options, 'failWithError');
  if (!descriptor?.value || !descriptor.configurable) {
    fail();
    return;
  }
  const get = (): never => {
    throw failure;
  };
  Object.defineProperty(options, 'failWithError', { get, configurable: true, enumerable: true });
  try {
    fail();
  } catch (thrown) {
    if (thrown !== failure) throw thrown;
    Object.defineProperty(options, 'failWithError', descriptor);
    actions.error(failure);
  } finally {
    Object.defineProperty(options, 'failWithError', descriptor);
  }
}

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
