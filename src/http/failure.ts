import { MarketgateError } from '../errors.js';

/** A request that ran out of time before it was sent. */
const NOT_SENT = 'NOT_SENT';
/** A host name that cannot be looked up at the moment. */
const NOT_NOW = 'EAI_AGAIN';

/**
 * What this process lacks: files, memory, ports, or time for what comes before a request. A visitor can cause it, so it says
 * nothing about the service.
 */
const LACKING = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL', NOT_SENT]);
/** What a host with an address of each family fails with where this machine has only one of them. */
const NO_FAMILY = new Set(['ENETUNREACH', 'EADDRNOTAVAIL']);

/** What the codes of Node.js and undici mean. */
const IN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^UNKNOWN$/, 'the request failed'],
  [/^E[MN]FILE$/, 'this process has no file descriptor left'],
  [/^(ENOMEM|ENOBUFS)$/, 'this process has no memory left'],
  [/^EADDRNOTAVAIL$/, 'this machine has no port or address left to connect from'],
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was cut'],
  [/MISMATCH$/, 'the answer was cut off'],
  [/^HTTP_PARSER_ERROR$/, 'the answer is not valid HTTP/1.1'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the host name is unknown, or could not be looked up'],
  [/TIME(D|_)?OUT$/, 'the connection timed out'],
  [/^(EPROTO|ERR_SSL_)/, 'the port does not speak TLS'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/SELF_SIGNED/, 'its certificate is self-signed'],
  [/ALTNAME/, 'its certificate is for another host'],
  [/^UNABLE_TO_VERIFY/, 'its certificate cannot be verified'],
];

/**
 * A network error reduced to its code and what that means. The original can contain bytes of the response, or the URL
 * with secrets in its query.
 */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';
  readonly code: string;

  constructor(error: unknown) {
    // undici's parser errors have no code.
    const isParser = Object(error).name === 'HTTPParserError';
    const code = isParser ? 'HTTP_PARSER_ERROR' : codeOf(error);
    super(IN_WORDS.find(([pattern]) => pattern.test(code))?.[1] ?? code);
    this.code = code;
  }
}

const causeOf = (error: unknown): unknown => {
  const { cause } = Object(error) as { cause?: unknown };
  return cause instanceof NetworkFailure ? cause.code : undefined;
};

/** Whether an error of a call says that this process lacks something, and nothing about the service. */
export const isOwnLack = (error: unknown): boolean => LACKING.has(causeOf(error) as string);

/** Whether it can say that the service cannot be reached: not while this machine cannot look its name up. */
export const isAboutService = (error: unknown): boolean =>
  !isOwnLack(error) && causeOf(error) !== NOT_NOW;

/** The error of a call whose time ran out before its request was sent. */
export function notSent(what: string, milliseconds: number): MarketgateError {
  const cause = new NetworkFailure({ code: NOT_SENT });
  return new MarketgateError(
    'service_unavailable',
    `${what}: not sent within ${Math.round(milliseconds)} ms; this process is too busy, the host name cannot be looked up, or a function given as "apiKey" does not settle`,
    { cause },
  );
}

/** The code that says most about an attempt to connect to several addresses. */
function codeOfAll(errors: readonly unknown[], depth: number): string {
  const codes = errors.map((each) => codeOf(each, depth));
  const lack = codes.find((code) => LACKING.has(code) && !NO_FAMILY.has(code));
  const other = codes.find((code) => !NO_FAMILY.has(code));
  return lack ?? other ?? codes.find((code) => LACKING.has(code)) ?? codes[0] ?? 'UNKNOWN';
}

/** The code of an error or of its cause, if it looks like a code of Node.js or undici. Others can be secrets. */
function codeOf(error: unknown, depth = 0): string {
  if (error instanceof RangeError && /allocation/.test(error.message)) return 'ENOMEM';
  if (error instanceof AggregateError && depth < 5) return codeOfAll(error.errors, depth + 1);
  const { code, cause }: { code?: unknown; cause?: unknown } = Object(error);
  if (typeof code === 'string' && /^[A-Z0-9]{1,24}(_[A-Z0-9]{1,24})*$/.test(code)) return code;
  // Causes can form a cycle.
  return cause === undefined || depth === 5 ? 'UNKNOWN' : codeOf(cause, depth + 1);
}

/** The error of a request that failed below HTTP. */
export function networkFailure(what: string, origin: string, error: unknown): MarketgateError {
  const cause = new NetworkFailure(error);
  const hint = `check that ${origin} runs and can be reached`;
  return new MarketgateError(
    'service_unavailable',
    `${what}: ${cause.message} (${cause.code}); ${hint}`,
    { cause },
  );
}

const REDACTED = '[redacted]';
/** The most characters that are shown, and of a text of which something is shown. */
const MAX_SHOWN = 200;
const MAX_READ = 4096;

// What looks like a key, a token or a purchase code, also one that we did not send: 16 or more letters,
// digits and dashes, with at least one digit. Searched from the beginning of such a run only, which is linear.
const TOKEN_LIKE = /(?<![\w-])(?=[\w-]*\d)[\w-]{16,}/g;

/** The escapes of a query, of JSON and of HTML. A secret behind them would not be found. */
const ESCAPE = /%[\da-f]{2}|\\|&#?\w+;/i;

/**
 * Prepares text of the service for an error message, because services repeat what they were sent: removes the given
 * secrets, whatever looks like a secret, and control characters, and cuts it to a readable length. Nothing is shown of a
 * text that is very long or has escapes.
 */
export function redact(text: string, secrets: readonly string[]): string {
  if (text.length > MAX_READ || ESCAPE.test(text)) return REDACTED;
  // Services trim what they were sent. A secret can be part of another one: the longest first. A query has `+` for a
  // blank.
  const sources = secrets
    .map((secret) => secret.trim())
    .filter(({ length }) => length > 0 && length <= text.length)
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[.*?^${}()|[\]\\]/g, '\\$&').replace(/[+ ]/g, '[+ ]'));
  const shown =
    sources.length > 0 ? text.replace(new RegExp(sources.join('|'), 'gi'), REDACTED) : text;
  const plain = shown
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
}
