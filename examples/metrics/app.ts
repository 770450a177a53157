import type { Tracer } from '@opentelemetry/api';
import express, { type Express } from 'express';
import {
  errorHandler,
  itemsOf,
  type KeyApi,
  type LoginApi,
  loadItems,
  MarketplaceStrategy,
  MemoryTokenStore,
  purchaseOf,
  requirePurchase,
  returnTo,
} from 'marketgate';
import { Passport } from 'passport';
import { requestSpans } from './tracing.js';

export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  tracer: Tracer;
  cookieSecret: string;
}

/** An app to observe: items, downloads and a login. It contains no metrics code. */
export function createApp({ keyApi, loginApi, tracer, cookieSecret }: AppParts): Express {
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
  app.use(requestSpans(tracer));
  app.get('/items', loadItems(keyApi), (req, res) => {
    res.json(itemsOf(req).map(({ id, name }) => ({ id, name })));
  });
  app.get('/items/:id/download', guard, (req, res) => {
    res.json({ item: purchaseOf(req).item.id });
  });
  app.get('/login', authenticate);
  app.get('/callback', authenticate, (req, res) => res.redirect(returnTo(req) ?? '/items'));
  app.use(errorHandler());
  return app;
}
