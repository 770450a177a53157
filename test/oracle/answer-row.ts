import type { MarketgateErrorCode } from 'marketgate';
import { text, type WireAnswer } from '../support/service-in-memory.js';

/** How a call ends: with a positive or a negative answer, or with an error of this code. */
export type End = 'positive' | 'negative' | MarketgateErrorCode;

/** An answer of the service, and how the calls end that get it: by the contract, for each endpoint. */
export interface AnswerRow<Endpoint extends string> {
  readonly name: string;
  readonly statuses: readonly number[];
  /** The body: text as it is, or what JSON is made of; by endpoint where they differ. */
  readonly body: string | ((endpoint: Endpoint) => unknown);
  /** By endpoint; one that is not named does not have this answer. */
  readonly ends: Readonly<Partial<Record<Endpoint, End>>>;
  readonly says?: RegExp;
}

/** A row of a table; `says` can be left out. */
export const answerRow = <E extends string>(
  name: string,
  statuses: readonly number[],
  body: AnswerRow<E>['body'],
  ends: AnswerRow<E>['ends'],
  says?: RegExp,
): AnswerRow<E> => ({ name, statuses, body, ends, ...(says && { says }) });

/** With which endpoints and statuses a row is tried: all of them, and all statuses for each end, but not their product. */
export function pairsOf<E extends string>({ statuses, ends }: AnswerRow<E>) {
  const given = Object.entries(ends) as [E, End][];
  return [...new Set(given.map(([, end]) => end))].flatMap((end) => {
    const endpoints = given.filter((each) => each[1] === end).map(([endpoint]) => endpoint);
    return Array.from({ length: Math.max(statuses.length, endpoints.length) }, (_, n) => ({
      end,
      endpoint: endpoints[n % endpoints.length] as E,
      status: statuses[n % statuses.length] as number,
    }));
  });
}

export function answerOf<E extends string>({ body }: AnswerRow<E>, endpoint: E, status: number) {
  const made = typeof body === 'string' ? body : body(endpoint);
  return text(typeof made === 'string' ? made : JSON.stringify(made), status) as WireAnswer;
}

export const PAGE = '<!DOCTYPE html><html><body>Maintenance</body></html>';
/** Statuses that say nothing by themselves. */
export const REFUSED_4XX = [400, 402, 405, 422];
/** Statuses that say "not now", whatever the body says. */
export const NOT_NOW = [408, 425, 429, 500, 503, 599];
/** Two of them, where which one it is makes no difference. */
export const BUSY = [429, 503];
