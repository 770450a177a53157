import { fileURLToPath } from 'node:url';
import defaultExpress, { type Express } from 'express';
import { errorHandler, type KeyApi, type LoginApi, MemoryTokenStore } from 'marketgate';
import { addApi } from './api.js';
import type { AppConfig } from './config.js';
import { lastWord, notFound } from './errors.js';
import { addLogin } from './login.js';
import { LoginCookie } from './login-cookie.js';

/** What {@link createApp} is given beside its configuration. */
export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  /** Express 5 or 4; the tests run both. */
  express?: typeof defaultExpress;
  /** The present as epoch milliseconds, for tests. */
  clock?: () => number;
}

/** The app, which listens nowhere yet. There is no express-session in it. */
export function createApp(config: AppConfig, parts: AppParts): Express {
  const { keyApi, loginApi, express = defaultExpress, clock = Date.now } = parts;
  // The one thing the server keeps. Several processes share a store instead, as in marketgate/keyv.
  const tokenStore = new MemoryTokenStore({ clock });
  const loginCookie = new LoginCookie({
    secrets: config.cookieSecrets,
    secure: config.production,
    clock,
  });
  const app = express();
  app.disable('x-powered-by');
  // One proxy ends TLS: its X-Forwarded-Proto says whether a cookie may be "secure".
  if (config.production) app.set('trust proxy', 1);

  const policy = contentSecurityPolicy(config.mediaOrigin);
  app.use((_req, res, next) => {
    res.setHeader('Content-Security-Policy', policy);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    // The callback's address holds an auth_key: no other site gets to see where a click came from.
    res.setHeader('Referrer-Policy', 'same-origin');
    // Answers depend on who is logged in, and must not reappear after the logout.
    res.setHeader('Cache-Control', 'no-store');
    next();
  });

  app.use(loginCookie.readLogin());
  addLogin(app, { config, loginApi, tokenStore, loginCookie });
  addApi(app, { keyApi, loginApi, tokenStore, clock });
  app.use(express.static(fileURLToPath(new URL('./public', import.meta.url))));

  app.use(notFound);
  app.use(errorHandler({ loginPath: '/login' }));
  app.use(lastWord);
  return app;
}

const contentSecurityPolicy = (mediaOrigin: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src 'self' ${mediaOrigin}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
