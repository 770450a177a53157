import { type LoginMessage, loginChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError, type MarketgateErrorCode } from '../errors.js';

/** The visitor could not be authenticated. */
export class Failure extends MarketgateError {
  /** What passport gets: the reason, or the `info` of verify. */
  readonly challenge: object;

  /**
   * @param message - for the operator. Visitors read `detail`, by default the code's usual text.
   */
  constructor(
    code: MarketgateErrorCode,
    message: string,
    options: { status?: number; challenge?: object | undefined; detail?: string } = {},
  ) {
    const { status = 401, challenge = { code, message }, detail } = options;
    super(code, message, { detail });
    Object.assign(this, { status, statusCode: status });
    this.challenge = challenge;
  }
}

const ABOUT_VISITOR = ['auth_key_rejected', 'login_failed', 'access_token_expired'];

/** Throws a {@link Failure} for an error that is about the visitor, and any other error as it is. */
export function throwAsFailure(error: unknown): never {
  if (!isMarketgateError(error) || !ABOUT_VISITOR.includes(error.code)) throw error;
  throw new Failure(error.code, error.message);
}

/** Not a {@link Failure}: the browser would keep the redirect to `failureRedirect` as the login's result. */
export const withoutEffect = (what: string): MarketgateError =>
  new MarketgateError(
    'login_failed',
    `${what} was refused, because it would use up the auth_key or begin a login that nobody wants; follow the link instead`,
  );

/** Publishes how a request to the strategy ended. @param error of a failed login. */
export function report(outcome: LoginMessage['outcome'], error?: unknown): void {
  if (!loginChannel.hasSubscribers) return;
  // Errors of the app can contain secrets. Published are this package's messages, and what verify says in its `info`.
  const { message } = Object(error) as { message?: unknown };
  const text = typeof message === 'string' ? message : '';
  const isCoded = isMarketgateError(error);
  const isOurs = isCoded || text.startsWith('MarketplaceStrategy: ');
  loginChannel.publish({
    outcome,
    ...(isCoded && { code: error.code }),
    ...(isOurs && { reason: text }),
  } satisfies LoginMessage);
}

/** Prints why a login failed while the app is developed: passport's failureRedirect shows nothing. */
export function tellDeveloper({ message, help }: Failure): void {
  if ((process.env.NODE_ENV ?? 'development') !== 'development') return;
  console.warn(`marketgate: a login failed: ${message} (${help})`);
}
