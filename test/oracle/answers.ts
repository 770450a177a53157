import type { MarketgateErrorCode } from 'marketgate';
import type { WireAnswer } from '../support/service-in-memory.js';

/** How a call ends: with a positive or a negative answer, or with an error of this code. */
export type End = 'positive' | 'negative' | MarketgateErrorCode;

/** What an answer may be that can be read in two ways, as long as it is never a negative one. */
export const NEVER_NEGATIVE: readonly End[] = [
  'service_unavailable',
  'unexpected_response',
  'service_refused',
];

export interface Judgement {
  /** How the call may end; several ends where the contract leaves it open. */
  readonly ends: readonly End[];
  /** What must be in the result, where that is sure. */
  readonly value?: unknown;
}

/** Longest body that the clients under test read. */
export const MAX_BYTES = 256 * 1024;

/** What the body is: JSON, something else, or such that both can be said of it. */
export type BodyReading =
  | { readonly kind: 'json'; readonly value: unknown; readonly isSure: boolean }
  | { readonly kind: 'other' };

/** "A BOM or blank space before the JSON is skipped; other text before it is not." */
export function readBody(bytes: Buffer): BodyReading {
  const text = bytes.toString('utf8');
  const plain = text.replace(/^[\uFEFF \t\r\n]+/, '');
  const sure = parse(plain);
  if (sure !== undefined) return { kind: 'json', value: sure.value, isSure: true };
  // Other blank space, as a no-break space: some would skip it.
  const generous = parse(text.trimStart());
  if (generous !== undefined) return { kind: 'json', value: generous.value, isSure: false };
  return { kind: 'other' };
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** The statuses that say "not now": no negative answer is believed there. */
export const isTransient = (status: number): boolean =>
  status >= 500 || status === 429 || status === 408 || status === 425;

/** The ends by status and headers alone; `undefined` when the body decides. */
export function endsByHead(answer: WireAnswer): readonly End[] | undefined {
  const { status, headers, bytes } = answer;
  if (status >= 300 && status < 400) return ['unexpected_response'];
  const [encoding = ''] = [headers['content-encoding'] ?? 'identity'].flat();
  const isEncoded = !['', 'identity'].includes(encoding.trim().toLowerCase());
  const [said] = [headers['content-length']].flat();
  const isTooLarge = bytes.length > MAX_BYTES || Number(said) > MAX_BYTES;
  if (!isEncoded && !isTooLarge) return undefined;
  if (!isTransient(status)) return ['unexpected_response'];
  // "429, 5xx → service_unavailable" and "too large → unexpected_response" can both be true of one.
  return ['service_unavailable', 'unexpected_response'];
}

/**
 * Whether the client must leave the service alone afterwards: "429 and Retry-After pause further
 * calls". `undefined`: neither is sure.
 */
export function mustPause({ status, headers }: WireAnswer, now: number): boolean | undefined {
  const [retryAfter] = [headers['retry-after']].flat();
  const seconds = retryAfter === undefined ? undefined : secondsOf(retryAfter, now);
  if (status === 429) return seconds === 0 ? undefined : true;
  // What asks for a pause with another status, and in what form, is only said by example.
  if (status === 503 && seconds !== undefined && seconds > 0) return true;
  return status < 400 && retryAfter === undefined ? false : undefined;
}

/** A `Retry-After` in the forms of RFC 9110, 10.2.3; `undefined` for anything else. */
export function secondsOf(header: string, now: number): number | undefined {
  const text = header.trim();
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) {
    return undefined;
  }
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}
