import { fileURLToPath } from 'node:url';
import ejs from 'ejs';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
} from 'express';
import session from 'express-session';
import {
  fromBody,
  isMarketgateError,
  itemOf,
  itemsOf,
  type KeyApi,
  loadItem,
  loadItems,
  loadPurchase,
  requirePurchase,
} from 'marketgate';

declare module 'express-session' {
  interface SessionData {
    /** The visitor's purchase codes, by item id. */
    codes?: Record<string, string>;
  }
}

export interface AppParts {
  keyApi: KeyApi;
  /** Signs the session cookie. */
  secret: string;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const itemIdOf = (req: Request): number => Number(req.params.id);
const savedCodeOf = (req: Request): string | undefined => req.session.codes?.[itemIdOf(req)];

/** The shop, which listens nowhere yet. */
export function createApp({ keyApi, secret }: AppParts): Express {
  const app = express();
  app.engine('ejs', ejs.renderFile);
  app.set('view engine', 'ejs');
  app.set('views', here('./views'));
  Object.assign(app.locals, { money, day, webUrl });

  app.use('/assets', express.static(here('./public')));
  app.use(express.urlencoded({ extended: false, limit: '10kb' }));
  app.use(
    session({ secret, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }),
  );

  // One request fills the catalogue and every item's page for five minutes.
  app.get('/', loadItems(keyApi), (req, res) => {
    const all = itemsOf(req);
    const { tag } = req.query;
    const items = typeof tag === 'string' ? all.filter((item) => item.tags?.includes(tag)) : all;
    res.render('catalogue', { items, tag: items === all ? undefined : tag });
  });

  app.get(
    '/items/:id',
    loadItem(keyApi),
    // Blocks nobody: everyone sees the page, and its box depends on the verdict.
    loadPurchase(keyApi, { code: savedCodeOf, item: itemIdOf, guessLimit: false }),
    (req, res) => {
      const { verdict, purchase } = req.marketplace ?? {};
      const isSupported = Date.parse(purchase?.supported_until ?? '') > keyApi.clock();
      res.render('item', { item: itemOf(req), verdict, purchase, isSupported, problem: undefined });
    },
  );

  const keepCode: RequestHandler = (req, res, next) => {
    // The code as the visitor sent it, because some deployments mask the one in their answer.
    req.session.codes = { ...req.session.codes, [itemIdOf(req)]: req.body.purchase_code };
    // Saved before the redirect, because the browser can be faster than the session store.
    req.session.save((error) =>
      error ? next(error) : res.redirect(303, `/items/${itemIdOf(req)}`),
    );
  };
  const guard = requirePurchase(keyApi, { code: fromBody(), item: itemIdOf });
  app.post('/items/:id/licence', loadItem(keyApi), guard, keepCode, showOnTheForm);

  app.use((_req, res) => void res.status(404).render('error', { status: 404 }));
  app.use(errorPage);
  return app;
}

const WORDS: Readonly<Record<string, string>> = {
  purchase_required: 'Please enter your purchase code.',
  purchase_code_invalid: 'The marketplace does not know this code.',
  purchase_item_mismatch: 'This code is for another item.',
  too_many_attempts: 'There were too many wrong codes. Please wait a minute.',
  service_unavailable:
    'The marketplace does not answer, so your code could not be checked. Please try again soon.',
};

const showOnTheForm: ErrorRequestHandler = (error: unknown, req, res, next) => {
  const problem = isMarketgateError(error) ? WORDS[error.code] : undefined;
  const item = req.marketplace?.item;
  if (!isMarketgateError(error) || !problem || !item) return next(error);
  if (error.retryAfter) res.set('Retry-After', String(Math.ceil(error.retryAfter)));
  // The field keeps what was typed.
  const entered = String(req.body?.purchase_code ?? '');
  res.status(error.status).render('item', { item, problem, verdict: 'absent', entered });
};

const errorPage: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (res.headersSent) return next(error);
  const { status = 500 } = error as { status?: number };
  if (status >= 500) console.error(`${req.method} ${req.path}:`, error);
  res.status(status).render('error', { status });
};

/** "$24", "€20.50"; a currency that Intl does not know is appended. */
function money(amount: number, currency = 'USD'): string {
  const minimumFractionDigits = Number.isInteger(amount) ? 0 : 2;
  try {
    const style = { style: 'currency', currency, minimumFractionDigits } as const;
    return new Intl.NumberFormat('en', style).format(amount);
  } catch {
    return `${amount} ${currency}`;
  }
}

const day = (iso: string): string =>
  new Date(iso).toLocaleDateString('en', { dateStyle: 'long', timeZone: 'UTC' });

/** Only web addresses become links: escaping leaves `javascript:` as it is. */
const webUrl = (url: string | undefined): string | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;
