import type { Tracer } from '@opentelemetry/api';
import defaultExpress, { type Express } from 'express';
import {
  errorHandler,
  type KeyApi,
  type LoginApi,
  loadItems,
  MarketplaceStrategy,
  MemoryTokenStore,
  requirePurchase,
  returnTo,
} from 'marketgate';
import { Passport } from 'passport';
import type { Registry } from 'prom-client';
import { requestSpans } from './active-span.js';

/** What {@link createApp} is given. */
export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  tracer: Tracer;
  /** Signs the cookie of a login under way. */
  cookieSecret: string;
  /** Express 5 or 4; the tests run both. */
  express?: typeof defaultExpress;
}

/** Something to be observed: a catalogue, a login, and downloads. It knows nothing of metrics. */
export function createApp({ express = defaultExpress, ...parts }: AppParts): Express {
  const { keyApi, loginApi, tracer, cookieSecret } = parts;
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy(
      { loginApi, tokenStore: new MemoryTokenStore(), loginAttempts: { cookieSecret } },
      ({ profile }) => ({ id: profile.id }),
    ),
  );
  const authenticate = passport.authenticate('marketplace', { session: false });
  const guard = requirePurchase(keyApi, { item: (req) => Number(req.params.id) });

  const app = express();
  app.disable('x-powered-by');
  app.use(requestSpans(tracer));
  app.get('/items', loadItems(keyApi), (req, res) => {
    res.json(req.marketplace?.items?.map(({ id, name }) => ({ id, name })));
  });
  app.get('/items/:id/download', guard, (req, res) => {
    res.json({ item: req.marketplace?.purchase?.item.id });
  });
  app.get('/login', authenticate);
  app.get('/callback', authenticate, (req, res) => res.redirect(returnTo(req) ?? '/items'));
  app.use(errorHandler());
  return app;
}

/**
 * What Prometheus reads. An app of its own, for a port of its own: how often codes are refused is nobody
 * else's business, and a route beside the others would be open to all.
 */
export function createMetricsApp(registry: Registry, express = defaultExpress): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/metrics', (_req, res, next) => {
    registry
      .metrics()
      .then((text) => res.set('Content-Type', registry.contentType).send(text), next);
  });
  return app;
}
