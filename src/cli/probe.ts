import type { Dispatcher } from 'undici';
import { isMarketgateError } from '../errors/marketgate-error.js';
import { Deadline } from '../http/deadline.js';

/** What an address answered, before anybody asks what it means. */
export interface Probe {
  readonly status: number;
  /** Milliseconds that the other clock is ahead of ours; `undefined` when it does not say. */
  readonly skew: number | undefined;
}

const LONGEST = 10_000;

/** Opens a page as it is, and follows nothing. Rejects with words that name the failure. */
export async function probe(url: string): Promise<Probe> {
  const { request } = await import('undici');
  const deadline = new Deadline('GET', LONGEST);
  try {
    const answer: Dispatcher.ResponseData = await deadline.race(request(url, { method: 'GET' }));
    await answer.body.dump();
    return { status: answer.statusCode, skew: skewOf(answer.headers.date) };
  } catch (error) {
    throw new Error(
      isMarketgateError(error) ? `no answer within ${LONGEST / 1000} s` : codeOf(error),
    );
  } finally {
    deadline.dispose();
  }
}

/** The error's code: its message can hold the address, and with it a secret. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'no connection';
}

/** How far a `Date` header is ahead of this machine's clock, in milliseconds. */
function skewOf(header: string | string[] | undefined): number | undefined {
  const at = typeof header === 'string' ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : at - Date.now();
}
