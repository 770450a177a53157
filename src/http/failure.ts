import { isMarketgateError, MarketgateError } from '../errors.js';

/**
 * What a failure is like, by itself.
 *
 * - `down`: no connection, no answer in time, or HTTP 5xx, as while the service is down.
 * - `busy`: the service asks for less (HTTP 429).
 * - `own`: this process or the app lacks something, which says nothing about the service.
 * - `unreadable`: something has answered, but not in HTTP that can be read.
 */
type Kind = 'down' | 'busy' | 'own' | 'unreadable';

/** How the service is, apart from any one request: the probe shows it. */
export type Health = 'up' | 'down' | 'busy' | 'unclear';

const TRUST = 'NODE_EXTRA_CA_CERTS can name a file with more certificates to trust';
const RENEW = 'the service must renew it';
const PROXY = 'HTTPS_PROXY, HTTP_PROXY and NO_PROXY say which one is used';
const FRONT = 'look at what stands in front of the service';

/** What a code means, and what to do where more is known than that something cannot be reached. */
type Meaning = readonly [kind: Kind, words: string, advice?: string];

const TIMED_OUT: Meaning = ['down', 'the connection timed out'];
const CUT: Meaning = ['down', 'the connection was cut'];
const CUT_OFF: Meaning = ['down', 'the answer was cut off'];
const NO_ROUTE: Meaning = ['down', 'there is no route to the host'];
const NO_FILE: Meaning = ['own', 'this process has no file descriptor left'];
const NO_MEMORY: Meaning = ['own', 'this process has no memory left'];
const NO_TLS: Meaning = ['down', 'the port does not speak TLS', 'check the URL and its port'];
const UNVERIFIED: Meaning = ['down', 'the certificate cannot be verified', TRUST];
const SELF_SIGNED: Meaning = ['down', 'the certificate is self-signed', TRUST];
const PACKED: Meaning = ['unreadable', 'the answer is compressed, and broken or cut', FRONT];
const BAD_HEAD: Meaning = [
  'unreadable',
  'the head of the answer is broken, as where it has a Content-Length and is chunked at once',
  FRONT,
];
const NO_HTTP: Meaning = [
  'unreadable',
  'the answer is not valid HTTP/1.1',
  'check the URL and its port',
];
const OLD_TLS: Meaning = [
  'down',
  'the service offers only versions of TLS that are too old',
  'it must offer TLS 1.2 or later',
];
const UNKNOWN_ISSUER: Meaning = [
  'down',
  'the certificate is of an authority that is unknown here',
  TRUST,
];
const BAD_FETCH: Meaning = [
  'own',
  'the function given as "fetch" could not send the request',
  'look at its dispatcher and its URL',
];

