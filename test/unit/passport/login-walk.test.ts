import session from 'express-session';
import {
  errorHandler,
  LoginApi,
  MarketplaceStrategy,
  MemoryTokenStore,
  returnTo,
} from 'marketgate';
import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { listen } from '../../support/listen.js';

declare global {
  namespace Express {
    interface User {
      id?: string;
    }
  }
}

describe.each(expressVersions)('logging in through %s', (_version, express) => {
  async function start(wrong: { appSecret?: string } = {}): Promise<{
    app: string;
    sandbox: Sandbox;
    browser: Browser;
    tokenStore: MemoryTokenStore;
  }> {
    const sandbox = createSandbox();
    const { authUrl, appId, appSecret } = await sandbox.listen(0);
    onTestFinished(() => sandbox.close());
    const loginApi = new LoginApi({
      authUrl,
      appId,
      appSecret: wrong.appSecret ?? appSecret,
      retries: 0,
      clock: sandbox.clock,
    });
    onTestFinished(() => loginApi.close());
    const tokenStore = new MemoryTokenStore({ clock: sandbox.clock });

    const passport = new Passport();
    passport.serializeUser((user, done) => done(null, user));
    passport.deserializeUser((user: Express.User, done) => done(null, user));
    passport.use(
      new MarketplaceStrategy({ loginApi, tokenStore }, async ({ profile }) => ({
        id: profile.id,
        name: profile.displayName,
      })),
    );

    const app = express();
    app.use(session({ secret: 'test-only', resave: false, saveUninitialized: false }));
    app.use(passport.session());
    app.get('/login', (req, res, next) =>
      passport.authenticate('marketplace', { returnTo: String(req.query.to) })(req, res, next),
    );
    app.get('/callback', passport.authenticate('marketplace'), (req, res) =>
      res.redirect(returnTo(req) ?? '/'),
    );
    app.get('/', (req, res) => void res.json({ at: 'home', user: req.user ?? null }));
    app.get('/account', (req, res) => void res.json({ at: 'account', user: req.user ?? null }));
    app.use(errorHandler());
    const origin = await listen(app);
    sandbox.redirectUrl = `${origin}/callback`;
    return { app: origin, sandbox, browser: new Browser(), tokenStore };
  }

  it('goes to the service and comes back as the chosen user', async () => {
    const { app, sandbox, browser, tokenStore } = await start();
    const user = sandbox.data.users[1];
    const visit = await browser.logIn(`${app}/login?to=/account`, user?.user_id);
    expect(JSON.parse(visit.text)).toMatchObject({ at: 'account', user: { id: user?.user_id } });
    expect(browser.history[1]).toMatch(/\/api\/oauth\?app_id=[^&]+$/);
    expect(await tokenStore.get(user?.user_id ?? '')).toMatchObject({ value: expect.any(String) });
  });

  it('refuses a callback that the browser did not start, and the key still works for who did', async () => {
    const { app, browser } = await start();
    const callback = await browser.logInUpToCallback(`${app}/login`);
    const stranger = await new Browser().open(callback);
    expect(stranger.status).toBe(403);
    const mine = await browser.open(callback);
    expect(JSON.parse(mine.text).user).toMatchObject({ id: expect.any(String) });
  });

  it('a used key is 403 to who did not start a login, as an unused one', async () => {
    const { app, browser } = await start();
    const callback = await browser.logInUpToCallback(`${app}/login`);
    await browser.open(callback);
    expect((await new Browser().open(callback)).status).toBe(403);
  });

  it('a reload of the callback leads on, without a second exchange', async () => {
    const { app, sandbox, browser } = await start();
    const callback = await browser.logInUpToCallback(`${app}/login`);
    await browser.open(callback);
    const again = await browser.open(callback);
    expect(again.status).toBe(200);
    expect(JSON.parse(again.text).user).not.toBeNull();
    expect(sandbox.requests.filter(({ path }) => path === '/api/authorize')).toHaveLength(1);
  });

  it('an auth_key that the service does not know is 401', async () => {
    const { app, browser } = await start();
    await browser.get(`${app}/login`);
    expect((await browser.get(`${app}/callback?auth_key=made-up`)).status).toBe(401);
  });

  it('a service that is down is 503, not a failed login', async () => {
    const { app, sandbox, browser } = await start();
    const callback = await browser.logInUpToCallback(`${app}/login`);
    await sandbox.close();
    const response = await browser.get(callback, { accept: 'application/json' });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'service_unavailable' });
  });

  it('a wrong app_secret is a fault of the site: 500', async () => {
    const { app, browser } = await start({ appSecret: 'outdated-secret' });
    const callback = await browser.logInUpToCallback(`${app}/login`);
    const response = await browser.get(callback, { accept: 'application/json' });
    expect(response.status).toBe(500);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ code: 'app_credentials_rejected' });
    expect(body).not.toContain('outdated-secret');
  });
});
