import type { ErrorRequestHandler, RequestHandler } from 'express';
import { isMarketgateError, type MarketgateErrorCode } from 'marketgate';
import { page } from './views/page.js';

/** An error that already says what a visitor is told. */
export class PublicError extends Error {
  override readonly name = 'PublicError';

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const WORDS: Partial<Record<MarketgateErrorCode, string>> = {
  purchase_required: 'Please enter your purchase code.',
  purchase_code_invalid:
    'The marketplace does not know this code. It may be mistyped, refunded, or of another shop.',
  too_many_attempts: 'That were too many wrong codes. Please wait a minute.',
  service_unavailable:
    'The marketplace does not answer at the moment, so your code could not be checked. Please try again soon; nothing is wrong with it.',
  login_required: 'Please log in first.',
};

/** What a visitor is told of an error; never its own message when that is for the log. */
export function wordsFor(error: unknown): string {
  if (error instanceof PublicError) return error.message;
  if (isMarketgateError(error)) {
    return (
      WORDS[error.code] ?? (error.expose ? error.message : 'Something went wrong on our side.')
    );
  }
  return 'Something went wrong on our side. Please try again in a moment.';
}

export function statusOf(error: unknown): number {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
}

export const notFound: RequestHandler = (_req, _res, next) =>
  next(new PublicError(404, 'There is no such page.'));

/** The last handler: a page in words, with the right status. */
export const errorPage: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (res.headersSent) return next(error);
  const status = statusOf(error);
  // The path and no query: that of the callback holds an auth_key, that of a file its signature.
  if (status >= 500) console.error(`${req.method} ${req.path}:`, error);
  if (isMarketgateError(error) && error.retryAfter !== undefined) {
    res.set('Retry-After', String(Math.ceil(error.retryAfter)));
  }
  res
    .status(status)
    .type('html')
    .send(page({ title: 'That did not work', problem: wordsFor(error) }));
};
