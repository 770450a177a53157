import { fileURLToPath } from 'node:url';
import defaultExpress, { type Express } from 'express';
import session, { type Store } from 'express-session';
import { errorHandler, MemoryTokenStore } from 'marketgate';
import type { AppConfig } from './config.js';
import { errorPages, lastWord, notFound } from './errors.js';
import type { Marketplace } from './marketplace.js';
import { addAccount } from './routes/account.js';
import { addCatalogue } from './routes/catalogue.js';
import { addDownload } from './routes/download.js';
import { addLogin } from './routes/login.js';
import { addRedeem } from './routes/redeem.js';
import { addSupport } from './routes/support.js';
import { sameOriginPosts } from './security/same-origin-posts.js';
import { securityHeaders } from './security/security-headers.js';
import type { OnError, Shop } from './shop.js';

/** What {@link createApp} is given beside its configuration. */
export interface AppParts extends Pick<Marketplace, 'keyApi' | 'loginApi'> {
  /** Express 5 or 4; the tests run both. */
  express?: typeof defaultExpress;
  /** Where sessions are kept. Default: this process's memory; several processes share one instead. */
  sessionStore?: Store;
  /** Told of what went wrong on our side or the marketplace's, for a log. */
  onError?: OnError;
}

/** The shop as an Express app that listens nowhere yet. The order of what follows matters. */
export function createApp(config: AppConfig, parts: AppParts): Express {
  const { keyApi, loginApi, express = defaultExpress, sessionStore, onError = () => {} } = parts;
  const shop: Shop = { config, keyApi, loginApi, tokenStore: new MemoryTokenStore(), onError };
  const app = express();

  app.disable('x-powered-by');
  // One proxy ends TLS: its X-Forwarded-Proto says whether a cookie may be "secure".
  if (config.production) app.set('trust proxy', 1);

  app.use(securityHeaders(config));
  app.use('/assets', express.static(PUBLIC, ASSETS));
  // Pages depend on who is logged in, and must not reappear after the logout.
  app.use((_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  app.use(sameOriginPosts());
  app.use(express.urlencoded({ extended: false, limit: '10kb' }));
  app.use(
    session({
      ...(sessionStore && { store: sessionStore }),
      secret: config.sessionSecret,
      // Browsers take a cookie of this prefix only from this very host, over https.
      name: config.production ? '__Host-shop' : 'shop',
      resave: false,
      saveUninitialized: false,
      cookie: {
        httpOnly: true,
        secure: config.production,
        // Lax and not strict: the visitor comes back from the marketplace, which is another site.
        sameSite: 'lax',
        maxAge: 12 * 3_600_000,
      },
    }),
  );

  addLogin(app, shop);
  addCatalogue(app, shop);
  addAccount(app, shop);
  addRedeem(app, shop);
  addDownload(app, shop);
  addSupport(app, shop);

  app.use(notFound);
  // People get our own page; who asks for JSON gets the package's problem+json (RFC 9457).
  app.use(errorPages(shop));
  app.use(errorHandler());
  app.use(lastWord);
  return app;
}

const PUBLIC = fileURLToPath(new URL('./public', import.meta.url));
const ASSETS = { maxAge: '1h', index: false, redirect: false };
