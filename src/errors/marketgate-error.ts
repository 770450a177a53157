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

/** What a {@link MarketgateError} becomes in JSON. */
export interface MarketgateErrorJson {
  /** Always `MarketgateError`. */
  name: string;
  /** As on the error. */
  code: MarketgateErrorCode;
  /** As on the error. */
  status: number;
  /** As on the error. */
  message: string;
  /** As on the error. */
  help: string;
  /** Seconds; absent when nobody knows. */
  retryAfter?: number;
}

/**
 * The one error class of the package. `code` says which case it is, `status` which HTTP status it
 * stands for, `help` where to read more. The message is for the operator: what happened and what to
 * do, in one sentence, and never with a secret in it.
 *
 * Every code has a page of its own that says what happened, why and what to do; it is in the package,
 * and `help` is the command that prints it. Messages that are only for the operator end in it too.
 */
export class MarketgateError extends Error {
  /** The same in every build, also a minified one. */
  override readonly name = 'MarketgateError';
  /** Which case this is; stable, meant to be compared. */
  readonly code: MarketgateErrorCode;
  /** HTTP status for an answer to the visitor. */
  readonly status: number;
  /** The same as `status`, under the name that Express looks for. */
  readonly statusCode: number;
  /** Whether the message may be shown to the visitor (as in http-errors: true below 500). */
  readonly expose: boolean;
  /** The command that prints the page about this code, as in `npx marketgate explain login_failed`. */
  readonly help: string;
  /** Seconds after which a new try makes sense; absent when nobody knows. */
  declare readonly retryAfter?: number;

  constructor(code: MarketgateErrorCode, message: string, options: MarketgateErrorOptions = {}) {
    const { status } = ERROR_CODES[code];
    const help = `npx marketgate explain ${code}`;
    const expose = status < 500;
    super(
      expose ? message : withHelp(message, help),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.status = status;
    this.statusCode = status;
    this.expose = expose;
    this.help = help;
    if (options.retryAfter !== undefined) {
      this.retryAfter = options.retryAfter;
      // Express's own last handler sends these, for apps without an error handler of theirs.
      const headers = { 'Retry-After': String(Math.ceil(options.retryAfter)) };
      Object.defineProperty(this, 'headers', { value: headers });
    }
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** What a log that serialises errors gets. The cause stays out: it is for `inspect`. */
  toJSON(): MarketgateErrorJson {
    const { name, code, status, message, help, retryAfter } = this;
    const known = { name, code, status, message, help };
    return retryAfter === undefined ? known : { ...known, retryAfter };
  }
}

/** An error that is made anew from another's message already leads to its page. */
function withHelp(message: string, help: string): string {
  const hint = ` (${help})`;
  return message.endsWith(hint) ? message : message + hint;
}

/** Whether `error` is a {@link MarketgateError}, of this build of the package or the other. */
export function isMarketgateError(error: unknown): error is MarketgateError {
  return (
    typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true
  );
}
