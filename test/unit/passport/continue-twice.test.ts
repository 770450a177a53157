import session from 'express-session';
import {
  errorHandler,
  LoginApi,
  MarketplaceStrategy,
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

// A double click on "Continue" sends two requests with the same cookies, and the browser shows the
// answer to the second only.

const MIRA = '3001';

describe.each(expressVersions)('"Continue" twice, %s', (_version, express) => {
  async function upToThePage(where: 'session' | 'cookie') {
    const sandbox = createSandbox();
    const { authUrl, appId, appSecret } = await sandbox.listen(0);
    onTestFinished(() => sandbox.close());
    const { clock } = sandbox;
    const loginApi = new LoginApi({ authUrl, appId, appSecret, clock });
    onTestFinished(() => loginApi.close());
    const tokenStore = new MemoryTokenStore({ clock });
    // Two processes of a fleet that share their sessions and tokens.
    const store = new session.MemoryStore();
    const origins: string[] = [];
    for (let i = 0; i < 2; i++) {
      const passport = new Passport();
      passport.serializeUser((user, done) => done(null, user));
      passport.deserializeUser((user: Express.User, done) => done(null, user));
      const loginAttempts = where === 'session' ? where : ({ cookieSecret: longSecret() } as const);
      passport.use(
        new MarketplaceStrategy(
          { loginApi, tokenStore, confirm: true, loginAttempts },
          ({ profile }) => ({ id: profile.id }),
        ),
      );
      const app = express();
      app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false, store }));
      app.use(passport.session());
      app.get('/login', passport.authenticate('marketplace', { returnTo: '/account' }));
      app.get('/callback', passport.authenticate('marketplace'), (req, res) => {
        res.redirect(returnTo(req) ?? '/');
      });
      app.get('/account', (req, res) => void res.json(req.user ?? null));
      app.use(errorHandler());
      origins.push(await listen(app));
    }
    const [origin = '', other = ''] = origins;
    sandbox.redirectUrl = `${origin}/callback`;
    const browser = new Browser();
    const page = await browser.logIn(`${origin}/login`, MIRA);
    expect(page.url).toMatch(/\?confirm=/);
    const cookie = browser.cookies(origin);
    const press = (answer = 'continue', at = origin, cookies = cookie) =>
      fetch(`${page.url.replace(origin, at)}&answer=${answer}`, {
        headers: { cookie: cookies },
        redirect: 'manual',
      });
    /** Who is logged in by a response. */
    async function userBy(response: Response): Promise<unknown> {
      const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
      const account = await fetch(`${origin}/account`, {
        headers: { cookie: cookies.join('; ') },
      });
      return account.json();
    }
    const exchanges = () => sandbox.requests.filter(({ path }) => path === '/api/authorize').length;
    return { press, userBy, exchanges, origin, other, browser, sandbox };
  }

  describe.each(['session', 'cookie'] as const)('attempts in a %s', (where) => {
    it.each<[string, boolean, boolean]>([
      ['at the same moment', false, false],
      ['the second after the first was answered', true, false],
      ['at the same moment, in two processes', false, true],
      ['the second after the first, in two processes', true, true],
    ])('%s: both log the same user in', async (_name, isInTurn, isFleet) => {
      const { press, userBy, exchanges, origin, other } = await upToThePage(where);
      const first = press('continue', origin);
      if (isInTurn) await first;
      const second = press('continue', isFleet ? other : origin);
      for (const response of [await second, await first]) {
        expect([response.status, response.headers.get('location')]).toEqual([302, '/account']);
        expect(await userBy(response)).toEqual({ id: MIRA });
      }
      expect(exchanges()).toBe(1);
    });

    it('half a minute later the answer has expired', async () => {
      const { press, sandbox } = await upToThePage(where);
      expect((await press()).status).toBe(302);
      sandbox.clock.advance(29_000);
      expect((await press()).status).toBe(302);
      sandbox.clock.advance(1_000);
      expect((await press()).status).toBe(403);
    });

    it('another browser that knows the address gets nothing', async () => {
      const { press, origin, browser } = await upToThePage(where);
      expect((await press()).status).toBe(302);
      expect((await press('continue', origin, '')).status).toBe(403);
      expect((await press('continue', origin, `${browser.cookies(origin)}x`)).status).toBe(403);
      const stranger = new Browser();
      await stranger.get(`${origin}/login`);
      expect((await press('continue', origin, stranger.cookies(origin))).status).toBe(403);
    });

    it('"Not me" twice logs nobody in, nor does "Continue" after it', async () => {
      const { press } = await upToThePage(where);
      const answers = await Promise.all([press('cancel'), press('cancel')]);
      // In a session the second can be too late to be known.
      for (const { status } of answers) expect(status).toBeOneOf([401, 403]);
      expect((await press()).status).toBe(403);
    });
  });
});
