import { fileURLToPath } from 'node:url';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
} from 'express';
import session from 'express-session';
import {
  errorHandler,
  fromBody,
  isMarketgateError,
  type KeyApi,
  type LoginApi,
  MarketplaceStrategy,
  MemoryTokenStore,
  purchaseOf,
  requireLogin,
  requirePurchase,
  returnTo,
} from 'marketgate';
import { Passport } from 'passport';
import type { LicenceStore } from './licences.js';
import { checkLink, signedLink } from './links.js';
import { type Customer, page } from './page.js';

declare module 'express-session' {
  interface SessionData {
    /** Shown on the next page, once. */
    notice?: string;
  }
}

export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  licences: LicenceStore;
  /** Signs sessions and links. */
  secret: string;
  /** Now, in epoch milliseconds; for tests. */
  clock?: () => number;
}

/** An error whose message is for the visitor. */
class PublicError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const customerOf = (req: Request): Customer | undefined => req.user as Customer | undefined;

export function createApp(parts: AppParts): Express {
  const { keyApi, loginApi, licences, secret, clock = Date.now } = parts;
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy(
      { loginApi, tokenStore: new MemoryTokenStore() },
      ({ profile }): Customer => ({ id: profile.id, name: profile.displayName ?? profile.id }),
    ),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser<Customer>((user, done) => done(null, user));

  const app = express();
  app.use('/assets', express.static(fileURLToPath(new URL('./public', import.meta.url))));
  app.use(express.urlencoded({ extended: false, limit: '10kb' }));
  app.use(
    session({ secret, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }),
    passport.session(),
  );
  const mustLogIn = requireLogin({ loginPath: '/login' });

  app.get('/login', passport.authenticate('marketplace'));
  app.get('/callback', passport.authenticate('marketplace', { failWithError: true }), (req, res) =>
    res.redirect(returnTo(req) ?? '/'),
  );
  app.post('/logout', (req, res, next) => {
    req.logout((error) => (error ? next(error) : res.redirect(303, '/')));
  });

  const show = (req: Request, problem?: string): string => {
    const customer = customerOf(req);
    const { notice } = req.session;
    delete req.session.notice;
    const owned = customer ? licences.of(customer.id) : [];
    const entered = req.body?.purchase_code;
    return page({ customer, licences: owned, notice, entered, ...(problem && { problem }) });
  };
  app.get('/', (req, res) => void res.send(show(req)));

  const redeem: RequestHandler = async (req, res) => {
    const customer = customerOf(req);
    if (!customer) throw new Error('requireLogin must run first');
    const licence = await licences.redeem(customer.id, req.body.purchase_code, purchaseOf(req));
    req.session.notice = `${licence.itemName} is yours now.`;
    res.redirect(303, '/');
  };
  // One code, one customer: the account that comes first holds it.
  const holder = { store: licences, id: (req: Request) => customerOf(req)?.id };
  app.post('/redeem', mustLogIn, requirePurchase(keyApi, { code: fromBody(), holder }), redeem);

  app.post('/licences/:id/link', mustLogIn, async (req, res) => {
    const licence = licences.find(req.params.id);
    if (!licence || licence.userId !== customerOf(req)?.id) {
      throw new PublicError(404, 'You have no such licence.');
    }
    // Past the cache, so that a refund counts at once. In an outage the last answer counts, so that
    // nobody loses their files.
    const purchase = await keyApi
      .validatePurchase(licence.code, { fresh: true })
      .catch(() => keyApi.validatePurchase(licence.code));
    if (purchase === null) {
      await licences.remove(licence);
      throw new PublicError(403, `Your purchase of ${licence.itemName} is not valid any more.`);
    }
    res.redirect(303, signedLink(secret, licence.id, clock()));
  });

  app.get('/files/:id', (req, res) => {
    const licence = licences.find(req.params.id);
    const verdict = checkLink(secret, req.params.id, req.query, clock());
    if (verdict === 'expired') throw new PublicError(410, 'This link has expired. Start again.');
    if (verdict === 'forged' || !licence) throw new PublicError(403, 'This link is not valid.');
    // A real app sends a file: `res.download(path)`.
    res.attachment(`item-${licence.itemId}.txt`).send(`Thank you for ${licence.itemName}.\n`);
  });

  app.use((_req, _res, next) => next(new PublicError(404, 'There is no such page.')));
  app.use(onThePage(show));
  app.use(errorHandler({ loginPath: '/login' }));
  return app;
}

const WORDS: Readonly<Record<string, string>> = {
  purchase_required: 'Please enter your purchase code.',
  purchase_code_invalid: 'The marketplace does not know this code.',
  purchase_held: 'This code was redeemed with another account.',
  too_many_attempts: 'There were too many wrong codes. Please wait a minute.',
  service_unavailable:
    'The marketplace does not answer, so your code could not be checked. Please try again soon.',
};

/** Shows logged-in customers on the page what went wrong; the rest is for `errorHandler`. */
const onThePage =
  (show: (req: Request, problem?: string) => string): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    const words = isMarketgateError(error) ? WORDS[error.code] : undefined;
    const isPublic = error instanceof PublicError;
    if (isPublic) res.status(error.status).send(show(req, error.message));
    else if (words && customerOf(req) && isMarketgateError(error)) {
      if (error.retryAfter) res.set('Retry-After', String(Math.ceil(error.retryAfter)));
      res.status(error.status).send(show(req, words));
    } else next(error);
  };
