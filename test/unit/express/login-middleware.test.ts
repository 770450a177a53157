import session from 'express-session';
import {
  errorHandler,
  LoginApi as Login,
  loadUser,
  MemoryTokenStore,
  requireAccessToken,
  requireLogin,
  type TokenStore,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import request from 'supertest';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { listen } from '../../support/listen.js';
import { userInfo } from '../../support/wire.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HOUR = 3_600_000;

describe.each(expressVersions)('on %s', (_version, express) => {
  type App = ReturnType<typeof express>;

  /** An app whose visitor is `user`, with a session or without. */
  function appFor(user: object | undefined, withSession = true): App {
    const app = express();
    if (withSession) app.use(session({ secret: 's', resave: false, saveUninitialized: false }));
    app.use((req, _res, next) => {
      if (user) Object.assign(req, { user });
      next();
    });
    return app;
  }
  const close = (app: App): App => {
    app.use((req, res) => void res.json({ ok: true, user: req.marketplace?.user }));
    app.use(errorHandler({ loginPath: '/login', log: false }));
    return app;
  };

  describe('requireLogin', () => {
    const stranger = (): App => close(appFor(undefined).use(requireLogin({ loginPath: '/login' })));

    it('lets a user through', async () => {
      await request(close(appFor({ id: '1' }).use(requireLogin())))
        .get('/account')
        .expect(200);
    });

    it('sends a browser to the login, whatever page it wanted', async () => {
      const answer = await request(stranger()).get('/a?b=c').set('accept', BROWSER).expect(302);
      expect(answer.headers.location).toBe('/login');
      expect(answer.headers['cache-control']).toBe('no-store');
    });

    it('keeps a refusal nowhere, also where the app answers it itself', async () => {
      const app = appFor(undefined).use(requireLogin());
      app.use(
        (_error: unknown, _req: object, res: { sendStatus(status: number): void }, _n: object) =>
          res.sendStatus(401),
      );
      const answer = await request(app).get('/').expect(401);
      expect(answer.headers['cache-control']).toBe('no-store');
    });

    it.each<[string, (app: App) => request.Test]>([
      ['an API client', (app) => request(app).get('/')],
      ['who wants JSON', (app) => request(app).get('/').set('accept', 'application/json')],
      [
        'a script',
        (app) => request(app).get('/').set('accept', BROWSER).set('sec-fetch-mode', 'cors'),
      ],
      [
        'a picture',
        (app) => request(app).get('/').set('accept', BROWSER).set('sec-fetch-mode', 'no-cors'),
      ],
      [
        'jQuery',
        (app) =>
          request(app).get('/').set('accept', BROWSER).set('x-requested-with', 'XMLHttpRequest'),
      ],
      ['a form', (app) => request(app).post('/').set('accept', BROWSER)],
    ])('%s gets 401 and no redirect', async (_name, ask) => {
      const answer = await ask(stranger()).expect(401);
      expect(answer.headers.location).toBeUndefined();
      expect(answer.text).toContain('login_required');
    });

    it("Node's own fetch, which calls everything cors, is judged by what it accepts", async () => {
      const origin = await listen(stranger());
      const ask = (accept: string) => fetch(origin, { headers: { accept }, redirect: 'manual' });
      expect((await ask('text/html')).status).toBe(302);
      expect((await ask('application/json')).status).toBe(401);
    });

    it('a page that is fetched ahead is not gone to', async () => {
      await request(stranger())
        .get('/')
        .set('accept', BROWSER)
        .set('purpose', 'prefetch')
        .expect(401);
    });

    it('does not redirect the login to itself', async () => {
      await request(stranger()).get('/login?again').set('accept', BROWSER).expect(401);
    });

    it('without a session keeps the page in a cookie', async () => {
      const app = close(appFor(undefined, false).use(requireLogin()));
      const answer = await request(app).get('/a?b=c').set('accept', BROWSER).expect(302);
      const [cookie = ''] = answer.headers['set-cookie'] as unknown as string[];
      expect(cookie).toMatch(/^marketgate\.return_to=%2Fa%3Fb%3Dc; .*HttpOnly; SameSite=Lax/);
    });

    it('a session that cannot be written is an error and no loop', async () => {
      const app = express();
      app.use((req, _res, next) => {
        Object.assign(req, {
          session: { save: (done: (e: Error) => void) => done(new Error('full')) },
        });
        next();
      });
      const log = vi.spyOn(console, 'error').mockImplementation(() => {});
      await request(close(app.use(requireLogin())))
        .get('/')
        .set('accept', BROWSER)
        .expect(500);
      log.mockRestore();
    });
  });

  describe('requireAccessToken', () => {
    let now = 0;
    async function openWith(token: boolean, user: object | undefined = { id: '77' }) {
      now = 1000;
      const store = new MemoryTokenStore({ clock: () => 0 });
      if (token) await store.set('77', { value: 'token-1', issuedAt: 0, expiresAt: HOUR });
      const app = close(
        appFor(user).use(requireAccessToken({ tokenStore: store, clock: () => now })),
      );
      return { app, store };
    }

    it('lets a user with a live token through', async () => {
      await request((await openWith(true)).app)
        .get('/')
        .expect(200);
    });

    it('an id that is a number is taken for its digits', async () => {
      await request((await openWith(true, { id: 77 })).app)
        .get('/')
        .expect(200);
    });

    it('nobody logged in is login_required', async () => {
      const app = close(express().use(requireAccessToken({ tokenStore: new MemoryTokenStore() })));
      expect((await request(app).get('/').expect(401)).body.code).toBe('login_required');
    });

    it('no token, or one that is over, is access_token_expired; a browser goes to the login', async () => {
      const none = await openWith(false);
      expect((await request(none.app).get('/').expect(401)).body.code).toBe('access_token_expired');
      const { app, store } = await openWith(true);
      now = HOUR;
      await request(app).get('/').set('accept', BROWSER).expect(302).expect('location', '/login');
      expect(await store.get('77')).toBeUndefined();
    });

    it.each<[string, () => unknown]>([
      ['rejects', () => Promise.reject(new Error('cannot read token-1'))],
      [
        'throws',
        () => {
          throw new Error('cannot read token-1');
        },
      ],
    ])('a store that %s lets nobody in, and gives nothing away', async (_name, get) => {
      const store = {
        ...Object.fromEntries(['set', 'delete'].map((m) => [m, async () => {}])),
        get,
      };
      const app = close(
        appFor({ id: '77' }).use(
          requireAccessToken({ tokenStore: store as unknown as TokenStore }),
        ),
      );
      const answer = await request(app).get('/').set('accept', BROWSER).expect(503);
      expect(answer.text).toContain('store_unavailable');
      expect(answer.text).not.toContain('token-1');
    });

    it('a user without an id is a mistake of the app, not of the visitor', async () => {
      const log = vi.spyOn(console, 'error').mockImplementation(() => {});
      await request((await openWith(true, { name: 'x' })).app)
        .get('/')
        .expect(500);
      log.mockRestore();
    });

    it("takes the app's own id", async () => {
      const store = new MemoryTokenStore({ clock: () => 0 });
      await store.set('77', { value: 't', issuedAt: 0, expiresAt: HOUR });
      const app = appFor({ marketplaceId: '77' }).use(
        requireAccessToken({
          tokenStore: store,
          clock: () => 0,
          userId: (req) => (req.user as { marketplaceId?: string }).marketplaceId,
        }),
      );
      await request(close(app)).get('/').expect(200);
    });
  });

  describe('loadUser', () => {
    async function open() {
      const sandbox = createSandbox();
      const { authUrl, appId, appSecret } = await sandbox.listen(0);
      onTestFinished(() => sandbox.close());
      const loginApi = new Login({ authUrl, appId, appSecret, retries: 0, clock: sandbox.clock });
      onTestFinished(() => loginApi.close());
      const store = new MemoryTokenStore({ clock: () => 0 });
      const app = close(appFor({ id: '77' }).use(loadUser(loginApi, { tokenStore: store })));
      return { sandbox, loginApi, store, app };
    }
    const token = (value: string, expiresAt = Number.MAX_SAFE_INTEGER) => ({
      value,
      issuedAt: 0,
      expiresAt,
    });

    it('a token that the service does not accept is deleted, and the browser sent to the login', async () => {
      const { app, store } = await open();
      await store.set('77', token('made-up-token'));
      await request(app).get('/').set('accept', BROWSER).expect(302).expect('location', '/login');
      expect(await store.get('77')).toBeUndefined();
    });

    it('no token is access_token_expired', async () => {
      const { app } = await open();
      expect((await request(app).get('/').expect(401)).body.code).toBe('access_token_expired');
    });

    it('a service that is down keeps the token', async () => {
      const { app, store, sandbox } = await open();
      await store.set('77', token('made-up-token'));
      await sandbox.close();
      await request(app).get('/').set('accept', BROWSER).expect(503);
      expect(await store.get('77')).toBeDefined();
    });

    it('a token that another tab has stored meanwhile is kept', async () => {
      const { store, loginApi } = await open();
      await store.set('77', token('old'));
      const slow = {
        getUser: async () => {
          await store.set('77', token('new'));
          return loginApi.getUser('made-up-token');
        },
      };
      const app = close(appFor({ id: '77' }).use(loadUser(slow, { tokenStore: store })));
      await request(app).get('/').expect(401);
      expect((await store.get('77'))?.value).toBe('new');
      expect((await rejection(loginApi.getUser('made-up-token'))).code).toBe(
        'access_token_expired',
      );
    });

    it('puts the user at req.marketplace.user', async () => {
      const store = new MemoryTokenStore({ clock: () => 0 });
      await store.set('77', token('t'));
      const app = appFor({ id: '77' }).use(
        loadUser({ getUser: async () => userInfo }, { tokenStore: store }),
      );
      const answer = await request(close(app)).get('/').expect(200);
      expect(answer.body.user).toEqual(userInfo);
    });
  });
});
