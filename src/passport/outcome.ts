import { isMarketgateError } from '../errors.js';

/** How an authentication ends: in one of these, by construction. An error is a rejection. */
export type Outcome =
  | { readonly type: 'redirect'; readonly url: string }
  | { readonly type: 'success'; readonly user: Express.User; readonly info: object }
  | { readonly type: 'fail'; readonly challenge: object | undefined; readonly status: number }
  | { readonly type: 'pass' }
  /** Not an end yet: the visitor is asked. */
  | {
      readonly type: 'ask';
      readonly id: string;
      readonly name: string;
      readonly username: string;
    };

/** What the service says of the visitor, and not of this site or of itself: passport's `fail`. */
const FAILURES: ReadonlySet<string> = new Set([
  'auth_key_rejected',
  'login_failed',
  'access_token_expired',
]);

/** The visitor could not be authenticated. */
export const failure = (code: string, message: string, status = 401): Outcome => ({
  type: 'fail',
  challenge: { code, message },
  status,
});

export const NOT_STARTED_HERE = failure(
  'login_failed',
  'This login was not started in this browser, or too long ago. If this happens again, allow cookies for this site. Please log in again.',
  403,
);
export const ALREADY_USED = failure(
  'auth_key_rejected',
  'This login link was already used. Please log in again.',
);
export const CANCELLED = failure(
  'login_failed',
  'You chose not to continue, so nobody was logged in.',
);

/** What the service refused, as an outcome; the app's own verify does not run in here. */
interface Refused {
  readonly code: string;
  readonly failure: Outcome;
}

/** Runs what asks the service; what the service refuses is a result, all else a rejection. */
export async function orFailure<T extends object>(run: () => Promise<T>): Promise<T | Refused> {
  try {
    return await run();
  } catch (error) {
    if (!isMarketgateError(error) || !FAILURES.has(error.code)) throw error;
    const { code, message, status } = error;
    return { code, failure: failure(code, message, status) };
  }
}
