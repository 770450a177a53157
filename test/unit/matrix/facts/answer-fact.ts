import type { MarketgateErrorCode } from 'marketgate';

/** How a call ends. */
export type End = 'answer' | 'no' | MarketgateErrorCode;

/** One answer of the service, and what the contract makes of it ("How an answer is judged"). */
export interface AnswerFact<Endpoint extends string> {
  readonly name: string;
  readonly statuses: readonly number[];
  /** The body: text as it is, or what JSON is made of; by endpoint where they differ. */
  readonly body: string | ((endpoint: Endpoint) => unknown);
  readonly ends: Readonly<Record<Endpoint, End>>;
}

/** A page for people. */
export const PAGE = '<!DOCTYPE html><html><body>Maintenance</body></html>';
/** Statuses that say nothing by themselves. */
export const REFUSED_4XX = [400, 402, 405, 409, 410, 415, 422, 451];
/** Statuses that say "not now", whatever the body says. */
export const NOT_NOW = [408, 425, 429, 500, 501, 502, 503, 504, 520, 599];
