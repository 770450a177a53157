import type { RequestListener } from 'node:http';
import type { Request, Response } from 'express';
import express5 from 'express';
import session, { MemoryStore } from 'express-session';
import express4 from 'express4';
import {
  errorHandler,
  LoginApi,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  requireLogin,
  returnTo,
} from 'marketgate';
import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';
import { newContext } from './chromium.js';
import { listen } from './listen.js';
import { passportWith } from './passport-app.js';
import { openShop } from './shop.js';
import { longSecret } from './strategy-harness.js';

// An app with a login, a sandbox and a Chromium window, for the tests of logins in a browser.

export const MIRA = { id: '3001', name: 'Mira Solheim' };
export const TOMAS = { id: '3002', name: 'Tomás Aguilar Ibáñez' };
export const MINUTE = 60_000;

interface Person {
  id: string;
  name: string;
}

/** Where login attempts are kept. */
export type Mode = 'session' | 'cookie';

/** Every mode and every Express, but not each with each. */
export const MODES: [Mode, typeof express5][] = [
  ['session', express5],
  ['cookie', express4],
];

/** What is given to {@link open}; a test can change it afterwards, too. */
export interface Options extends Pick<MarketplaceStrategyOptions, 'confirm'> {
  mode: Mode;
  express: typeof express5;
  /** What the callback does. Default: go to where the visitor wanted to go. */
  afterLogin?: (req: Request, res: Response) => void;
  /** How many processes the app has, to which requests go in turn. Default 1. */
  processes?: number;
  /** Keeps a browser waiting on its way to the service. */
  beforeService?: () => Promise<void> | undefined;
  /** Whom the service knows and sends back at once. Default: nobody, so that it shows its two pages. */
  known?: Person;
}

/** A request as the app saw it, with what the browser said it is for. */
export interface Seen {
  readonly url: string;
  readonly purpose: string | undefined;
  status: number;
}

export const isAnswered = ({ status }: Seen): boolean => status > 0;

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

export async function open(options: Options) {
  const { mode, express, confirm } = options;
  const shop = await openShop({}, { dialect: { rememberedConsent: true } });
  const { sandbox, loginApi } = shop;
  const callbackOf = ({ id }: Person) => sandbox.acceptLogin(id);
  const loginUrl = loginApi.loginUrl();
  const { pathname, search } = new URL(loginUrl);
  const gatekeeper = await listen((_req, res) => {
    const pass = () => {
      const location = options.known ? callbackOf(options.known) : loginUrl;
      res.writeHead(302, { location }).end();
    };
    void Promise.resolve(options.beforeService?.()).then(pass);
  });

  const tokenStore = new MemoryTokenStore({ clock: sandbox.clock });
  const store = new MemoryStore();
  const callbacks: Seen[] = [];
  const starts: Seen[] = [];
  const ahead: Seen[] = [];
  function startProcess(number: number) {
    // What a process remembers, it remembers with its client.
    const ownApi = number === 0 ? loginApi : new LoginApi(shop.app);
    ownApi.loginUrl = () => `${gatekeeper}${pathname}${search}`;
    const passport = passportWith(
      new MarketplaceStrategy(
        {
          loginApi: ownApi,
          tokenStore,
          loginAttempts: mode === 'session' ? 'session' : { cookieSecret: longSecret() },
          confirm,
        },
        ({ profile }) => ({ id: profile.id, name: profile.displayName }),
      ),
    );

    const app = express();
    app.use((req, res, next) => {
      const list = req.path === '/login' ? starts : req.query.auth_key ? callbacks : undefined;
      const url = `${req.protocol}://${req.headers.host}${req.originalUrl}`;
      const seen: Seen = { url, purpose: req.get('sec-purpose'), status: 0 };
      list?.push(seen);
      if (seen.purpose) ahead.push(seen);
      // Not 'finish': Chromium cuts a prefetch off at its status.
      res.once('close', () => {
        seen.status = res.headersSent ? res.statusCode : 0;
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
    // A page in front of the login, as many sites have: what it loads ahead is up to the test.
    app.get(
      '/links',
      show('Links', (req) => String(req.query.html ?? '')),
    );
    // A service worker that has a navigation preload and does not use it, as many have.
    app.get('/worker.js', (_req, res) => void res.type('js').send(WORKER));
    app.get('/secret', requireLogin({ loginPath: '/links' }), show('Secret'));
    app.use(errorHandler({ loginPath: '/login' }));
    return app;
  }
  const apps = Array.from({ length: options.processes ?? 1 }, (_, number) => startProcess(number));
  let turn = 0;
  const inTurn: RequestListener = (req, res) => apps[turn++ % apps.length]?.(req, res);

  const origin = await shop.serve(inTurn, 'localhost');
  const context = await newContext();
  /** Who is logged in, by the browser's cookies. */
  async function user(): Promise<string | undefined> {
    const home = await context.request.get(origin);
    return /<p id="who">(.*)<\/p>/.exec(await home.text())?.[1];
  }
  return {
    options,
    /** By "localhost", while the sandbox is at 127.0.0.1: browsers share cookies between ports. */
    origin,
    sandbox,
    context,
    page: await context.newPage(),
    /** Requests for the callback that had an auth_key, and for the start of the login. */
    callbacks,
    starts,
    /** What the browser loaded ahead of a click, wherever it is. */
    ahead,
    exchanges: () => shop.asked('/api/authorize'),
    /** A callback that has not been opened. That of a stranger: as sent in a chat. */
    callbackOf,
    /** Logs in with the browser's cookies, but without its pages. */
    async logInQuietly(person: Person): Promise<void> {
      await context.request.get(`${origin}/login`, { maxRedirects: 0 });
      await context.request.get(callbackOf(person));
      expect(await user()).toBe(person.name);
    },
    user,
  };
}

/** The sandbox's first page: who are you? */
export const choose = (page: Page, { id }: Person) =>
  page.locator(`button[name=user_id][value="${id}"]`).click();

export const accept = (page: Page) => page.locator('button[value=accept]').click();

export async function logIn(page: Page, url: string, person: Person = MIRA): Promise<void> {
  await page.goto(url);
  await choose(page, person);
  await accept(page);
}

export const eventually = (check: () => void) =>
  vi.waitFor(check, { timeout: 40_000, interval: 20 });

export const who = (page: Page) => page.locator('#who').textContent();
export const heading = (page: Page) => page.locator('h1').textContent();
export const path = (page: Page) => new URL(page.url()).pathname + new URL(page.url()).search;
