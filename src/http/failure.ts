import { MarketgateError } from '../errors.js';
import { WITHOUT_ANSWER } from './meanings.js';

const IN_WORDS: Record<string, string> = {
  UNKNOWN: 'the request failed',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was cut off',
  HTTP_PARSER_ERROR: 'the answer is not valid HTTP/1.1',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_INVALID_ARG: 'the dispatcher does not take the request; it must be of undici 6, 7 or 8',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

/** The cause of a network error, reduced to its code: the rest can contain secrets. */
class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';
  readonly code: string;

  constructor(code: string) {
    super(IN_WORDS[code] ?? code);
    this.code = code;
  }
}

/** The code of an error or of its cause, if it looks like a code of Node.js or undici. Others can be secrets. */
function codeOf(error: unknown, depth = 0): string {
  const { code, cause }: { code?: unknown; cause?: unknown } = Object(error);
  if (typeof code === 'string' && /^[A-Z0-9]{1,24}(_[A-Z0-9]{1,24})*$/.test(code)) return code;
  // Causes can form a cycle.
  return cause === undefined || depth === 5 ? 'UNKNOWN' : codeOf(cause, depth + 1);
}

/**
 * Why undici's HTTP parser refused a response. Its errors have no code and contain bytes of the response,
 * but the reason in their message is one of a fixed list.
 */
function parserReason(error: unknown): string | undefined {
  const { name, message }: Partial<Error> = Object(error);
  if (name !== 'HTTPParserError') return undefined;
  return /\(([A-Za-z0-9 ,/'-]{1,80})\)$/.exec(message ?? '')?.[1] ?? 'unknown reason';
}

/**
 * The error of a request that failed below HTTP. The original is not its `cause`, because such errors can
 * contain bytes of the response, or the URL with secrets in its query.
 */
export function networkFailure(what: string, error: unknown): MarketgateError {
  const reason = parserReason(error);
  if (reason !== undefined) {
    return new MarketgateError(
      WITHOUT_ANSWER.notReached,
      `${what}: the answer is not valid HTTP/1.1 (${reason}); check the port, and what stands in front of the service`,
      { cause: new NetworkFailure('HTTP_PARSER_ERROR') },
    );
  }
  const cause = new NetworkFailure(codeOf(error));
  if (cause.code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new MarketgateError(
      WITHOUT_ANSWER.notRead,
      `${what}: the headers of the answer are too large; check what stands in front of the service`,
      { cause },
    );
  }
  return new MarketgateError(
    WITHOUT_ANSWER.notReached,
    `${what}: ${cause.message} (${cause.code}); check that the service runs and can be reached`,
    { cause },
  );
}

/** The error of a response that is refused for its status, headers or size. */
export const notRead = (what: string, problem: string): MarketgateError =>
  new MarketgateError(WITHOUT_ANSWER.notRead, `${what}: ${problem}`);

export const redirected = (how: string): string =>
  `was redirected (${how}), and redirects are never followed; check the URL that was configured`;

export const tooLarge = (maxBytes: number): string =>
  `the answer is larger than ${maxBytes} bytes; raise "maxResponseBytes" if it should be`;

/** The error of a call whose client was closed. */
export const closedError = (): MarketgateError =>
  new MarketgateError(WITHOUT_ANSWER.notReached, 'the call was ended: this client was closed');

const REDACTED = '[redacted]';
/** The most characters that are shown. */
const LONGEST = 200;
/** Characters that are searched for secrets: far more than are shown. */
const MOST_READ = 4096;

// What looks like a key, a token or a purchase code, also one that we did not send: 16 or more letters,
// digits and dashes, with at least one digit.
const TOKEN_LIKE = /(?=[\w-]*\d)[\w-]{16,}/g;

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The forms that a secret can have in a response: plain, in a query, in a form, in JSON, in base64. */
function formsOf(secret: string): string[] {
  if (secret === '') return [];
  const inQuery = encodeURIComponent(secret);
  return [
    secret,
    inQuery,
    inQuery.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ];
}

/**
 * Prepares text of the service for an error message. Removes the given secrets, whatever looks like a
 * secret, and control characters; cuts the text to a readable length. Services do repeat what they were
 * sent.
 */
export function redact(text: string, secrets: readonly string[]): string {
  // Longest first: a secret can be part of another.
  const forms = secrets.flatMap(formsOf).sort((a, b) => b.length - a.length);
  const { length: longest = 0 } = forms[0] ?? '';
  let clean = text.slice(0, MOST_READ + longest);
  const isCut = clean.length < text.length;
  if (longest > 0) {
    clean = clean.replace(new RegExp(forms.map(escaped).join('|'), 'gi'), REDACTED);
  }
  // The cut can go through a secret.
  if (isCut) clean = clean.slice(0, -longest || undefined);
  clean = clean
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean;
}
