import { RedisStore } from 'connect-redis';
import express, { type ErrorRequestHandler, type Express } from 'express';
import session from 'express-session';
import {
  EncryptedTokenStore,
  errorHandler,
  isMarketgateError,
  type KeyApi,
  type LoginApi,
  loadUser,
  MarketplaceStrategy,
  purchaseOf,
  requireAccessToken,
  requireLogin,
  requirePurchase,
  returnTo,
  userOf,
} from 'marketgate';
import { RedisTokenStore } from 'marketgate/redis';
import { Passport } from 'passport';
import type { FleetRedis } from './worker.js';

// Every process needs the same secrets. In production they come from the environment.
const SESSION_SECRET = process.env.SESSION_SECRET ?? 'only for the sandbox';
const TOKEN_KEY = process.env.TOKEN_KEY ?? Buffer.alloc(32).toString('base64');

export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  client: FleetRedis;
}

const FRONT_PAGE = `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Fleet</title>
<style>code { white-space: nowrap }</style>
<main style="max-width: 40rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif">
<h1>Fleet</h1>
<p>Several processes on one port share what they know in Redis.</p>
<ul>
<li><a href="/me">Log in</a>: it says which process answered</li>
<li><a href="/fleet">Requests to the marketplace</a>, by process</li>
<li><code>/items/1042/download</code> with a purchase code in the header <code>x-purchase-code</code></li>
</ul>
</main>
`;

/** The app that each worker serves. All of its state is in Redis. */
export function createApp({ keyApi, loginApi, client }: AppParts): Express {
  const app = express();

  app.get('/', (_req, res) => void res.send(FRONT_PAGE));

  // Routes before the session need no Redis.
  app.get(
    '/items/:id/download',
    requirePurchase(keyApi, { item: (req) => Number(req.params.id) }),
    (req, res) => void res.send(`Thank you for buying ${purchaseOf(req).item.name}.\n`),
  );
  // How many requests each process has sent to the marketplace.
  app.get('/fleet', async (_req, res) => void res.json(await client.hGetAll('fleet:requests')));

  // A login can start in one process and end in another: the attempt and the user are in the session,
  // the token is in the token store.
  const tokenStore = new EncryptedTokenStore(new RedisTokenStore({ client }), {
    keys: [TOKEN_KEY],
  });
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy({ loginApi, tokenStore }, ({ profile }) => ({ id: profile.id })),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser<Express.User>((user, done) => done(null, user));
  app.use(
    session({
      store: new RedisStore({ client, prefix: 'fleet:session:' }),
      secret: SESSION_SECRET,
      resave: false,
      saveUninitialized: false,
      cookie: { sameSite: 'lax' },
    }),
    passport.session(),
  );
  app.get('/login', passport.authenticate('marketplace'));
  app.get('/callback', passport.authenticate('marketplace', { failWithError: true }), (req, res) =>
    res.redirect(returnTo(req) ?? '/me'),
  );
  app.get(
    '/me',
    requireLogin({ loginPath: '/login' }),
    requireAccessToken({ tokenStore, loginPath: '/login' }),
    loadUser(loginApi, { tokenStore }),
    (req, res) => void res.json({ worker: process.pid, user: userOf(req) }),
  );

  app.use(unavailableWithout(client));
  app.use(errorHandler({ loginPath: '/login' }));
  return app;
}

/** While Redis is down, sessions cannot be saved: 503, because it passes. */
const unavailableWithout =
  (client: FleetRedis): ErrorRequestHandler =>
  (error, _req, res, next) => {
    if (isMarketgateError(error) || client.isReady || res.headersSent) return next(error);
    res.status(503).set('Retry-After', '5').json({ title: 'Please try again in a moment.' });
  };
