import { helpFor } from './help.js';

// A registered symbol, because an app can load two copies of the package, whose classes differ for `instanceof`.
const BRAND = Symbol.for('marketgate.error');

/** Options of a {@link MarketgateError}. */
export interface MarketgateErrorOptions {
  /** The underlying error. It must be free of secrets. */
  cause?: unknown;
  /** Seconds after which to try again. */
  retryAfter?: number | undefined;
  /** What visitors read instead of the code's usual `detail`. */
  detail?: string | undefined;
  /** The HTTP status of the response. Default: that of the code. */
  status?: number | undefined;
}

/** A {@link MarketgateError} in JSON. `retryAfter` is absent when unknown. */
export type MarketgateErrorJson = Pick<
  MarketgateError,
  'name' | 'code' | 'status' | 'message' | 'help' | 'retryAfter'
>;

/**
 * The error class of the package. The message tells the operator in one sentence what happened and what to do, without
 * secrets; a message that visitors never see ends with `help`.
 */
export class MarketgateError extends Error {
  /** The same also where an app's bundler renames classes. */
  override readonly name = 'MarketgateError';
  /** The case; stable, so that apps can compare it. */
  readonly code: MarketgateErrorCode;
  /** The HTTP status of the response to the visitor. */
  readonly status: number;
  /** The same as `status`, under the name that Express uses. */
  readonly statusCode: number;
  /** Whether visitors can see the message (as in http-errors: true below 500). */
  readonly expose: boolean;
  /** The command that prints the page about this code, as in `npx marketgate explain login_failed`. */
  readonly help: string;
  /** Seconds after which to try again; absent when unknown. */
  declare readonly retryAfter?: number;
  readonly #detail: string | undefined;

