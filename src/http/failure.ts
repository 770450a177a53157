import { MarketgateError } from '../errors.js';
import { WITHOUT_ANSWER } from './meanings.js';

const IN_WORDS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was cut off',
  HTTP_PARSER_ERROR: 'the answer is not valid HTTP/1.1',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

/** What a call ends with when its client is closed. */
export const closedError = (): MarketgateError =>
  new MarketgateError(WITHOUT_ANSWER.notReached, 'the call was ended: this client was closed');

/** What is kept of an error of the network: its code. */
class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';
  readonly code: string;

  constructor(code: string) {
    super(IN_WORDS[code] ?? code);
    this.code = code;
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^[A-Z0-9_]+$/.test(code)) return code;
  const cause = (error as { cause?: unknown } | null)?.cause;
  return cause === undefined || cause === error ? 'UNKNOWN' : codeOf(cause);
}

/**
 * What undici's parser has against an answer. Its errors have no code, and hold the bytes they failed on;
 * the reason in their message is one of a fixed list.
 */
function parserReason(error: unknown): string | undefined {
  const { name, message }: Partial<Error> = Object(error);
  if (name !== 'HTTPParserError') return undefined;
  return /\(([A-Za-z0-9 ,/'-]{1,80})\)$/.exec(message ?? '')?.[1] ?? 'unknown reason';
}

/**
 * A failure below HTTP, as `service_unavailable`. The original is not kept as the cause: undici's
 * parser errors hold the bytes they failed on, and others the URL with the secrets in its query.
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
