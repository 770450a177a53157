import session from 'express-session';
import { errorHandler, MarketplaceStrategy, MemoryTokenStore, returnTo } from 'marketgate';
import { Passport } from 'passport';
import { expect, it } from 'vitest';
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
  'a login through %s comes back as the chosen user, is refused elsewhere, and is exchanged once',
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
    const visit = await browser.open(callback);
    expect(visit.url).toBe(`${origin}/account`);
    expect(JSON.parse(visit.text)).toEqual({ user: { id: MIRA } });
    expect(await tokenStore.get(MIRA)).toMatchObject({ value: expect.any(String) });
    expect((await new Browser().open(callback)).status).toBe(403);
    expect(JSON.parse((await browser.open(callback)).text)).toEqual({ user: { id: MIRA } });
    expect(asked('/api/authorize')).toBe(1);
  },
);
