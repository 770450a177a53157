import { parse } from 'cookie';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
} from 'express';
import { jwtVerify, SignJWT } from 'jose';
import {
  errorHandler,
  isFreshLogin,
  itemOf,
  itemsOf,
  type KeyApi,
  type LoginApi,
  loadItem,
  loadItems,
  loadUser,
  MarketplaceStrategy,
  MemoryTokenStore,
  purchaseOf,
  requireAccessToken,
  requireLogin,
  requirePurchase,
  returnTo,
  userOf,
} from 'marketgate';
import { Passport } from 'passport';

export interface AppParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  /** Signs the cookies of logins and of login attempts. At least 32 characters. */
  cookieSecret: string;
  /** Now, in epoch milliseconds; for tests. */
  clock?: () => number;
}

interface Visitor {
  /** The marketplace's `user_id`. Key your own records by it, never by the e-mail address. */
  id: string;
  name: string;
}

/** How long a visitor stays logged in, in seconds. A JWT cannot be revoked, so keep it short. */
const LIFETIME = 2 * 3600;

const visitorOf = (req: Request): Visitor | undefined => req.user as Visitor | undefined;

/** The app, which listens nowhere yet. It has no sessions: a signed cookie says who is logged in. */
export function createApp({ keyApi, loginApi, cookieSecret, clock = Date.now }: AppParts): Express {
  const tokenStore = new MemoryTokenStore({ clock });
  const passport = new Passport();
  passport.use(
    new MarketplaceStrategy(
      { loginApi, tokenStore, loginAttempts: { cookieSecret } },
      ({ profile }): Visitor => ({ id: profile.id, name: profile.displayName ?? profile.id }),
    ),
  );

  const app = express();
  // With one proxy in front. Its X-Forwarded-Proto decides whether cookies are `Secure`.
  if (process.env.NODE_ENV === 'production') app.set('trust proxy', 1);

  // The visitor of a valid login cookie, at `req.user`.
  const jwtKey = new TextEncoder().encode(`login ${cookieSecret}`);
  app.use(async (req, res, next) => {
    // Responses depend on who is logged in.
    res.set('Cache-Control', 'no-store');
    const { login = '' } = parse(req.headers.cookie ?? '');
    const now = { algorithms: ['HS256'], currentDate: new Date(clock()) };
    const token = await jwtVerify(login, jwtKey, now).catch(() => undefined);
    if (token) {
      const { sub: id = '', name } = token.payload;
      const visitor: Visitor = { id, name: String(name) };
      req.user = visitor;
    }
    next();
  });

  const cookie = { httpOnly: true, sameSite: 'lax', path: '/' } as const;
  app.get('/login', passport.authenticate('marketplace', { session: false }));
  // With a function of its own the app gets the reason of a failure. Passport answers only "Forbidden".
  const finishLogin: RequestHandler = (req, res, next) => {
    const done = (error: unknown, visitor?: Visitor | false | null, info?: object) => {
      if (error) return next(error);
      if (!visitor) return next(new LoginFailure((info as Error | undefined)?.message));
      req.user = visitor;
      next();
    };
    passport.authenticate('marketplace', { session: false }, done)(req, res, next);
  };
  app.get('/callback', finishLogin, async (req, res) => {
    const visitor = visitorOf(req);
    // A logged-in browser that opens this page again is no new login, and gets no new cookie.
    if (visitor && isFreshLogin(req)) {
      const jwt = await new SignJWT({ name: visitor.name })
        .setProtectedHeader({ alg: 'HS256' })
        .setSubject(visitor.id)
        .setExpirationTime(Math.floor(clock() / 1000) + LIFETIME)
        .sign(jwtKey);
      res.cookie('login', jwt, { ...cookie, secure: req.secure, maxAge: LIFETIME * 1000 });
    }
    res.redirect(returnTo(req) ?? '/api/me');
  });
  app.post('/logout', async (req, res) => {
    const visitor = visitorOf(req);
    // The form of another site comes without the cookie, and ends no login.
    if (visitor) {
      await tokenStore.delete(visitor.id);
      res.clearCookie('login', cookie);
    }
    res.sendStatus(204);
  });

  // What the cookie says. Sends no request.
  app.get('/api/me', requireLogin({ loginPath: '/login' }), (req, res) => res.json(req.user));

  // What the marketplace says now. Ends with the access_token: an hour after the login, or at logout.
  const needsToken = requireAccessToken({ tokenStore, loginPath: '/login', clock });
  app.get('/api/me/profile', needsToken, loadUser(loginApi, { tokenStore }), (req, res) => {
    const { user_id, user_name, user_email } = userOf(req);
    res.json({ id: user_id, username: user_name, email: user_email });
  });

  app.get('/api/items', loadItems(keyApi), (req, res) => {
    res.json({ items: itemsOf(req).map(({ id, name, price }) => ({ id, name, price })) });
  });
  app.get('/api/items/:id', loadItem(keyApi), (req, res) => res.json(itemOf(req)));

  app.get(
    '/api/downloads/:id',
    needsToken,
    // `item` binds the code to the item in the address. Without it, any code opens every item.
    requirePurchase(keyApi, { item: (req) => Number(req.params.id) }),
    (req, res) => {
      const { license_type, item } = purchaseOf(req);
      res.json({ file: `item-${item.id}.zip`, license_type });
    },
  );

  app.use(errorHandler({ loginPath: '/login' }));
  app.use(lastHandler);
  return app;
}

class LoginFailure extends Error {
  readonly status = 403;
}

/** Problems (RFC 9457) for what `errorHandler` passes on: failed logins, and Express's own errors. */
const lastHandler: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (res.headersSent) return next(error);
  const { status = 500 } = error as { status?: number };
  if (status >= 500) console.error(error);
  const detail = error instanceof LoginFailure ? error.message : undefined;
  res.status(status).type('application/problem+json');
  res.send(JSON.stringify({ type: 'about:blank', status, detail }));
};