/** What the codes of Node.js, OpenSSL, undici and this package mean. */
const CODES: Readonly<Record<string, Meaning>> = {
  // This package.
  NOT_SENT: ['own', 'there was no time left to send the request'],
  CLOSED: ['own', 'this client was closed'],
  NO_API_KEY: ['own', 'the function given as "apiKey" gave none'],
  PROXY_INVALID: [
    'own',
    'HTTPS_PROXY or HTTP_PROXY is no URL of an http proxy, and a SOCKS proxy cannot be used',
    'it must be like http://USER:PASSWORD@HOST:PORT, without a path, and in the password % is %25, @ is %40 and # is %23',
  ],
  LEFT_ALONE: ['busy', 'the service asked to be left alone'],
  FAILING: ['down', 'the service has failed several times in a row'],
  TIMEOUT: TIMED_OUT,
  UNKNOWN: ['down', 'the request failed'],
  BROKEN_HEAD: BAD_HEAD,
  UNASKED_STATUS: [
    'unreadable',
    'the answer begins with HTTP 100 or 101, for which nobody asked',
    FRONT,
  ],
  HTTP_PARSER_ERROR: NO_HTTP,
  PROXY_407: [
    'down',
    'the proxy wants a user name and a password (HTTP 407)',
    'put them in HTTPS_PROXY, as in http://USER:PASSWORD@HOST:PORT',
  ],
  // Node.js and the system.
  EMFILE: NO_FILE,
  ENFILE: NO_FILE,
  ENOMEM: NO_MEMORY,
  ENOBUFS: NO_MEMORY,
  EADDRNOTAVAIL: ['own', 'this machine has no port or address left to connect from'],
  ECONNREFUSED: ['down', 'the connection was refused'],
  ECONNRESET: CUT,
  ECONNABORTED: CUT,
  EPIPE: CUT,
  ETIMEDOUT: TIMED_OUT,
  ESOCKETTIMEDOUT: TIMED_OUT,
  ETIMEOUT: TIMED_OUT,
  EHOSTUNREACH: NO_ROUTE,
  EHOSTDOWN: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ENETDOWN: NO_ROUTE,
  ENOTFOUND: ['down', 'nobody knows the host name', 'check the URL'],
  EPROTO: NO_TLS,
  // undici.
  UND_ERR_INVALID_ARG: BAD_FETCH,
  UND_ERR_NOT_SUPPORTED: BAD_FETCH,
  UND_ERR_SOCKET: CUT,
  UND_ERR_CONNECT_TIMEOUT: TIMED_OUT,
  UND_ERR_HEADERS_TIMEOUT: TIMED_OUT,
  UND_ERR_BODY_TIMEOUT: TIMED_OUT,
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: CUT_OFF,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CUT_OFF,
  UND_ERR_HEADERS_OVERFLOW: ['unreadable', 'the head of the answer is longer than 64 KiB', FRONT],
  HPE_UNEXPECTED_CONTENT_LENGTH: BAD_HEAD,
  // TLS.
  ERR_SSL_UNSUPPORTED_PROTOCOL: OLD_TLS,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: OLD_TLS,
  ERR_SSL_VERSION_TOO_LOW: OLD_TLS,
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: OLD_TLS,
  CERT_HAS_EXPIRED: ['down', 'the certificate has expired', RENEW],
  CERT_NOT_YET_VALID: [
    'down',
    'the certificate is not valid yet',
    'check the clock of this machine',
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'down',
    'the certificate chain is incomplete: the server does not send the intermediate certificate',
    `the service must send the whole chain; until then ${TRUST}`,
  ],
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  SELF_SIGNED_CERT_IN_CHAIN: [
    'down',
    'the certificate is of an authority that is unknown here, such as that of a company or its proxy',
    TRUST,
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  ERR_TLS_CERT_ALTNAME_INVALID: ['down', 'the certificate is for another host', 'check the URL'],
};

/** What a code that is not in {@link CODES} means by its beginning. None begins with another one. */
const FAMILIES: Readonly<Record<string, Meaning>> = {
  HTTP_4: ['busy', 'the service asks to come again later'],
  HTTP_5: ['down', 'the service failed'],
  PROXY_: ['down', 'the proxy refuses to connect', `${PROXY}; see what it allows`],
  EAI_: ['down', 'the host name cannot be looked up at the moment', 'look at the DNS'],
  ERR_INVALID_: BAD_FETCH,
  Z_: PACKED,
  ERR_BROTLI: PACKED,
  ERR__ERROR_: PACKED,
  HPE_: NO_HTTP,
  ERR_SSL_: NO_TLS,
  ERR_TLS_: UNVERIFIED,
  CERT_: UNVERIFIED,
  UND_ERR_: ['down', 'the request failed'],
};

/** `undefined` for a code that nobody knows: that of a connection that failed. */
function meaningOf(code: string): Meaning | undefined {
  const family = (): string | undefined =>
    Object.keys(FAMILIES).find((beginning) => code.startsWith(beginning));
  return CODES[code] ?? FAMILIES[family() ?? ''];
}

/**
 * Why there is no answer: the `cause` of every `service_unavailable` of a client. It keeps nothing else of the original error,
 * which can contain bytes of the response, or the URL with secrets in its query.
 */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: Kind;
  /** What to do about it, where more is known than that something cannot be reached. */
  readonly advice: string | undefined;

  /** @param health of the service at that time. The breaker finds it out. */
  constructor(
    readonly code: string,
    public health: Health = 'unclear',
    isOfProxy = false,
  ) {
    const [kind, words, advice] = meaningOf(code) ?? ['down' as const, code];
    super(isOfProxy ? `the proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached: ${words}` : words);
    this.kind = kind;
    this.advice = isOfProxy ? `check that it runs; ${PROXY}` : advice;
  }

  /** What an error of Node.js, undici or a `fetch` says. */
  static of(error: unknown): Failure {
    return new Failure(codeOf(error), 'unclear', isOfProxy(error));
  }

  /** Whether the service is down, and not only this request has failed: `onUnknown: 'allow'` then lets visitors in. */
  get isOutage(): boolean {
    return this.kind === 'down' && this.health === 'down';
  }
}

/** Why an error of a client says that the service is unavailable. By name, because an app can load two copies of the package. */
export const failureOf = (error: unknown): Failure | undefined => {
  const { cause } = Object(error) as { cause?: Failure };
  return isMarketgateError(error) && cause?.name === 'Failure' ? cause : undefined;
};

