import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { isMarketgateError } from 'marketgate';
import { type Html, html, type Page, type Shop, sendPage } from './layout.js';

/** What a customer reads: what happened, and what to do. */
export interface Words {
  readonly title: string;
  readonly text: string;
  /** A step that helps. */
  readonly next?: 'login' | 'redeem' | 'contact' | 'renew';
}

const OUTAGE: Words = {
  title: 'We cannot ask the marketplace right now',
  text: 'Your purchase code may well be fine. Please try again in a few minutes.',
};

/** The same on pages that no purchase code was sent from. */
const OUTAGE_OF_PAGE: Words = {
  title: OUTAGE.title,
  text: 'Nothing is wrong on your side. Please try again in a few minutes.',
};

const LOGIN_FAILED: Words = {
  title: 'The login did not work',
  text: 'It was already used, was started in another browser, or took too long. Please log in again.',
  next: 'login',
};

/** For the customer, by error code. None of the outages reads as "your code is wrong". */
const WORDS: Readonly<Record<string, Words>> = {
  purchase_required: {
    title: 'This is for customers',
    text: 'Please enter the purchase code you got when you bought the item.',
    next: 'redeem',
  },
  purchase_code_invalid: {
    title: 'The marketplace does not know this code',
    text: 'Please check that you copied the whole code. A code stops working after a refund.',
    next: 'redeem',
  },
  purchase_item_mismatch: {
    title: 'This code is for another item',
    text: 'The code is valid for something else you bought. Please use the code of this item.',
    next: 'redeem',
  },
  purchase_held: {
    title: 'This code is used by another account',
    text: 'If the code is yours, log in with the account you used it with first, or ask us to release it.',
    next: 'contact',
  },
  support_expired: {
    title: 'Support for this purchase has ended',
    text: 'You can still download the item. To get help again, renew the support.',
    next: 'renew',
  },
  too_many_attempts: {
    title: 'Too many attempts',
    text: 'There were too many failed attempts in a short time. Please wait a minute.',
  },
  item_not_found: {
    title: 'We do not have this item',
    text: 'It may have left the catalogue. If you bought it, you can still redeem your code.',
    next: 'redeem',
  },
  item_id_invalid: {
    title: 'This is not an item number',
    text: 'Items have whole numbers, such as 1042. Please check the address.',
  },
  login_required: {
    title: 'Please log in',
    text: 'You need to be logged in for this.',
    next: 'login',
  },
  auth_key_rejected: LOGIN_FAILED,
  login_failed: LOGIN_FAILED,
  service_unavailable: OUTAGE,
  unexpected_response: OUTAGE,
  service_refused: OUTAGE,
  api_key_rejected: OUTAGE,
};

/** As this marketplace writes its codes. */
export const CODE_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What cannot be a code needs no question to the marketplace. */
const MALFORMED: Words = {
  title: 'This does not look like a purchase code',
  text: 'A code has 36 characters: letters and digits, in five groups with dashes between them.',
  next: 'redeem',
};

const ABOUT_THE_CODE = ['purchase_required', 'purchase_code_invalid', 'purchase_item_mismatch'];

export const isAboutTheCode = (code: string): boolean => ABOUT_THE_CODE.includes(code);

/** @param entered - what was in the field of a form. */
export function wordsFor(code: string, entered?: string): Words {
  // As the guard reads it: without blanks, and with the dashes of word processors.
  const asked = entered?.replace(/\s+/g, '').replace(/[\u2010-\u2015\u2212]/g, '-');
  const isMalformed = asked !== undefined && !CODE_PATTERN.test(asked);
  if (code === 'purchase_code_invalid' && isMalformed) return MALFORMED;
  return WORDS[code] ?? { title: 'Something went wrong', text: 'Please try again in a moment.' };
}

/** An error with words of the shop's own. */
export class PageError extends Error {
  constructor(
    readonly status: number,
    readonly words: Words,
  ) {
    super(words.title);
  }
}

export const notFound: RequestHandler = (_req, _res, next) => {
  const text = 'The address may be mistyped, or the page has moved.';
  next(new PageError(404, { title: 'There is no such page', text }));
};

/** Programs, and requests without `Accept`, get JSON from the package's handler. */
const wantsPage = (req: Request): boolean => req.accepts(['json', 'html']) === 'html';

export interface CodeProblem {
  readonly code: string;
  /** What was in the field, so that nobody has to paste it again. */
  readonly entered: string;
}

/** Shows a refusal or an outage next to the form. Comes after the guard, in the same route. */
export function onTheForm(
  shop: Shop,
  pageOf: (req: Request, problem: CodeProblem) => Page | undefined,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (!isMarketgateError(error) || !wantsPage(req)) return next(error);
    const entered = String(req.body?.purchase_code ?? '').trim();
    const page = pageOf(req, { code: error.code, entered });
    if (page === undefined) return next(error);
    if (error.status >= 500) shop.onError(error, req);
    retryLater(res, error.retryAfter);
    res.status(error.status);
    sendPage(req, res, shop, page);
  };
}

/** Shows every other error as a page. */
export function errorPages(shop: Shop): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const { status: given, name } = error as { status?: number; name?: string };
    const status = given ?? 500;
    if (status >= 500) shop.onError(error, req);
    const isOurs = isMarketgateError(error);
    // Programs get problem+json (RFC 9457): of these errors from the package's handler, of all others here.
    if (res.headersSent || (isOurs && !wantsPage(req))) return next(error);
    let words: Words;
    if (isOurs) {
      words = wordsFor(error.code);
      if (words === OUTAGE) words = OUTAGE_OF_PAGE;
      retryLater(res, error.retryAfter);
    } else if (error instanceof PageError) words = error.words;
    else words = name === 'AuthenticationError' ? LOGIN_FAILED : wordsFor('other');
    res.status(status);
    if (wantsPage(req)) {
      const main = errorView(words, req.params.id);
      return sendPage(req, res, shop, { title: words.title, main });
    }
    const { title, text: detail } = words;
    const problem = { type: 'about:blank', title, status, detail };
    res.type('application/problem+json').send(JSON.stringify(problem));
  };
}

function retryLater(res: Response, seconds: number | undefined): void {
  if (seconds !== undefined) res.set('Retry-After', String(Math.ceil(seconds)));
}

/** What happened, and a step that helps. */
function errorView(words: Words, itemId: unknown): Html {
  const step = {
    login: html`<a class="button" href="/login">Log in</a>`,
    redeem: html`<a class="button" href="/redeem">Redeem a code</a>`,
    contact: html`<a class="button" href="/contact">Contact us</a>`,
    renew: html`<a class="button" href="/items/${itemId}/renew">Renew support</a>`,
  };
  return html`<div class="narrow trouble">
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
<p class="row left">
${words.next && step[words.next]}
<a class="button${words.next && ' quiet'}" href="/">To the catalogue</a>
</p>
</div>`;
}