  /**
   * For errors of your own that `errorHandler` should answer, as of a session store that is down.
   *
   * @example
   * next(new MarketgateError('store_unavailable', 'sessions: the database does not answer'));
   */
  constructor(code: MarketgateErrorCode, message: string, options: MarketgateErrorOptions = {}) {
    const { cause, retryAfter, detail, status = ERROR_CODES[code].status } = options;
    const help = helpFor(code);
    const expose = status < 500;
    super(expose ? message : `${message} (${help})`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.statusCode = status;
    this.expose = expose;
    this.help = help;
    if (retryAfter !== undefined) this.retryAfter = retryAfter;
    this.#detail = detail;
  }

  /** What visitors read, where it is not the code's usual text. */
  get detail(): string | undefined {
    return this.#detail;
  }

  /** Tells errors of the package from others, also those of another copy of it. */
  get [BRAND](): true {
    return true;
  }

  /** What Express's own error handler sends along. */
  get headers(): Readonly<Record<string, string>> | undefined {
    const { retryAfter } = this;
    return retryAfter === undefined ? undefined : { 'Retry-After': String(Math.ceil(retryAfter)) };
  }

  /** The error for logs that serialise to JSON. Leaves out the cause, which `inspect` shows. */
  toJSON(): MarketgateErrorJson {
    const { name, code, status, message, help, retryAfter } = this;
    return { name, code, status, message, help, ...(retryAfter !== undefined && { retryAfter }) };
  }
}

/** Adds to an error when to try again, in seconds. */
export function withRetryAfter(error: MarketgateError, retryAfter: number): MarketgateError {
  return Object.assign(error, { retryAfter });
}

/** Whether `error` is a {@link MarketgateError}, of any loaded copy of the package. */
export function isMarketgateError(error: unknown): error is MarketgateError {
  return (error as { [BRAND]?: unknown } | null | undefined)?.[BRAND] === true;
}

/**
 * The visitor's next step: "login", "account" (log in with another one), "code" (enter a purchase code), "again", "contact"
 * (the site can help), or "home", the start page.
 */
export type WayOn = 'login' | 'account' | 'code' | 'again' | 'contact' | 'home';

/**
 * Every code of a {@link MarketgateError}: its HTTP status, and what visitors see: a `title`, a `detail` and a way on, without
 * internals and secrets.
 */
export const ERROR_CODES = {
  // What the package could not find out.
  service_unavailable: {
    status: 503,
    way: 'again',
    title: 'The marketplace cannot be reached',
    detail: 'Nothing is wrong on your side. Please try again shortly.',
  },
  unexpected_response: {
    status: 502,
    way: 'again',
    title: 'The marketplace does not work right now',
    detail: 'Nothing is wrong on your side. Please try again shortly.',
  },
  service_refused: {
    status: 502,
    way: 'again',
    title: 'The marketplace did not answer this site',
    detail: 'Nothing is wrong on your side. Please tell the site if this goes on.',
  },
  api_key_rejected: {
    status: 500,
    way: 'contact',
    title: 'This site is not set up correctly',
    detail:
      'This site cannot ask the marketplace at the moment. Please tell the site; it is not your fault.',
  },
  app_credentials_rejected: {
    status: 500,
    way: 'contact',
    title: 'This site is not set up correctly',
    detail:
      'Logging in does not work on this site at the moment. Please tell the site; it is not your fault.',
  },
  store_unavailable: {
    status: 503,
    way: 'again',
    title: 'This site has a problem right now',
    detail: 'Nothing is wrong on your side. Please try again shortly.',
  },

  // Logging in.
  auth_key_rejected: {
    status: 401,
    way: 'login',
    title: 'The login could not be completed',
    detail: 'This login link was already used or is too old. Please log in again.',
  },
  login_failed: {
    status: 401,
    way: 'login',
    title: 'The login could not be completed',
    detail: 'The marketplace did not say who you are. Please log in again.',
  },
  login_required: {
    status: 401,
    way: 'login',
    title: 'Please log in',
    detail: 'You need to be logged in to see this.',
  },
  access_token_expired: {
    status: 401,
    way: 'login',
    title: 'Your login has ended',
    detail: 'It lasts for a limited time. Please log in again.',
  },

  // Purchases.
  purchase_required: {
    status: 402,
    way: 'code',
    title: 'A purchase code is needed',
    detail: 'This is for customers. Please enter your purchase code.',
  },
  purchase_code_invalid: {
    status: 403,
    way: 'code',
    title: 'This purchase code is not valid',
    detail:
      'The marketplace does not know this purchase code. Please check that you copied the whole code.',
  },
  purchase_item_mismatch: {
    status: 403,
    way: 'code',
    title: 'This purchase code is for another item',
    detail: 'The code itself is valid. Please use the code that you got with this item.',
  },
  license_type_mismatch: {
    status: 403,
    way: 'code',
    title: 'This needs another licence',
    detail:
      'This purchase code is valid, but its licence does not include this. Please use a code with the right licence.',
  },
  support_expired: {
    status: 403,
    way: 'contact',
    title: 'Support has ended',
    detail:
      'This purchase code is valid, but its support period has ended or was never included. You can renew it at the marketplace.',
  },
  purchase_not_accepted: {
    status: 403,
    way: 'code',
    title: 'This purchase is not accepted here',
    detail:
      'The code itself is valid, but this page is not for it. Please use another one, if you have one.',
  },
  purchase_held: {
    status: 403,
    way: 'account',
    title: 'This purchase code is in use',
    detail:
      'This purchase code is used by another account. If it is yours, log in with that account, or ask this site to release the code.',
  },
  too_many_attempts: {
    status: 429,
    way: 'again',
    title: 'Too many attempts',
    detail:
      'There were too many wrong purchase codes, items or logins from your connection. Please wait a little and try again.',
  },

  // Items.
  item_not_found: {
    status: 404,
    way: 'home',
    title: 'There is no such item',
    detail: 'It may have left the catalogue. Please check the address.',
  },
  item_id_invalid: {
    status: 400,
    way: 'home',
    title: 'This is not an item number',
    detail: 'An item number is a whole number, like 1042.',
  },
} as const satisfies Record<string, { status: number; way: WayOn; title: string; detail: string }>;

/** The `code` of a {@link MarketgateError}. */
export type MarketgateErrorCode = keyof typeof ERROR_CODES;

/**
 * Makes an error for `next` of what an app's function has thrown: `next(undefined)` and `next('')` mean "go on", and
 * `next('route')` skips the rest of the route.
 */
export function asError(thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  // A text can contain a secret.
  let kind = `a ${typeof thrown}`;
  if (thrown === undefined) kind = 'nothing';
  else if (thrown === null) kind = 'null';
  return new TypeError(
    `marketgate: a function that was passed in failed with ${kind} instead of an Error`,
  );
}
