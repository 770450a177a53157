import { fileURLToPath } from 'node:url';
import ejs from 'ejs';
import defaultExpress, {
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
} from 'express';
import session from 'express-session';
import { isMarketgateError, type KeyApi, loadItems } from 'marketgate';
import { browse, commonTags, linkTo, wishOf } from './catalogue.js';
import { format } from './format.js';
import { addItemPage } from './licence.js';

/** What {@link createApp} is given. */
export interface AppParts {
  keyApi: KeyApi;
  shopName: string;
  /** Where an item is sold. */
  buyUrl: (id: number) => string;
  /** Where pictures, video and sound come from, for the content security policy. */
  mediaOrigin: string;
  secret: string;
  /** Cookies only over https, behind one proxy that ends TLS. */
  production?: boolean;
  /** Express 5 or 4; the tests run both. */
  express?: typeof defaultExpress;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The shop, which listens nowhere yet. */
export function createApp(parts: AppParts): Express {
  const { keyApi, shopName, buyUrl, secret, production = false, express = defaultExpress } = parts;
  const app = express();
  app.disable('x-powered-by');
  if (production) app.set('trust proxy', 1);
  app.engine('ejs', ejs.renderFile);
  app.set('view engine', 'ejs');
  app.set('views', here('./views'));
  Object.assign(app.locals, format, { shopName, linkTo });

  app.use(headers(parts.mediaOrigin));
  app.use('/assets', express.static(here('./public'), { maxAge: '1h' }));
  app.use(sameOriginPosts);
  app.use(express.urlencoded({ extended: false, limit: '10kb' }));
  app.use(
    session({
      secret,
      name: production ? '__Host-store' : 'store',
      resave: false,
      // No cookie for visitors who only look around.
      saveUninitialized: false,
      cookie: { httpOnly: true, secure: production, sameSite: 'lax', maxAge: 30 * 86_400_000 },
    }),
  );

  // One call fills the catalogue, each item's page, and every visitor's search, for five minutes.
  app.get('/', loadItems(keyApi), (req, res) => {
    const items = req.marketplace?.items ?? [];
    res.render('catalogue', { shelf: browse(items, wishOf(req.query)), tags: commonTags(items) });
  });
  addItemPage(app, keyApi, buyUrl);

  app.use((_req, res) => void res.status(404).render('error', words(404)));
  app.use(errorPage);
  return app;
}

const headers = (mediaOrigin: string): RequestHandler => {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self' data: ${mediaOrigin}`,
    `media-src ${mediaOrigin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_req, res, next) => {
    res.set('Content-Security-Policy', policy);
    res.set('X-Content-Type-Options', 'nosniff');
    res.set('Referrer-Policy', 'same-origin');
    // A page can show somebody's licence.
    res.set('Cache-Control', 'private, no-cache');
    next();
  };
};

/** Forms only from our own pages: browsers say where a request comes from, and no page can forge it. */
const sameOriginPosts: RequestHandler = (req, res, next) => {
  const from = req.headers['sec-fetch-site'];
  const isOurs = from === undefined || from === 'same-origin' || from === 'none';
  if (req.method === 'GET' || req.method === 'HEAD' || isOurs) return next();
  res.status(403).render('error', words(403));
};

function words(status: number): { title: string; text: string } {
  if (status === 404)
    return {
      title: 'There is no such page',
      text: 'It may have moved, or the item is not sold any more.',
    };
  if (status < 500)
    return { title: 'That did not work', text: 'We could not read what your browser sent.' };
  return {
    title: 'The shop is closed for a moment',
    text: 'The marketplace does not answer. Please try again soon.',
  };
}

const errorPage: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (res.headersSent) return next(error);
  const { status: given } = (error ?? {}) as { status?: unknown };
  const status = typeof given === 'number' && given >= 400 && given < 600 ? given : 500;
  if (status >= 500) console.error(`${req.method} ${req.path}:`, error);
  if (isMarketgateError(error) && error.retryAfter !== undefined) {
    res.set('Retry-After', String(Math.ceil(error.retryAfter)));
  }
  // A mistyped id is to a visitor what a missing item is.
  const isMissing = isMarketgateError(error) && error.code === 'item_id_invalid';
  res.status(isMissing ? 404 : status).render('error', words(isMissing ? 404 : status));
};
