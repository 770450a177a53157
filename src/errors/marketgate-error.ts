import { ERROR_CODES, type MarketgateErrorCode } from './codes.js';

// A registered symbol, because an app can hold the ESM and the CommonJS build at once and
// `instanceof` knows only its own.
const BRAND = Symbol.for('marketgate.error');

/** What a {@link MarketgateError} may be given beside its code and message. */
export interface MarketgateErrorOptions {
  /** What went wrong underneath; must already be free of secrets. */
  cause?: unknown;
  /** Seconds after which a new try makes sense. */
  retryAfter?: number | undefined;
}

/**
 * The one error class of the package. `code` says which case it is, `status` which HTTP status it
 * stands for. The message is for the operator: what happened and what to do, in one sentence, and
 * never with a secret in it.
 */
export class MarketgateError extends Error {
  override readonly name = 'MarketgateError';
  /** Which case this is; stable, meant to be compared. */
  readonly code: MarketgateErrorCode;
  /** HTTP status for an answer to the visitor. */
  readonly status: number;
  /** The same as `status`, under the name that Express looks for. */
  readonly statusCode: number;
  /** Whether the message may be shown to the visitor (as in http-errors: true below 500). */
  readonly expose: boolean;
  /** Seconds after which a new try makes sense; absent when nobody knows. */
  declare readonly retryAfter?: number;

  constructor(code: MarketgateErrorCode, message: string, options: MarketgateErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.statusCode = this.status;
    this.expose = this.status < 500;
    if (options.retryAfter !== undefined) {
      this.retryAfter = options.retryAfter;
      // Express's own last handler sends these, for apps without an error handler of theirs.
      const headers = { 'Retry-After': String(Math.ceil(options.retryAfter)) };
      Object.defineProperty(this, 'headers', { value: headers });
    }
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** What a log that serialises errors gets. The cause stays out: it is for `inspect`. */
  toJSON(): { name: string; code: string; status: number; message: string; retryAfter?: number } {
    const { name, code, status, message, retryAfter } = this;
    return { name, code, status, message, ...(retryAfter === undefined ? {} : { retryAfter }) };
  }
}

/** Whether `error` is a {@link MarketgateError}, of this build of the package or the other. */
export function isMarketgateError(error: unknown): error is MarketgateError {
  return (
    typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true
  );
}
