import { isMarketgateError, MarketgateError } from '../errors.js';

/** A request that ran out of time before it was sent. */
const NOT_SENT = 'NOT_SENT';
/** A host name that cannot be looked up at the moment. */
const NOT_NOW = 'EAI_AGAIN';

/**
 * What this process lacks: files, memory, ports, a proxy variable that can be read, or time for what comes before a request.
 * It says nothing about the service, and a visitor can cause most of it.
 */
const LACKING = new Set([
  ...['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL'],
  ...[NOT_SENT, 'PROXY_INVALID'],
]);
/** What a host with an address of each family fails with where this machine has only one of them. */
const NO_FAMILY = new Set(['ENETUNREACH', 'EADDRNOTAVAIL']);
/** Something answered, but its head cannot be read, or its body not be decompressed (by a `fetch`). */
const BROKEN_HEAD = 'BROKEN_HEAD';
/** HTTP 100 or 101, which no request asks for. undici ends the connection, and says no more. */
const UNASKED = 'UNASKED_STATUS';
const UNREADABLE =
  /^(BROKEN_HEAD$|UNASKED_STATUS$|HPE_|Z_|HTTP_PARSER_ERROR$|UND_ERR_HEADERS_OVERFLOW$)/;

const TRUST = 'NODE_EXTRA_CA_CERTS can name a file with more certificates to trust';
const RENEW = 'the service must renew it';
const PROXY = 'HTTPS_PROXY, HTTP_PROXY and NO_PROXY say which one is used';

/** What the codes of Node.js and undici mean, and what to do. */
const IN_WORDS: readonly (readonly [RegExp, string, string?])[] = [
  [/^UNKNOWN$/, 'the request failed'],
  [/^E[MN]FILE$/, 'this process has no file descriptor left'],
  [/^(ENOMEM|ENOBUFS)$/, 'this process has no memory left'],
  [/^EADDRNOTAVAIL$/, 'this machine has no port or address left to connect from'],
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was cut'],
  [/^E(HOST|NET)UNREACH$/, 'there is no route to the host'],
  [/MISMATCH$/, 'the answer was cut off'],
  [/^Z_/, 'the answer is compressed, and broken or cut'],
  [/HEADERS_OVERFLOW$/, 'the head of the answer is longer than 64 KiB'],
  [
    /^(BROKEN_HEAD|HPE_UNEXPECTED_CONTENT_LENGTH)$/,
    'the head of the answer is broken, as where it has a Content-Length and is chunked at once',
    'look at what stands in front of the service',
  ],
  [
    /^UNASKED_STATUS$/,
    'the answer begins with HTTP 100 or 101, for which nobody asked',
    'look at what stands in front of the service',
  ],
  [/^(HPE_|HTTP_PARSER_ERROR$)/, 'the answer is not valid HTTP/1.1', 'check the URL and its port'],
  [/^ENOTFOUND$/, 'nobody knows the host name', 'check the URL'],
  [/^EAI_AGAIN$/, 'the host name cannot be looked up at the moment', 'look at the DNS'],
  [/TIME(D|_)?OUT$/, 'the connection timed out'],
  [
    /^ERR_SSL_.*(UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|VERSION_TOO_LOW|NO_PROTOCOLS)/,
    'the service offers only versions of TLS that are too old',
    'it must offer TLS 1.2 or later',
  ],
  [/^(EPROTO|ERR_SSL_)/, 'the port does not speak TLS', 'check the URL and its port'],
  [/^CERT_HAS_EXPIRED$/, 'the certificate has expired', RENEW],
  [/^CERT_NOT_YET_VALID$/, 'the certificate is not valid yet', 'check the clock of this machine'],
  [
    /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/,
    'the certificate chain is incomplete: the server does not send the intermediate certificate',
    `the service must send the whole chain; until then ${TRUST}`,
  ],
  [/^UNABLE_TO_GET_ISSUER_CERT/, 'the certificate is of an authority that is unknown here', TRUST],
  [
    /^SELF_SIGNED_CERT_IN_CHAIN$/,
    'the certificate is of an authority that is unknown here, such as that of a company or its proxy',
    TRUST,
  ],
  [/SELF_SIGNED/, 'the certificate is self-signed', TRUST],
  [/ALTNAME/, 'the certificate is for another host', 'check the URL'],
  [/^UNABLE_TO_VERIFY|^CERT_/, 'the certificate cannot be verified', TRUST],
  [
    /^PROXY_INVALID$/,
    'HTTPS_PROXY or HTTP_PROXY is no http URL',
    'it must be like http://proxy.example:3128',
  ],
  [
    /^PROXY_407$/,
    'the proxy wants a user name and a password (HTTP 407)',
    'put them in HTTPS_PROXY, as in http://USER:PASSWORD@HOST:PORT',
  ],
  [/^PROXY_\d+$/, 'the proxy refuses to connect', `${PROXY}; see what it allows`],
];

