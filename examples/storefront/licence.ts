import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express';
import {
  fromBody,
  isMarketgateError,
  type KeyApi,
  loadItem,
  loadPurchase,
  type MarketgateErrorCode,
  requirePurchase,
} from 'marketgate';

declare module 'express-session' {
  interface SessionData {
    /** The visitor's purchase codes, by the id of the item. */
    codes?: Record<string, string>;
  }
}

/** A session is no warehouse. */
const MOST = 50;

const heldCode = (req: Request): string | undefined => req.session.codes?.[String(req.params.id)];

const pageOf = (req: Request): string => `/items/${Number(req.params.id)}`;

const WORDS: Partial<Record<MarketgateErrorCode, string>> = {
  purchase_required: 'Please enter your purchase code.',
  purchase_code_invalid:
    'The marketplace does not know this code. Please compare it with your receipt.',
  purchase_item_mismatch: 'This code is good, but for another item.',
  too_many_attempts: 'That were too many wrong codes. Please wait a minute.',
  service_unavailable:
    'The marketplace does not answer at the moment, so your code could not be checked. Please try again soon.',
};

/** An item's page, with the visitor's licence if there is one; and the form that brings it there. */
export function addItemPage(app: Express, keyApi: KeyApi, buyUrl: (id: number) => string): void {
  const item = loadItem(keyApi);
  // Blocks nobody: the page is for all, and only its box depends on what the code is worth.
  const licence = loadPurchase(keyApi, {
    code: heldCode,
    item: (req) => Number(req.params.id),
    // Codes that were accepted before, from the visitor's own session: nobody guesses here.
    guessLimit: false,
  });
  const show =
    (problem?: string): RequestHandler =>
    (req, res) => {
      const { item, verdict, purchase } = req.marketplace ?? {};
      if (item === undefined) throw new Error('loadItem has not run');
      // A code that the marketplace has called invalid since, as after a refund, is no licence.
      const held = heldCode(req) === undefined ? 'absent' : (verdict ?? 'absent');
      const support = Date.parse(purchase?.supported_until ?? '');
      res.render('item', {
        ...{ item, verdict: held, purchase, problem },
        codeEnd: heldCode(req)?.slice(-4),
        isSupported: support > keyApi.clock(),
        buyUrl: buyUrl(item.id),
      });
    };
  app.get('/items/:id', item, licence, show());

  const guard = requirePurchase(keyApi, {
    code: fromBody('purchase_code'),
    item: (req) => Number(req.params.id),
  });
  const keep: RequestHandler = (req, res, next) => {
    if (req.marketplace?.purchase === undefined) return next();
    // What the visitor has sent: some deployments mask the code in their answer.
    const code = String(req.body.purchase_code).trim();
    const others = Object.entries(req.session.codes ?? {}).slice(1 - MOST);
    req.session.codes = { ...Object.fromEntries(others), [String(req.params.id)]: code };
    // Saved before the browser is sent on: it could be there before its session is.
    req.session.save((error) => (error ? next(error) : res.redirect(303, pageOf(req))));
  };
  const refused: ErrorRequestHandler = (error: unknown, req, res, next) => {
    const words = isMarketgateError(error) ? WORDS[error.code] : undefined;
    if (!isMarketgateError(error) || words === undefined || !req.marketplace?.item)
      return next(error);
    if (error.retryAfter !== undefined) res.set('Retry-After', String(Math.ceil(error.retryAfter)));
    res.status(error.status);
    show(words)(req, res, next);
  };
  app.post('/items/:id/licence', item, guard, keep, refused);

  app.post('/items/:id/licence/forget', item, (req, res, next) => {
    delete req.session.codes?.[String(req.params.id)];
    req.session.save((error) => (error ? next(error) : res.redirect(303, pageOf(req))));
  });
}
