import { fileURLToPath } from 'node:url';
import defaultExpress, { type Express, type RequestHandler } from 'express';
import session from 'express-session';
import { errorHandler, type KeyApi, type LoginApi } from 'marketgate';
import { errorPage, notFound, PublicError } from './errors.js';
import type { LicenceStore } from './licences.js';
import { addLogin } from './login.js';
import { addRoutes } from './routes.js';
import { Secrets } from './secrets.js';

/** What {@link createApp} is given. */
export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  licences: LicenceStore;
  secret: string;
  /** Cookies only over https, behind one proxy that ends TLS. */
  production?: boolean;
  /** Where pictures of items come from, for the content security policy. */
  mediaOrigin: string;
  express?: typeof defaultExpress;
  /** The present as epoch milliseconds, for tests. */
  clock?: () => number;
}

/** The app, which listens nowhere yet. */
export function createApp(parts: AppParts): Express {
  const { express = defaultExpress, production = false, clock = Date.now } = parts;
  const { keyApi, loginApi, licences, secret, mediaOrigin } = parts;
  const app = express();
  app.disable('x-powered-by');
  if (production) app.set('trust proxy', 1);
  app.use(headers(mediaOrigin));
  app.use('/assets', express.static(fileURLToPath(new URL('./public', import.meta.url))));
  app.use(sameOriginPosts);
  app.use(express.urlencoded({ extended: false, limit: '10kb' }));
  app.use(
    session({
      secret,
      name: production ? '__Host-downloads' : 'downloads',
      resave: false,
      saveUninitialized: false,
      cookie: { httpOnly: true, secure: production, sameSite: 'lax', maxAge: 12 * 3_600_000 },
    }),
  );
  addLogin(app, loginApi);
  addRoutes(app, { keyApi, licences, secrets: new Secrets(secret), clock });
  app.use(notFound);
  // Sends visitors whose login is missing through it, and programs problem+json; the rest goes on.
  app.use(problemsForPrograms(errorHandler({ loginPath: '/login' })));
  app.use(errorPage);
  return app;
}

/** The package's handler for whoever does not want a page. */
const problemsForPrograms =
  (handler: ReturnType<typeof errorHandler>): ReturnType<typeof errorHandler> =>
  (error, req, res, next) => {
    const isLogin = (error as { code?: unknown } | undefined)?.code === 'login_required';
    const wantsPage = req.accepts(['json', 'html']) === 'html';
    if (wantsPage && !isLogin) return next(error);
    handler(error, req, res, next);
  };

const headers = (mediaOrigin: string): RequestHandler => {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self' data: ${mediaOrigin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_req, res, next) => {
    res.set('Content-Security-Policy', policy);
    res.set('X-Content-Type-Options', 'nosniff');
    // Addresses here hold auth_keys and signatures: no other site gets to see one.
    res.set('Referrer-Policy', 'same-origin');
    res.set('Cache-Control', 'no-store');
    next();
  };
};

/** Forms only from our own pages: browsers say where a request comes from, and no page can forge it. */
const sameOriginPosts: RequestHandler = (req, _res, next) => {
  const from = req.headers['sec-fetch-site'];
  const isOurs = from === undefined || from === 'same-origin' || from === 'none';
  if (req.method === 'GET' || req.method === 'HEAD' || isOurs) return next();
  next(new PublicError(403, 'This form was sent from another site.'));
};
