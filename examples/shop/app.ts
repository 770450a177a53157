import { join } from 'node:path';
import express, { type Express, type Request, type RequestHandler } from 'express';
import session from 'express-session';
import { errorHandler, type KeyApi, type LoginApi } from 'marketgate';
import { errorPages, notFound, PageError } from './errors.js';
import type { Shop } from './layout.js';
import { addLogin } from './login.js';
import { addRoutes } from './routes.js';

export const SHOP_NAME = 'Northlight Studio';

/** What the page "Continue as NAME?" shows of the shop. */
const site = { name: SHOP_NAME, logo: '/assets/icon.svg', home: '/', contact: '/contact' };

export interface AppParts extends Omit<Shop, 'shopName' | 'clock'> {
  /** By default the time of this machine. */
  clock?: (() => number) | undefined;
  keyApi: KeyApi;
  loginApi: LoginApi;
  sessionSecret: string;
  /** Where images, video and audio come from, for the content security policy. */
  mediaOrigin: string;
  /** Cookies are `Secure`, and one proxy terminates TLS. */
  production: boolean;
}

/** The shop, which listens nowhere yet. */
export function createApp(parts: AppParts): Express {
  const { keyApi, loginApi, buyUrl, sessionSecret, mediaOrigin, production } = parts;
  const { clock = Date.now, onError } = parts;
  const shop: Shop = { shopName: SHOP_NAME, keyApi, buyUrl, clock, onError };
  const app = express();
  app.disable('x-powered-by');
  if (production) app.set('trust proxy', 1);

  app.use(securityHeaders(mediaOrigin));
  const assets = join(import.meta.dirname, 'public');
  app.use('/assets', express.static(assets, { maxAge: '1h' }));
  app.use((_req, res, next) => {
    // Pages depend on who is logged in, and must not reappear after the logout.
    res.set('Cache-Control', 'no-store');
    next();
  });
  app.use(sameOriginPosts);
  app.use(express.urlencoded({ extended: false, limit: '10kb' }));
  app.use(
    session({
      secret: sessionSecret,
      name: production ? '__Host-shop' : 'shop',
      resave: false,
      saveUninitialized: false,
      // Lax and not strict, because the visitor comes back from another site.
      cookie: { httpOnly: true, secure: production, sameSite: 'lax', maxAge: 12 * 3_600_000 },
    }),
  );
  addLogin(app, loginApi);
  addRoutes(app, shop);

  app.use(notFound);
  // Visitors get a page; programs get problem+json (RFC 9457).
  app.use(errorPages(shop));
  app.use(errorHandler({ site }));
  return app;
}

/** The pages have no scripts, so none is allowed. */
function securityHeaders(mediaOrigin: string): RequestHandler {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self' ${mediaOrigin}`,
    `media-src ${mediaOrigin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_req, res, next) => {
    res.set('Content-Security-Policy', policy);
    res.set('X-Content-Type-Options', 'nosniff');
    // The URL of the callback contains an auth_key, which other sites must not see.
    res.set('Referrer-Policy', 'same-origin');
    next();
  };
}

/**
 * Refuses forms of other origins, against cross-site request forgery. Browsers send `Sec-Fetch-Site`, older
 * ones `Origin`. A request with neither is from a program, which has no visitor's cookies.
 */
const sameOriginPosts: RequestHandler = (req, _res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD' || isSameOrigin(req)) return next();
  const text = 'We only accept forms from our own pages. Please open the page here and try again.';
  next(new PageError(403, { title: 'This form was sent from another site', text }));
};

function isSameOrigin(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = req.headers;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}
