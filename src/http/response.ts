import { isAscii } from 'node:buffer';
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

/** Removes fields named `__proto__`, because a copy of their object could take them as its prototype. */
function removeProto(value: unknown): void {
  const open = [value];
  // Without recursion, and so without a reviver, because JSON can be nested too deeply for the stack.
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (typeof each !== 'object' || each === null) continue;
    Reflect.deleteProperty(each, '__proto__');
    for (const inner of Object.values(each)) open.push(inner);
  }
}

/** Whether a body can have that name, also with its letters escaped. The short searches are ten times as fast. */
const canHaveProto = (text: string): boolean =>
  (text.includes('__') && text.includes('__proto__')) ||
  (text.includes('\\u00') && /\\u00[567]/.test(text));

/**
 * Parses a body as JSON. Text before the JSON is not skipped: what follows a PHP warning can be cut or altered.
 */
export function parseJson(body: Buffer): Pick<JsonResponse, 'value' | 'found'> {
  // `trimStart` also removes the byte order mark.
  const text = body.toString(isAscii(body) ? 'latin1' : 'utf8').trimStart();
  try {
    const value: unknown = JSON.parse(text);
    if (canHaveProto(text)) removeProto(value);
    return { value };
  } catch {
    return { found: describe(text) };
  }
}

/** Never quotes the text, which can repeat secrets. */
function describe(text: string): string {
  if (text === '') return 'an empty body';
  if (/^<(!doctype|html|head|body|\?xml)/i.test(text)) return 'an HTML page';
  // Not the bracket of a log line.
  const begin = text.search(/[{[]\s*(?:["{}[\]\d-]|true|false|null|$)/);
  if (begin === 0) return 'broken or cut JSON';
  if (begin > 0 && '}]'.includes(text.trimEnd().slice(-1))) return 'text ahead of the JSON';
  if (text.startsWith('<') || /<(html|body|title)\b/i.test(text)) return 'an HTML page';
  return begin > 0 ? 'text ahead of the JSON' : 'text that is not JSON';
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
  const problem =
    status === 429
      ? 'too many requests (HTTP 429); ask less often'
      : isTransient(status)
        ? `the service failed (HTTP ${status}); try again later`
        : mismatch !== undefined
          ? `the answer is not of the documented shape: ${mismatch.path}: expected ${mismatch.expected}`
          : `expected JSON as documented, got ${found} (HTTP ${status}); check the URL and what stands in front of the service`;
  const code = isTransient(status) ? 'service_unavailable' : 'unexpected_response';
  return new MarketgateError(code, `${name}: ${problem}`);
}
