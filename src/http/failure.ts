import { MarketgateError } from '../errors.js';

/** What the codes of Node.js and undici mean. */
const IN_WORDS: Record<string, string> = {
  UNKNOWN: 'the request failed',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was cut off',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  HTTP_PARSER_ERROR: 'the answer is not valid HTTP/1.1',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_INVALID_ARG: 'the dispatcher does not take the request; it must be of undici 6, 7 or 8',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  EPROTO: 'the port does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

/** The cause of a network error, reduced to its code: the rest can contain secrets. */
class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';

  constructor(readonly code: string) {
    super(IN_WORDS[code] ?? code);
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
 * The error of a request that failed below HTTP. The original is not its `cause`, because such errors can
 * contain bytes of the response, or the URL with secrets in its query.
 */
export function networkFailure(what: string, origin: string, error: unknown): MarketgateError {
  const { name, message = '' }: Partial<Error> = Object(error);
  // undici's parser errors have no code, but the reason in their message is one of a fixed list.
  const isParser = name === 'HTTPParserError';
  const cause = new NetworkFailure(isParser ? 'HTTP_PARSER_ERROR' : codeOf(error));
  const parserReason = /\(([A-Za-z0-9 ,/'-]{1,80})\)$/.exec(message)?.[1] ?? 'unknown reason';
  const isTooLarge = cause.code === 'UND_ERR_HEADERS_OVERFLOW';
  const hint = isParser
    ? 'check the port, and what stands in front of the service'
    : isTooLarge
      ? 'check what stands in front of the service'
      : `check that ${origin} runs and can be reached`;
  return new MarketgateError(
    isTooLarge ? 'unexpected_response' : 'service_unavailable',
    `${what}: ${cause.message} (${isParser ? parserReason : cause.code}); ${hint}`,
    { cause },
  );
}

const REDACTED = '[redacted]';
/** The most characters that are shown, and that are searched for secrets. */
const MOST_SHOWN = 200;
const MOST_READ = 4096;
/** The most characters that one of a secret becomes: three bytes in a query. */
const LONGEST_FORM = 9;

// What looks like a key, a token or a purchase code, also one that we did not send: 16 or more letters,
// digits and dashes, with at least one digit.
const TOKEN_LIKE = /(?=[\w-]*\d)[\w-]{16,}/g;

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** What HTML calls the characters that it escapes. */
const ENTITIES: Record<string, string> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');

/**
 * A pattern for a secret in any form that a response can have it in: each character plain, or as a query, JSON or
 * HTML has it, whichever of them an encoder escapes; or all of it in base64.
 */
function patternOf(secret: string): string {
  const characters = [...secret].map((character) => {
    const point = character.codePointAt(0) ?? 0;
    const forms = [
      character,
      [...Buffer.from(character)].map((byte) => `%${hex(byte, 2)}`).join(''),
      JSON.stringify(character).slice(1, -1),
      character
        .split('')
        .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
        .join(''),
      character === ' ' ? '+' : character,
    ];
    const entity = `&(?:#0*${point}|#x0*${hex(point, 1)}|${ENTITIES[character] ?? '#'});`;
    return `(?:${[...new Set(forms)].map(escaped).join('|')}|${entity})`;
  });
  const bytes = Buffer.from(secret);
  const inBase64 = [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
  return [characters.join(''), ...inBase64.map(escaped)].join('|');
}

/**
 * Prepares text of the service for an error message, because services repeat what they were sent: removes
 * the given secrets, whatever looks like a secret, and control characters. Cuts it to a readable length.
 */
export function redact(text: string, secrets: readonly string[]): string {
  // The longest first: a secret can be part of another.
  const known = secrets.filter(Boolean).sort((a, b) => b.length - a.length);
  let clean = text.slice(0, MOST_READ);
  if (known[0] !== undefined) {
    clean = clean.replace(new RegExp(known.map(patternOf).join('|'), 'gi'), REDACTED);
    // The cut can go through a secret.
    if (text.length > MOST_READ) clean = clean.slice(0, -LONGEST_FORM * known[0].length);
  }
  clean = clean
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return clean.length > MOST_SHOWN ? `${clean.slice(0, MOST_SHOWN)}…` : clean;
}
