import { RedisStore } from 'connect-redis';
import express, { type ErrorRequestHandler, type Express } from 'express';
import session from 'express-session';
import {
  EncryptedTokenStore,
  errorHandler,
  isMarketgateError,
  type KeyApi,
  type LoginApi,
  loadItems,
  requirePurchase,
  type TokenStore,
} from 'marketgate';
import { RedisGuessLimit, RedisTokenStore } from 'marketgate/redis';
import type { WorkerConfig } from './config.js';
import { fleetPage } from './fleet-page.js';
import { frontPage } from './front-page.js';
import { addLogin } from './login.js';
import type { WorkerTally } from './messages.js';
import type { FleetRedis } from './redis-clients.js';

/** What {@link createApp} is given beside its configuration. */
export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  client: FleetRedis;
  askTally: () => Promise<WorkerTally[]>;
}

/** The app that each worker serves. */
export function createApp(
  { production, sessionSecret, tokenKeys }: WorkerConfig,
  { keyApi, loginApi, client, askTally }: AppParts,
): Express {
  const app = express();
  app.disable('x-powered-by');
  // One proxy ends TLS: its X-Forwarded-For says who guesses, its -Proto whether cookies are "secure".
  if (production) app.set('trust proxy', 1);

  // In front of the session: these are answered also while Redis is away.
  app.get('/fleet', fleetPage(askTally));
  app.get('/items', loadItems(keyApi), (req, res) => res.json(req.marketplace?.items));
  app.get(
    '/items/:id/download',
    requirePurchase(keyApi, {
      // The code must be of this very item, or the cheapest would open them all.
      item: (req) => Number(req.params.id),
      guessLimit: new RedisGuessLimit({ client }),
    }),
    (req, res) => {
      const purchase = req.marketplace?.purchase;
      res.attachment(`item-${purchase?.item.id}.txt`);
      res.type('text/plain').send(`Thank you for buying ${purchase?.item.name}.\n`);
    },
  );

  const plain = new RedisTokenStore({ client });
  const tokenStore: TokenStore =
    tokenKeys.length > 0 ? new EncryptedTokenStore(plain, { keys: tokenKeys }) : plain;
  app.use(
    session({
      store: new RedisStore({ client, prefix: 'fleet:session:' }),
      secret: sessionSecret,
      name: production ? '__Host-fleet' : 'fleet',
      resave: false,
      saveUninitialized: false,
      cookie: { httpOnly: true, secure: production, sameSite: 'lax', maxAge: 12 * 3_600_000 },
    }),
  );
  addLogin(app, { loginApi, tokenStore });
  app.get('/', frontPage);
  app.use(unavailableWithout(client));
  app.use(errorHandler({ loginPath: '/login' }));
  return app;
}

/** Sessions cannot be written while Redis is away: that passes, and is no fault of the visitor's. */
const unavailableWithout =
  (client: FleetRedis): ErrorRequestHandler =>
  (error, _req, res, next) => {
    if (isMarketgateError(error) || client.isReady || res.headersSent) return next(error);
    res.status(503).set('Retry-After', '5').json({ title: 'Please try again in a moment.' });
  };
