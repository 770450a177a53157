import type { Request, Response } from 'express';
import express5 from 'express';
import session, { MemoryStore } from 'express-session';
import express4 from 'express4';
import {
  errorHandler,
  LoginApi,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  requireLogin,
  returnTo,
} from 'marketgate';
import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';
import { newContext } from './chromium.js';
import { listen } from './listen.js';
import { openShop } from './shop.js';
import { longSecret, passportWith } from './strategy-harness.js';

// An app with a login, a sandbox and a Chromium window, for the tests of logins in a browser.

interface Person {
  id: string;
  name: string;
}
export const MIRA: Person = { id: '3001', name: 'Mira Solheim' };
export const TOMAS: Person = { id: '3002', name: 'Tomás Aguilar Ibáñez' };

/** Where login attempts are kept: in a session with Express 5, in a cookie with Express 4. */
export type Mode = 'session' | 'cookie';

interface Options extends Pick<MarketplaceStrategyOptions, 'confirm'> {
  /** What the callback does. Default: go to where the visitor wanted to go. A test can change it. */
  afterLogin?: (req: Request, res: Response) => void;
  /** How many processes the app has, to which requests go in turn. Default 1. */
  processes?: number;
  /** Whether a browser on its way to the service waits until it is sent elsewhere. */
  isServiceSlow?: boolean;
  /** Whom the service knows and sends back at once. Default: nobody, so that it shows its two pages. */
  known?: Person;
}

const WORKER = `addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(
  registration.navigationPreload.enable().then(() => clients.claim()),
));
addEventListener('fetch', (event) => {
  if (event.request.mode === 'navigate') event.respondWith(fetch(event.request));
});`;

/** A page of the app: what it is, and who is logged in. */
export const show = (title: string, more: (req: Request) => string = () => '') => {
  return (req: Request, res: Response): void => {
    const { name = 'nobody' } = (req.user as Partial<Person> | undefined) ?? {};
    res.set('Cache-Control', 'no-store');
    res.type('html').send(
      `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>
<p id="who">${name}</p>${more(req)}`,
    );
  };
};

export async function open(mode: Mode, options: Options = {}) {
  const shop = await openShop({}, { dialect: { rememberedConsent: true } });
  const { sandbox, loginApi } = shop;
  const callbackOf = ({ id }: Person) => sandbox.acceptLogin(id);
  const loginUrl = loginApi.loginUrl();
  const { pathname, search } = new URL(loginUrl);
  const gatekeeper = await listen((_req, res) => {
    const location = options.known ? callbackOf(options.known) : loginUrl;
    if (!options.isServiceSlow) res.writeHead(302, { location }).end();
  });

  const store = new MemoryStore();
  /** Requests for the start of the login, and for the callback with an auth_key. `purpose`: ahead of a click. */
  const requests: { path: string; url: string; purpose?: string; status: number }[] = [];
  function startProcess() {
    // What a process remembers, it remembers with its client.
    const ownApi = new LoginApi(shop.app);
    ownApi.loginUrl = () => `${gatekeeper}${pathname}${search}`;
    const loginAttempts = mode === 'session' ? mode : { cookieSecret: longSecret() };
    const passport = passportWith(
      new MarketplaceStrategy(
        { loginApi: ownApi, loginAttempts, confirm: options.confirm },
        ({ profile }) => ({ id: profile.id, name: profile.displayName }),
      ),
    );

    const app = (mode === 'session' ? express5 : express4)();
    app.use((req, res, next) => {
      const { path, headers } = req;
      const url = `${req.protocol}://${headers.host}${req.originalUrl}`;
      const purpose = req.get('sec-purpose');
      // Not 'finish': Chromium cuts a prefetch off at its status.
      res.once('close', () => {
        const status = res.headersSent ? res.statusCode : 0;
        requests.push({ path, url, purpose, status });
      });
      next();
    });
    app.use(session({ store, secret: longSecret(), resave: false, saveUninitialized: false }));
    app.use(passport.session());
    // Not only GET: some apps take a form.
    app.all('/login', passport.authenticate('marketplace'));
    // No redirect after a failure: a browser that blocks cookies would go round for ever.
    app.get(
      '/callback',
      passport.authenticate('marketplace', { failWithError: true }),
      (req, res) => {
        if (options.afterLogin) options.afterLogin(req, res);
        else res.redirect(returnTo(req) ?? '/');
      },
    );
    app.get('/', show('Home'));
    app.get('/account', requireLogin(), show('Account'));
    // A page in front of the login, as many sites have: what is on it is up to the test.
    const links = show('Links', (req) => String(req.query.html ?? ''));
    app.get('/links', links);
    app.get('/secret', requireLogin({ loginPath: '/links' }), show('Secret'));
    // A service worker that has a navigation preload and does not use it, as many have.
    app.get('/worker.js', (_req, res) => void res.type('js').send(WORKER));
    app.use(errorHandler({ loginPath: '/login' }));
    return app;
  }
  const apps = Array.from({ length: options.processes ?? 1 }, startProcess);
  let turn = 0;
  // By "localhost", while the sandbox is at 127.0.0.1: browsers share cookies between ports.
  const origin = await shop.serve(
    (req, res) => apps[turn++ % apps.length]?.(req, res),
    'localhost',
  );
  const context = await newContext({ baseURL: origin });
  /** Who is logged in, by the browser's cookies. */
  async function user(): Promise<string | undefined> {
    const home = await context.request.get('/');
    return /<p id="who">(.*)<\/p>/.exec(await home.text())?.[1];
  }
  return {
    ...{ options, origin, sandbox, context, page: await context.newPage(), requests, user },
    answered: (path: string) => requests.filter((it) => it.path === path && it.status > 0),
    exchanges: () => shop.asked('/api/authorize'),
    /** A callback that has not been opened. That of a stranger: as sent in a chat. */
    callbackOf,
    /** A page in front of the login. */
    linksWith: (html: string) => `${origin}/links?${new URLSearchParams({ html })}`,
    /** Logs in with the browser's cookies, but without its pages. */
    async logInQuietly(person: Person): Promise<void> {
      await context.request.get('/login', { maxRedirects: 0 });
      await context.request.get(callbackOf(person));
      expect(await user()).toBe(person.name);
    },
  };
}

/** The sandbox's first page: who are you? */
export const choose = (page: Page, { id }: Person) =>
  page.locator(`button[name=user_id][value="${id}"]`).click();

export const accept = (page: Page) => page.locator('button[value=accept]').click();

export const eventually = (check: () => void | Promise<void>) =>
  vi.waitFor(check, { timeout: 40_000, interval: 20 });

/** The page's heading, and who is logged in there. */
export const shown = (page: Page) => page.locator('h1, #who').allTextContents();
export const path = (page: Page) => new URL(page.url()).pathname + new URL(page.url()).search;
