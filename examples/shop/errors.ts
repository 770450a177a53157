import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { isMarketgateError, type MarketgateErrorCode } from 'marketgate';
import { type Page, sendPage } from './send-page.js';
import type { Shop } from './shop.js';
import { errorView } from './views/error.js';
import { LOGIN_FAILED, type Words, wordsFor } from './words.js';

/** An error of the shop's own that already says what a visitor is told. */
export class PageError extends Error {
  override readonly name = 'PageError';

  constructor(
    readonly status: number,
    readonly words: Words,
  ) {
    super(words.title);
  }
}

export const notFound: RequestHandler = (_req, _res, next) =>
  next(
    new PageError(404, {
      title: 'There is no such page',
      text: 'The address may be mistyped, or the page has moved.',
    }),
  );

/** Whether a person is asking. Programs, and requests that do not say, get JSON from the package's handler. */
export const wantsPage = (req: Request): boolean => req.accepts(['json', 'html']) === 'html';

/** What went wrong with a code that was sent in a form. */
export interface CodeProblem {
  readonly code: MarketgateErrorCode;
  /** What was in the field, so that nobody has to paste it again. */
  readonly entered: string;
}

/**
 * Shows what came of a purchase code beside the field it was entered in. A refusal and an outage come
 * here alike; they differ in words and status. Goes behind the guard, in the same route.
 */
export function onTheForm(
  shop: Shop,
  pageOf: (req: Request, problem: CodeProblem) => Page | undefined,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (!isMarketgateError(error) || !wantsPage(req)) return next(error);
    const field = (req.body as { purchase_code?: unknown } | undefined)?.purchase_code;
    const entered = typeof field === 'string' ? field.trim() : '';
    const page = pageOf(req, { code: error.code, entered });
    if (page === undefined) return next(error);
    if (error.status >= 500) shop.onError(error, req);
    retryLater(res, error);
    res.status(error.status);
    sendPage(req, res, shop, page);
  };
}

/** Shows errors to people in words, with the status that programs and search engines go by. */
export function errorPages(shop: Shop): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const status = statusOf(error);
    if (status >= 500) shop.onError(error, req);
    if (res.headersSent || !wantsPage(req)) return next(error);
    if (isMarketgateError(error)) retryLater(res, error);
    const words = wordsOf(error, status);
    // Set by passport for programs; a person gets a link instead.
    res.removeHeader('WWW-Authenticate');
    res.status(status);
    sendPage(req, res, shop, {
      title: words.title,
      main: errorView({ words, status, marketplaceName: shop.config.marketplaceName }),
    });
  };
}

/** What no one else answered, for programs. */
export const lastWord: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (res.headersSent) return next(error);
  const status = statusOf(error);
  const { title, text: detail } = wordsOf(error, status);
  res.status(status).type('application/problem+json');
  res.send(JSON.stringify({ type: 'about:blank', title, status, detail }));
};

function retryLater(res: Response, { retryAfter }: { retryAfter?: number }): void {
  if (retryAfter !== undefined) res.setHeader('Retry-After', String(Math.ceil(retryAfter)));
}

/** Errors of Express's own, a body too large for one, carry a status like those of the package. */
function statusOf(error: unknown): number {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
}

function wordsOf(error: unknown, status: number): Words {
  if (isMarketgateError(error)) return wordsFor(error.code);
  if (error instanceof PageError) return error.words;
  // Passport's own, when the strategy says "fail".
  if (error instanceof Error && error.name === 'AuthenticationError') return LOGIN_FAILED;
  if (status < 500) {
    return {
      title: 'We could not read that',
      text: 'Your browser sent something we do not understand. Please go back and try again.',
    };
  }
  return {
    title: 'Something went wrong on our side',
    text: 'We have been told. Please try again in a moment.',
  };
}
