import { networkFailure } from '../http/failure.js';

/** What an address answered, before anybody asks what it means. */
export interface Probe {
  readonly status: number;
  /** The media type, in small letters; an empty string when it does not say. */
  readonly type: string;
  /** Milliseconds that the other clock is ahead of ours; `undefined` when it does not say. */
  readonly skew: number | undefined;
}

const header = (value: string | string[] | undefined): string =>
  typeof value === 'string' ? value : '';

/**
 * Opens a page as it is, and follows nothing. Only the head is waited for: a body may never end.
 * Rejects with words that name the failure and hold no part of the address.
 */
export async function probe(url: string, timeout: number): Promise<Probe> {
  const { request } = await import('undici');
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(), timeout);
  try {
    const { statusCode, headers, body } = await request(url, { signal: timeUp.signal });
    body.on('error', () => undefined).destroy();
    return {
      status: statusCode,
      type: (header(headers['content-type']).split(';')[0] ?? '').trim().toLowerCase(),
      skew: skewOf(header(headers.date)),
    };
  } catch (error) {
    throw new Error(timeUp.signal.aborted ? noAnswer(timeout) : inWords(error));
  } finally {
    clearTimeout(timer);
  }
}

/** What did not happen in time, in words. */
export const noAnswer = (timeout: number): string => `no answer within ${timeout} ms`;

/** A failure below HTTP in words, without its message: that can hold the address, and with it a secret. */
export function inWords(error: unknown): string {
  const { cause } = networkFailure('', error);
  return cause instanceof Error ? cause.message : 'no connection';
}

/** How far a `Date` header is ahead of this machine's clock, in milliseconds. */
function skewOf(date: string): number | undefined {
  const at = Date.parse(date);
  return Number.isNaN(at) ? undefined : at - Date.now();
}
