import { MarketgateError } from '../errors.js';
import { Failure, unavailable } from './failure.js';
import type { WireResponse } from './senders.js';

/** The JSON object in a response. */
export type Body = Readonly<Record<string, unknown>>;

/** A response whose body was parsed, if it is JSON. */
export interface JsonResponse {
  /** The request, for an error message, as in "GET /api/items/all". */
  readonly name: string;
  readonly status: number;
  readonly value?: unknown;
  /** What the body is where it is no JSON, for an error message. */
  readonly found?: string;
  /** Seconds for which the service asks to be left alone. */
  readonly retryAfter: number | undefined;
}

/** What {@link JsonResponse.found} says of a response without a body. */
const EMPTY = 'an empty body';

/** Whether a response has JSON or no body, as a service's own answers have. */
export const isOfApi = ({ found }: JsonResponse): boolean => found === undefined || found === EMPTY;

/**
 * Parses a body as JSON. Text before or after the JSON is not skipped: what follows a PHP warning can be cut or altered.
 * @param now epoch milliseconds, where the response has no date of its own.
 */
export function parseJson(name: string, response: WireResponse, now: number): JsonResponse {
  const { status, header, body } = response;
  const common = { name, status, retryAfter: retryAfterOf(status, header, now) };
  const decoded = decodeText(body, header('content-type'));
  if (decoded === undefined) return { ...common, found: UNREADABLE };
  // Also removes byte order marks.
  const text = decoded.trimStart();
  try {
    return { ...common, value: JSON.parse(text) };
  } catch (error) {
    return { ...common, found: describe(text, error) };
  }
}

const UNREADABLE = 'text that is not UTF-8, and the header Content-Type names no charset that fits';

/**
 * The text of a body: UTF-8, else in the charset that the answer names, or in windows-1252 where it names none. `undefined`: in
 * neither. A NUL is text only in a charset that is named, as in UTF-16.
 */
function decodeText(bytes: Uint8Array, contentType = ''): string | undefined {
  const [, named] = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType) ?? [];
  for (const charset of ['utf-8', named ?? 'windows-1252']) {
    if ((/^utf-?8$/i.test(charset) || named === undefined) && bytes.includes(0)) continue;
    try {
      const decoder = new TextDecoder(charset, { fatal: true });
      // As a stream, because Node.js 20 reads windows-1252 as ISO-8859-1 otherwise.
      return decoder.decode(bytes, { stream: true }) + decoder.decode();
    } catch {
      // Not in this one, or nobody knows it.
    }
  }
  return undefined;
}

/** Says what text is where it is no JSON. Never quotes it, because it can repeat secrets. */
function describe(text: string, error: unknown): string {
  if (text === '') return EMPTY;
  if (/^<(!doctype|html|head|body|\?xml)/i.test(text)) return 'an HTML page';
  const begin = text.search(/\{\s*"/);
  if (begin > 0) return 'text ahead of the JSON';
  if (begin < 0) return text.startsWith('<') ? 'an HTML page' : 'text that is not JSON';
  // V8 says where the JSON has ended.
  const [, end] = /after JSON at position (\d+)/.exec(String(error)) ?? [];
  if (end === undefined) return 'broken or cut JSON';
  return /^[{[]/.test(text.slice(Number(end)))
    ? 'a second JSON text after the JSON'
    : 'text after the JSON';
}

/** Whether the "status" of a body says that it is an error. */
export const saysError = (status: unknown): boolean =>
  typeof status === 'string' && status.toLowerCase() === 'error';

/** Whether a later request can succeed: 408 (too slow), 425 (too early), 429 (too many requests) and 5xx (failed). */
export const isTransient = (status: number): boolean =>
  status >= 500 || status === 408 || status === 425 || status === 429;

/** The longest backoff in seconds that an error names, so that one wrong header sends nobody away for a day. */
const MAX_SECONDS = 3600;

/** For how long a response asks to be left alone, by its `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterOf(status: number, header: WireResponse['header'], now: number) {
  const text = header('retry-after')?.trim() ?? '';
  if (text === '' || !isTransient(status)) return undefined;
  // By the service's own clock, which can be minutes from this one. `Date.parse` also accepts "-5".
  const until = /^[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  const dated = Math.ceil((until - (Date.parse(header('date') ?? '') || now)) / 1000);
  const seconds = /^\d/.test(text) ? Number.parseInt(text, 10) : dated;
  return seconds > 0 ? Math.min(seconds, MAX_SECONDS) : undefined;
}

/**
 * The error of a response that is neither an answer nor a refusal: `service_unavailable` where the status
 * says "not now", otherwise `unexpected_response`.
 * @param mismatch the first place where the payload differs from the documented shape.
 */
export function unusable(
  response: JsonResponse,
  mismatch?: { readonly path: string; readonly expected: string },
): MarketgateError {
  const { name, status, found = 'JSON of another shape', retryAfter } = response;
  if (isTransient(status)) {
    const problem =
      status === 429
        ? 'too many requests (HTTP 429); ask less often'
        : `the service failed (HTTP ${status}); try again later`;
    return unavailable(`${name}: ${problem}`, new Failure(`HTTP_${status}`), retryAfter);
  }
  const problem = mismatch
    ? `the answer is not of the documented shape: ${mismatch.path}: expected ${mismatch.expected}`
    : `expected JSON as documented, got ${found} (HTTP ${status}); check the URL and what stands in front of the service`;
  return new MarketgateError('unexpected_response', `${name}: ${problem}`);
}
