import session from 'express-session';
import {
  errorHandler,
  LoginApi,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  returnTo,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { listen } from '../../support/listen.js';
import { longSecret } from '../../support/strategy-harness.js';

declare global {
  namespace Express {
    interface User {
      id?: string;
    }
  }
}

const MIRA = '3001';

describe.each(expressVersions)('through %s', (_version, express) => {
  /** The service, a browser, and an app in two processes that share their sessions and tokens. */
  async function start(options: Partial<MarketplaceStrategyOptions> = {}) {
    const sandbox = createSandbox();
    const { authUrl, appId, appSecret } = await sandbox.listen(0);
    onTestFinished(() => sandbox.close());
    const { clock } = sandbox;
    const loginApi = new LoginApi({ authUrl, appId, appSecret, clock });
    onTestFinished(() => loginApi.close());
    const tokenStore = new MemoryTokenStore({ clock });
    const store = new session.MemoryStore();
    const origins: string[] = [];
    for (let i = 0; i < 2; i++) {
      const passport = new Passport();
      passport.serializeUser((user, done) => done(null, user));
      passport.deserializeUser((user: Express.User, done) => done(null, user));
      const verify = ({ profile }: { profile: { id: string } }) => ({ id: profile.id });
      passport.use(new MarketplaceStrategy({ loginApi, tokenStore, ...options }, verify));
      const app = express();
      app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false, store }));
      app.use(passport.session());
      app.get('/login', passport.authenticate('marketplace', { returnTo: '/account' }));
      app.get('/callback', passport.authenticate('marketplace'), (req, res) => {
        res.redirect(returnTo(req) ?? '/');
      });
      app.get(['/', '/account'], (req, res) => void res.json({ user: req.user ?? null }));
      app.use(errorHandler());
      origins.push(await listen(app));
    }
    const [app = '', other = ''] = origins;
    sandbox.redirectUrl = `${app}/callback`;
    const exchanges = () => sandbox.requests.filter(({ path }) => path === '/api/authorize').length;
    return { app, other, browser: new Browser(), tokenStore, exchanges };
  }

  it('a login comes back as the chosen user, elsewhere it is refused, and a reload exchanges nothing', async () => {
    const { app, browser, tokenStore, exchanges } = await start();
    const callback = await browser.logInUpToCallback(`${app}/login`, MIRA);
    expect(browser.history[1]).toMatch(/\/api\/oauth\?app_id=[^&]+$/);
    expect((await new Browser().open(callback)).status).toBe(403);
    const visit = await browser.open(callback);
    expect(visit.url).toBe(`${app}/account`);
    expect(JSON.parse(visit.text)).toEqual({ user: { id: MIRA } });
    expect(await tokenStore.get(MIRA)).toMatchObject({ value: expect.any(String) });
    expect((await new Browser().open(callback)).status).toBe(403);
    expect(JSON.parse((await browser.open(callback)).text)).toEqual({ user: { id: MIRA } });
    expect(exchanges()).toBe(1);
  });

  it.each(['session', 'cookie'] as const)(
    '"Continue" in another process of the fleet logs in, attempts in a %s, and only this browser',
    async (where) => {
      const loginAttempts = where === 'session' ? where : { cookieSecret: longSecret() };
      const { app, other, browser, exchanges } = await start({ confirm: true, loginAttempts });
      const page = await browser.logIn(`${app}/login`, MIRA);
      const held = browser.cookies(app);
      const press = (at: string, cookie: string) =>
        fetch(`${page.url.replace(app, at)}&answer=continue`, {
          headers: { cookie },
          redirect: 'manual',
        });
      const stranger = new Browser();
      await stranger.get(`${app}/login`);
      for (const cookie of ['', stranger.cookies(app)]) {
        expect((await press(app, cookie)).status).toBe(403);
      }
      const response = await press(other, held);
      expect([response.status, response.headers.get('location')]).toEqual([302, '/account']);
      const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
      const account = await fetch(`${app}/account`, { headers: { cookie: cookies.join('; ') } });
      expect(await account.json()).toEqual({ user: { id: MIRA } });
      // A copy of the cookies is worth nothing any more, in any process.
      for (const at of [app, other]) expect((await press(at, held)).status).toBe(403);
      expect(exchanges()).toBe(1);
    },
  );
});
