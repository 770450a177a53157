import session from 'express-session';
import {
  errorHandler,
  MarketgateError,
  MarketplaceStrategy,
  MemoryTokenStore,
  requireLogin,
  returnTo,
} from 'marketgate';
import { Passport } from 'passport';
import { expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { openShop } from '../../support/shop.js';
import { longSecret } from '../../support/strategy-harness.js';

declare global {
  namespace Express {
    interface User {
      id?: string;
    }
  }
}

const MIRA = '3001';

it.each(expressVersions)(
  'a login through %s comes back as the chosen user in a new session, is refused elsewhere, and is exchanged once',
  async (_version, express) => {
    const { sandbox, loginApi, serve, asked } = await openShop();
    const tokenStore = new MemoryTokenStore({ clock: sandbox.clock });
    const passport = new Passport();
    passport.serializeUser((user, done) => done(null, user));
    passport.deserializeUser((user: Express.User, done) => done(null, user));
    const verify = ({ profile }: { profile: { id: string } }) => ({ id: profile.id });
    passport.use(new MarketplaceStrategy({ loginApi, tokenStore }, verify));
    const app = express();
    app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
    app.use(passport.session());
    app.get('/login', passport.authenticate('marketplace', { returnTo: '/account' }));
    app.get('/callback', passport.authenticate('marketplace'), (req, res) => {
      res.redirect(returnTo(req) ?? '/');
    });
    app.get(['/', '/account'], (req, res) => void res.json({ user: req.user ?? null }));
    app.use(errorHandler());
    const origin = await serve(app);

    const browser = new Browser();
    const callback = await browser.logInUpToCallback(`${origin}/login`, MIRA);
    expect(browser.history[1]).toMatch(/\/api\/oauth\?app_id=[^&]+$/);
    expect((await new Browser().open(callback)).status).toBe(403);
    // A stranger can have planted it.
    const cookie = browser.cookies(origin);
    const visit = await browser.open(callback);
    expect(visit.url).toBe(`${origin}/account`);
    expect(JSON.parse(visit.text)).toEqual({ user: { id: MIRA } });
    expect((await new Browser().open(origin, { cookie })).text).toBe('{"user":null}');
    expect(await tokenStore.get(MIRA)).toMatchObject({ value: expect.any(String) });
    expect((await new Browser().open(callback)).status).toBe(403);
    expect(JSON.parse((await browser.open(callback)).text)).toEqual({ user: { id: MIRA } });
    expect(asked('/api/authorize')).toBe(1);
  },
);

it.each(expressVersions)(
  'a login on %s that fails ends in a page with a way to the login, and the next one goes where the visitor wanted',
  async (_version, express) => {
    const { loginApi, serve } = await openShop();
    const passport = new Passport();
    passport.serializeUser((user, done) => done(null, user));
    passport.deserializeUser((user: Express.User, done) => done(null, user));
    passport.use(new MarketplaceStrategy({ loginApi }, ({ profile }) => ({ id: profile.id })));
    const app = express();
    app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
    app.use(passport.session());
    const login = passport.authenticate('marketplace', { failWithError: true });
    app.get('/login', login);
    app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/'));
    app.get('/account', requireLogin(), (req, res) => void res.json(req.user));
    app.use(errorHandler({ loginPath: '/login', log: false }));
    const origin = await serve(app);

    const browser = new Browser();
    // A query of the app's own, which names no callback.
    const wanted = `${origin}/account?auth_key=mine&confirm=${'a'.repeat(22)}`;
    for (const [code, status] of [
      ['access_token_expired', 401],
      ['service_unavailable', 503],
    ] as const) {
      vi.spyOn(loginApi, 'getUser').mockRejectedValueOnce(new MarketgateError(code, 'no'));
      const page = await browser.open(await browser.logInUpToCallback(wanted, MIRA));
      expect([page.status, page.text]).toEqual([status, expect.stringContaining('href="/login"')]);
    }
    const visit = await browser.open(await browser.logInUpToCallback(`${origin}/login`, MIRA));
    expect([visit.url, visit.text]).toEqual([wanted, `{"id":"${MIRA}"}`]);
  },
);
