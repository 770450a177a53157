import { pipeline } from 'node:stream/promises';
import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express';
import {
  fromBody,
  isMarketgateError,
  type KeyApi,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { customerOf, goOn } from './customer.js';
import { PublicError, statusOf, wordsFor } from './errors.js';
import { fileOf } from './files.js';
import type { Licence, LicenceStore } from './licences.js';
import { judgeLink, signedLink } from './links.js';
import type { Secrets } from './secrets.js';
import { licencesView, welcomeView } from './views/licences.js';
import { page } from './views/page.js';

/** What the routes work with. */
export interface RouteParts {
  keyApi: KeyApi;
  licences: LicenceStore;
  secrets: Secrets;
  clock: () => number;
}

/** The page, redeeming, and downloading. */
export function addRoutes(app: Express, parts: RouteParts): void {
  const { keyApi, licences, secrets, clock } = parts;
  const { main, onThePage } = pages(parts);
  const mustLogIn = requireLogin({ loginPath: '/login' });

  app.get('/', main);

  const redeem: RequestHandler = (req, _res, next) => {
    const [customer, purchase] = [customerOf(req), req.marketplace?.purchase];
    if (customer === undefined || purchase === undefined) return next();
    licences.redeem(customer.id, purchase).then((licence) => {
      if (licence) return goOn(req, '/', `${licence.itemName} is yours now.`, next);
      next(new PublicError(409, 'This code has been redeemed with another account.'));
    }, next);
  };
  const codeGuard = requirePurchase(keyApi, { code: fromBody('purchase_code') });
  app.post('/redeem', mustLogIn, codeGuard, redeem, onThePage);

  /** The visitor's own licence, named by the address. Somebody else's is as good as none. */
  const own = (req: Request): Licence | undefined => {
    const licence = licences.find(String(req.params.id));
    return licence?.userId === customerOf(req)?.id ? licence : undefined;
  };

  /**
   * Asks the marketplace anew, past the cache: a download is rare, and a refund should count at once. The
   * answer goes into the cache, where the guard finds it. When the marketplace cannot be asked, the guard
   * goes by its last answer: an outage takes no customer's files away.
   */
  const askAnew: RequestHandler = (req, _res, next) => {
    const licence = own(req);
    if (licence === undefined) return next(new PublicError(404, 'You have no such licence.'));
    keyApi.validatePurchase(licences.codeOf(licence), { fresh: true }).then(
      () => next(),
      () => next(),
    );
  };

  const noticeRefund: ErrorRequestHandler = (error: unknown, req, _res, next) => {
    const licence = own(req);
    const isLost = isMarketgateError(error) && error.code === 'purchase_code_invalid';
    if (!isLost || licence === undefined) return next(error);
    licences
      .lose(licence)
      .then(
        () => next(new PublicError(403, 'This purchase is not valid any more, as after a refund.')),
        next,
      );
  };

  const licenceGuard = requirePurchase(keyApi, {
    code: (req) => {
      const licence = own(req);
      return licence && licences.codeOf(licence);
    },
    item: (req) => own(req)?.itemId ?? [],
    // The code comes from our own store: nobody can guess here.
    guessLimit: false,
  });
  const sendLink: RequestHandler = (req, res) =>
    res.redirect(303, signedLink(secrets, String(req.params.id), clock()));
  const refused = [noticeRefund, onThePage];
  app.post('/licences/:id/link', mustLogIn, askAnew, licenceGuard, sendLink, refused);

  app.get('/files/:id', (req, res, next) => {
    const id = String(req.params.id);
    const verdict = judgeLink(secrets, id, req.query, clock());
    const licence = licences.find(id);
    if (verdict === 'expired') {
      return next(new PublicError(410, 'This link is over a minute old. Please start again.'));
    }
    if (verdict === 'forged' || licence === undefined || licence.lostAt !== undefined) {
      return next(new PublicError(403, 'This link is not one of ours.'));
    }
    const { name, type, content } = fileOf(licence);
    res.attachment(name).type(type);
    // Waits for slow readers, and ends the source when the visitor goes away.
    pipeline(content, res).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') next(error);
    });
  });
}

/** The one page there is, by itself and with what went wrong. */
function pages({ licences, clock }: RouteParts) {
  const render = (req: Request, problem?: string): string => {
    const customer = customerOf(req);
    if (customer === undefined) return page({ title: 'Your files', problem, main: welcomeView });
    const { notice } = req.session;
    delete req.session.notice;
    const main = licencesView(licences.of(customer.id), clock());
    return page({ title: 'Your files', customer, problem, notice, main });
  };
  const main: RequestHandler = (req, res) => void res.type('html').send(render(req));
  const onThePage: ErrorRequestHandler = (error: unknown, req, res, next) => {
    // Nobody is logged in, or it is our fault: not for this page to say.
    if (customerOf(req) === undefined || statusOf(error) === 500) return next(error);
    if (isMarketgateError(error) && error.retryAfter !== undefined) {
      res.set('Retry-After', String(Math.ceil(error.retryAfter)));
    }
    res
      .status(statusOf(error))
      .type('html')
      .send(render(req, wordsFor(error)));
  };
  return { main, onThePage };
}
