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

const FRONT_PAGE = `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Metrics</title>
<style>code { white-space: nowrap }</style>
<main style="max-width: 40rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif">
<h1>Metrics</h1>
<p>Use these, and then look at the metrics, which have a port of their own, and at the spans in the terminal.</p>
<ul>
<li><a href="/items">The items</a></li>
<li><a href="/login">Log in</a></li>
<li><code>/items/1042/download</code> with a purchase code in the header <code>x-purchase-code</code></li>
</ul>
</main>
`;

/** An app to observe: items, downloads and a login. It contains no metrics code. */
export function createApp({ keyApi, loginApi, tracer, cookieSecret }: AppParts): Express {
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy(
      { loginApi, tokenStore: new MemoryTokenStore(), loginAttempts: { cookieSecret } },
      ({ profile }) => ({ id: profile.id }),
    ),
  );
  const authenticate = passport.authenticate('marketplace', {
    session: false,
    failWithError: true,
  });
  const guard = requirePurchase(keyApi, { item: (req) => Number(req.params.id) });

  const app = express();
  app.use(requestSpans(tracer));
  app.get('/', (_req, res) => void res.send(FRONT_PAGE));
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
