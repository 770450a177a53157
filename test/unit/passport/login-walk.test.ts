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
      app.get('/account', (req, res) => void res.json({ user: req.user ?? null }));
      app.use(errorHandler());
      origins.push(await listen(app));
    }
    const [app = '', other = ''] = origins;
    sandbox.redirectUrl = `${app}/callback`;
    const exchanges = () => sandbox.requests.filter(({ path }) => path === '/api/authorize').length;
    return { app, other, sandbox, browser: new Browser(), tokenStore, exchanges };
  }

  describe('logging in', () => {
    it('goes to the service and comes back as the chosen user', async () => {
      const { app, sandbox, browser, tokenStore } = await start();
      const id = sandbox.data.users[1]?.user_id ?? '';
      const visit = await browser.logIn(`${app}/login`, id);
      expect(visit.url).toBe(`${app}/account`);
      expect(JSON.parse(visit.text)).toEqual({ user: { id } });
      expect(browser.history[1]).toMatch(/\/api\/oauth\?app_id=[^&]+$/);
      expect(await tokenStore.get(id)).toMatchObject({ value: expect.any(String) });
    });

    it('is refused where it did not begin; a reload of the callback exchanges nothing', async () => {
      const { app, browser, exchanges } = await start();
      const callback = await browser.logInUpToCallback(`${app}/login`);
      // Before the key is used, and after that.
      for (let i = 0; i < 2; i++) {
        expect((await new Browser().open(callback)).status).toBe(403);
        const { text } = await browser.open(callback);
        expect(JSON.parse(text).user).toMatchObject({ id: expect.any(String) });
      }
      expect(exchanges()).toBe(1);
    });
  });

  // A double click on "Continue" sends two requests with the same cookies, and the browser shows the
  // answer to the second only.
  describe.each(['session', 'cookie'] as const)('"Continue" twice, attempts in a %s', (where) => {
    async function upToThePage() {
      const loginAttempts = where === 'session' ? where : { cookieSecret: longSecret() };
      const started = await start({ confirm: true, loginAttempts });
      const { app, browser } = started;
      const page = await browser.logIn(`${app}/login`, MIRA);
      expect(page.url).toMatch(/\?confirm=/);
      const held = browser.cookies(app);
      const press = (answer = 'continue', at = app, cookie = held) =>
        fetch(`${page.url.replace(app, at)}&answer=${answer}`, {
          headers: { cookie },
          redirect: 'manual',
        });
      /** Who is logged in by a response. */
      async function userBy(response: Response): Promise<unknown> {
        const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
        const account = await fetch(`${app}/account`, { headers: { cookie: cookies.join('; ') } });
        return account.json();
      }
      return { ...started, press, userBy };
    }

    it.each<[string, boolean, boolean]>([
      ['at the same moment', false, false],
      ['the second after the first was answered', true, false],
      ['at the same moment, in two processes', false, true],
      ['the second after the first, in two processes', true, true],
    ])('%s: both log the same user in', async (_name, isInTurn, isFleet) => {
      const { press, userBy, exchanges, app, other } = await upToThePage();
      const first = press();
      if (isInTurn) await first;
      const second = press('continue', isFleet ? other : app);
      for (const response of [await second, await first]) {
        expect([response.status, response.headers.get('location')]).toEqual([302, '/account']);
        expect(await userBy(response)).toEqual({ user: { id: MIRA } });
      }
      expect(exchanges()).toBe(1);
    });

    it('another browser that knows the address gets nothing', async () => {
      const { press, app, browser } = await upToThePage();
      expect((await press()).status).toBe(302);
      const stranger = new Browser();
      await stranger.get(`${app}/login`);
      for (const cookie of ['', `${browser.cookies(app)}x`, stranger.cookies(app)]) {
        expect((await press('continue', app, cookie)).status).toBe(403);
      }
    });

    it('"Not me" twice logs nobody in, nor does "Continue" after it', async () => {
      const { press } = await upToThePage();
      const answers = await Promise.all([press('cancel'), press('cancel')]);
      // In a session the second can be too late to be known.
      for (const { status } of answers) expect(status).toBeOneOf([401, 403]);
      expect((await press()).status).toBe(403);
    });
  });
});