/** A connection to a proxy that failed. */
export class ProxyFailure extends Error {
  constructor(override readonly cause: Error) {
    super('the proxy cannot be reached');
  }
}

/**
 * A network error reduced to its code and what that means. The original can contain bytes of the response, or the URL
 * with secrets in its query.
 */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';
  readonly code: string;
  /** What to do about it, where more is known than that something cannot be reached. */
  readonly advice: string | undefined;

  constructor(error: unknown) {
    const code = codeOf(error);
    const [, words = code, advice] = IN_WORDS.find(([pattern]) => pattern.test(code)) ?? [];
    const isProxy = isOfProxy(error);
    super(isProxy ? `the proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached: ${words}` : words);
    this.code = code;
    this.advice = isProxy ? `check that it runs; ${PROXY}` : advice;
  }
}

/** Whether it is the connection to a proxy that failed. */
const isOfProxy = (error: unknown, depth = 0): boolean =>
  error instanceof ProxyFailure ||
  (depth < 5 && isOfProxy((Object(error) as { cause?: unknown }).cause, depth + 1));

/** The code of the network failure behind an error of a call, also where that is the cause of another one. */
const causeOf = (error: unknown): unknown => {
  const { cause } = Object(error) as { cause?: unknown };
  return cause instanceof NetworkFailure ? cause.code : isMarketgateError(cause) && causeOf(cause);
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
  const { name, code, message, cause }: Record<string, unknown> = Object(error);
  // undici says no more of a proxy that refuses to connect.
  const [, refusal] = /^Proxy response \((\d{3})\)/.exec(String(message)) ?? [];
  if (refusal !== undefined) return `PROXY_${refusal}`;
  if (name === 'HTTPParserError' && code === undefined) {
    return /Content-Length/.test(String(message)) ? BROKEN_HEAD : 'HTTP_PARSER_ERROR';
  }
  if (name === 'SocketError' && /^bad (response|upgrade)$/.test(String(message))) return UNASKED;
  if (typeof code === 'string' && /^[A-Z0-9]{1,24}(_[A-Z0-9]{1,24})*$/.test(code)) return code;
  // Causes can form a cycle.
  return cause === undefined || depth === 5 ? 'UNKNOWN' : codeOf(cause, depth + 1);
}

/**
 * The error of a request that failed below HTTP, or whose response has a head that cannot be read.
 * @param hasHead - whether a head was read.
 */
export function networkFailure(
  what: string,
  origin: string,
  error: unknown,
  hasHead: boolean,
): MarketgateError {
  const failure = new NetworkFailure(error);
  // undici means the head, if there is none.
  const isHead = failure.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !hasHead;
  const cause = isHead ? new NetworkFailure({ code: BROKEN_HEAD }) : failure;
  const { code, message, advice = `check that ${origin} runs and can be reached` } = cause;
  return new MarketgateError(
    UNREADABLE.test(code) ? 'unexpected_response' : 'service_unavailable',
    `${what}: ${message} (${code}); ${advice}`,
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
