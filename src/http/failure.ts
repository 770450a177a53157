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

/** The error of a request that failed below HTTP. */
export function networkFailure(what: string, origin: string, error: unknown): MarketgateError {
  const cause = new NetworkFailure(error);
  const isParser = cause.code === 'HTTP_PARSER_ERROR';
  const { message = '' }: Partial<Error> = Object(error);
  // The reason in the message of a parser error is one of a fixed list.
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
const MAX_SHOWN = 200;
const MAX_READ = 4096;
/** How often text is unescaped: services quote what was quoted before. */
const MAX_LAYERS = 5;
/** The longest escape of one character, as in `%F0%9F%98%80`. */
const MAX_ESCAPE = 12;

// What looks like a key, a token or a purchase code, also one that we did not send: 16 or more letters,
// digits and dashes, with at least one digit. Searched from the beginning of such a run only, which is linear.
const TOKEN_LIKE = /(?<![\w-])(?=[\w-]*\d)[\w-]{16,}/g;

/** What stands for a character behind a backslash in JSON, and between `&` and `;` in HTML. */
const ESCAPED: Record<string, string> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Undoes the escapes of a query, of JSON and of HTML, whichever characters they are of. */
const unescapeOnce = (text: string): string =>
  text
    .replace(/(?:%[\da-f]{2})+/gi, (all) => Buffer.from(all.replaceAll('%', ''), 'hex').toString())
    .replace(/\\(?:u([\da-f]{4})|(.))/gi, (_, unit, sign) =>
      unit ? String.fromCharCode(Number(`0x${unit}`)) : (ESCAPED[sign] ?? sign),
    )
    .replace(/&(?:#(\d+)|#(x[\da-f]+)|(amp|lt|gt|quot|apos));/gi, (_, decimal, hex, name) =>
      name
        ? (ESCAPED[name.toLowerCase()] as string)
        : String.fromCodePoint(Math.min(Number(decimal ?? `0${hex}`), 0x10ffff)),
    );

/**
 * Applies `remove` to a text, and to what is left after each layer of its escapes is undone. `clean` is the last layer in
 * which it found something, or else the text; `last` is the last layer.
 */
function inLayers(
  text: string,
  remove: (layer: string) => string,
): { clean: string; last: string } {
  let clean = remove(text);
  let last = clean;
  for (
    let layer = 1, next = unescapeOnce(last);
    next !== last;
    next = unescapeOnce(last), layer++
  ) {
    // Nobody escapes as often as that, but to hide something.
    last = layer > MAX_LAYERS ? REDACTED : remove(next);
    if (last !== next) clean = last;
  }
  return { clean, last };
}

/** A pattern for a secret, as it is or in base64. A query has `+` for a blank. */
const patternOf = (secret: string): string =>
  [secret, ...(['base64', 'base64url'] as const).map((form) => Buffer.from(secret).toString(form))]
    .map((form) => form.replace(/=+$/, '').replace(/[.*?^${}()|[\]\\]/g, '\\$&'))
    .join('|')
    .replace(/[+ ]/g, '[+ ]');

/**
 * Prepares text of the service for an error message, because services repeat what they were sent: removes
 * the given secrets, however they are escaped, whatever looks like a secret, and control characters. Cuts it to a
 * readable length. Text in which a secret was escaped, or that is very long, is shown without its escapes.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const read = text.slice(0, MAX_READ);
  // A longer one cannot be in it.
  const sent = secrets.filter(({ length }) => length > 0 && length <= read.length);
  // A secret can look like an escape itself, or be part of another one: the longest first.
  const known = [...sent, ...sent.map((secret) => inLayers(secret, (layer) => layer).last)].sort(
    (a, b) => b.length - a.length,
  );
  const pattern = known.length > 0 ? new RegExp(known.map(patternOf).join('|'), 'gi') : /(?!)/g;
  const { clean, last } = inLayers(read, (layer) => layer.replace(pattern, REDACTED));
  // The cut can go through a secret, or its base64.
  const longest = Math.max(0, ...secrets.map(({ length }) => length));
  const shown = text.length > MAX_READ ? last.slice(0, -(2 * longest + MAX_ESCAPE)) : clean;
  const plain = shown
    .replace(TOKEN_LIKE, REDACTED)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
}
