import { MarketgateError } from '../errors.js';

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
}

/**
 * Parses a body as JSON. Text before or after the JSON is not skipped: what follows a PHP warning can be cut or altered.
 * @param contentType - can name a charset.
 */
export function parseJson(
  name: string,
  status: number,
  body: Uint8Array,
  contentType: string | undefined,
): JsonResponse {
  const decoded = decodeText(body, contentType);
  if (decoded === undefined) return { name, status, found: UNREADABLE };
  // Also removes byte order marks.
  const text = decoded.trimStart();
  const value = parsed(text);
  return value === undefined ? { name, status, found: describe(text) } : { name, status, value };
}

const UNREADABLE = 'text that is not UTF-8, and the header Content-Type names no charset that fits';

/**
 * The text of a body: UTF-8 (in which a NUL is none), else in the charset that the answer names. `undefined`: in neither.
 * No character is ever replaced, because a licence that is compared would be another one.
 */
function decodeText(bytes: Uint8Array, contentType = ''): string | undefined {
  const [, charset = ''] = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType) ?? [];
  if (!bytes.includes(0)) {
    const text = decodedAs('utf-8', bytes);
    if (text !== undefined) return text;
  }
  // It was tried, and an unknown one is refused as well.
  return /^(utf-?8)?$/i.test(charset) ? undefined : decodedAs(charset, bytes);
}

function decodedAs(charset: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** `undefined`: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Never quotes the text, which can repeat secrets. */
function describe(text: string): string {
  if (text === '') return 'an empty body';
  if (/^<(!doctype|html|head|body|\?xml)/i.test(text)) return 'an HTML page';
  const begin = text.search(/\{\s*"/);
  if (begin === 0) {
    const json = text.slice(0, text.lastIndexOf('}') + 1);
    return parsed(json) === undefined ? 'broken or cut JSON' : 'text after the JSON';
  }
  if (begin > 0) return 'text ahead of the JSON';
  return text.startsWith('<') ? 'an HTML page' : 'text that is not JSON';
}

/** Whether the "status" of a body says that it is an error. */
export const saysError = (status: unknown): boolean =>
  typeof status === 'string' && status.toLowerCase() === 'error';

/** Whether a later request can succeed: 408 (too slow), 425 (too early), 429 (too many requests) and 5xx (failed). */
export const isTransient = (status: number): boolean =>
  status >= 500 || status === 408 || status === 425 || status === 429;

/**
 * The error of a response that is neither an answer nor a refusal: `service_unavailable` where the status
 * says "not now", otherwise `unexpected_response`.
 * @param mismatch the first place where the payload differs from the documented shape.
 */
export function unusable(
  response: JsonResponse,
  mismatch?: { readonly path: string; readonly expected: string },
): MarketgateError {
  const { name, status, found = 'JSON of another shape' } = response;
  if (isTransient(status)) {
    const problem =
      status === 429
        ? 'too many requests (HTTP 429); ask less often'
        : `the service failed (HTTP ${status}); try again later`;
    return new MarketgateError('service_unavailable', `${name}: ${problem}`);
  }
  const problem = mismatch
    ? `the answer is not of the documented shape: ${mismatch.path}: expected ${mismatch.expected}`
    : `expected JSON as documented, got ${found} (HTTP ${status}); check the URL and what stands in front of the service`;
  return new MarketgateError('unexpected_response', `${name}: ${problem}`);
}