/** The error of a call that the service did not answer. */
export const unavailable = (message: string, failure: Failure, retryAfter?: number) =>
  new MarketgateError('service_unavailable', message, { cause: failure, retryAfter });

/** A connection to a proxy that failed. */
export class ProxyFailure extends Error {
  constructor(override readonly cause: Error) {
    super('the proxy cannot be reached');
  }
}

/** Whether it is the connection to a proxy that failed. */
const isOfProxy = (error: unknown, depth = 0): boolean =>
  error instanceof ProxyFailure ||
  (depth < 5 && isOfProxy((Object(error) as { cause?: unknown }).cause, depth + 1));

/** What a host with an address of each family fails with where this machine has only one of them. */
const NO_FAMILY = ['EADDRNOTAVAIL', 'ENETUNREACH'];

/** The code of an error or of its cause, if it looks like a code of Node.js or undici. Others can be secrets. */
function codeOf(error: unknown, depth = 0): string {
  if (error instanceof RangeError && /allocation/.test(error.message)) return 'ENOMEM';
  if (error instanceof AggregateError && depth < 5) {
    // The one that says most about an attempt to connect to several addresses.
    const codes = error.errors.map((each) => codeOf(each, depth + 1));
    const others = codes.filter((code) => !NO_FAMILY.includes(code));
    const lack = others.find((code) => meaningOf(code)?.[0] === 'own');
    const known = NO_FAMILY.find((code) => codes.includes(code));
    return lack ?? others[0] ?? known ?? 'UNKNOWN';
  }
  const { name, code, message, cause }: Record<string, unknown> = Object(error);
  // undici says no more of a proxy that refuses to connect.
  const [, refusal] = /^Proxy response \((\d{3})\)/.exec(String(message)) ?? [];
  if (refusal !== undefined) return `PROXY_${refusal}`;
  if (name === 'HTTPParserError' && code === undefined) {
    return /Content-Length/.test(String(message)) ? 'BROKEN_HEAD' : 'HTTP_PARSER_ERROR';
  }
  // HTTP 100 or 101. undici ends the connection, and says no more.
  if (name === 'SocketError' && /^bad (response|upgrade)$/.test(String(message))) {
    return 'UNASKED_STATUS';
  }
  if (typeof code === 'string' && /^[A-Z0-9]{1,24}(_{1,2}[A-Z0-9]{1,24})*_?$/.test(code))
    return code;
  // Causes can form a cycle.
  return cause === undefined || depth === 5 ? 'UNKNOWN' : codeOf(cause, depth + 1);
}

/** What browsers, Bun, Deno and Workers say of a connection that failed, and say no code. */
const NO_CONNECTION =
  /^(fetch failed|failed to fetch|load failed|terminated|networkerror when attempting to fetch resource\.?|network request failed|(the )?network connection (was )?lost\.?|error sending request\b.*|unable to connect\. is the computer able to access the url\?|the socket connection was closed unexpectedly\b.*)$/is;

/**
 * Whether what the app's own `fetch` has thrown is a failure of the network. Everything else is the app's: a name that is not
 * defined, a dispatcher that was closed.
 */
export function isNetworkFailure(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { name, message, cause } = error as Error;
  const code = codeOf(error);
  if (/^UND_ERR_(CLOSED|DESTROYED)$/.test(code)) return false;
  if (/^(AbortError|TimeoutError|FetchError)$/.test(name)) return true;
  if (name === 'TypeError' && cause !== undefined) return true;
  const isKnown = code !== 'UNKNOWN' && meaningOf(code) !== undefined;
  return (isKnown && !/^ERR_INVALID_/.test(code)) || NO_CONNECTION.test(String(message));
}

/**
 * The error of a request that failed below HTTP, or whose response has a head that cannot be read.
 * @param hasHead whether a head was read.
 */
export function networkFailure(
  what: string,
  origin: string,
  error: unknown,
  hasHead: boolean,
): MarketgateError {
  const found = Failure.of(error);
  // undici means the head, if there is none.
  const isHead = found.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !hasHead;
  const failure = isHead ? new Failure('BROKEN_HEAD') : found;
  const { code, kind, message, advice = `check that ${origin} runs and can be reached` } = failure;
  const text = `${what}: ${message} (${code}); ${advice}`;
  return kind === 'unreadable'
    ? new MarketgateError('unexpected_response', text, { cause: failure })
    : unavailable(text, failure);
}
