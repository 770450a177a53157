import { mkdirSync } from 'node:fs';
import type { Express as ExpressApp, NextFunction, Request, Response } from 'express';
import express5 from 'express';
import session from 'express-session';
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
import { createSandbox, type Sandbox, type SandboxSeed } from 'marketgate/sandbox';
import { Passport } from 'passport';
import type { BrowserContext, Browser as Chromium, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { chromiumIsMissing, launchChromium } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';

const MIRA = { id: '3001', name: 'Mira Solheim' };
const TOMAS = { id: '3002', name: 'Tomás Aguilar Ibáñez' };
const MINUTE = 60_000;

interface Person {
  id: string;
  name: string;
}

interface Options extends Pick<MarketplaceStrategyOptions, 'confirm'> {
  mode: 'session' | 'cookie';
  express?: typeof express5;
  /** Whether the app forgets every cookie, as for a browser that blocks this site's. */
  cookiesBlocked?: boolean;
  /** What the callback does. Default: go to where the visitor wanted to go. */
  afterLogin?: (req: Request, res: Response) => void;
  /** Who has an account at the marketplace. Default: the sandbox's own people. */
  users?: SandboxSeed['users'];
  /** Keeps a callback waiting, as a slow network would. They are counted from 1. */
  beforeCallback?: (n: number) => Promise<void> | undefined;
}

/** A request as the app saw it, with what the browser said it is for. */
interface Seen {
  readonly url: string;
  readonly purpose: string | undefined;
  status: number;
}

interface Opened {
  /** By "localhost", while the sandbox is at 127.0.0.1: browsers share cookies between ports. */
  readonly origin: string;
  readonly sandbox: Sandbox;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Requests for the callback that had an auth_key. */
  readonly callbacks: Seen[];
  /** Requests for the start of the login. */
  readonly starts: Seen[];
  /** What the browser loaded ahead of a click, wherever it is. */
  readonly ahead: Seen[];
  /** How many auth_keys were spent. */
  exchanges(): number;
  /** A callback of somebody else's login, which has not been opened: as sent in a chat. */
  strangersCallback(person?: Person): Promise<string>;
}

const isAnswered = ({ status }: Seen): boolean => status > 0;

let chromium: Chromium;

const text = (value: string): string => value.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const nameOf = (req: Request): string =>
  (req.user as Partial<Person> | undefined)?.name ?? 'nobody';

/** A page of the app: what it is, and who is logged in. */
const show = (title: string, more: (req: Request) => string = () => '') => {
  return (req: Request, res: Response): void => {
    res.set('Cache-Control', 'no-store');
    res.type('html').send(
      `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>
<p id="who">${text(nameOf(req))}</p><p id="url">${text(req.originalUrl)}</p>${more(req)}`,
    );
  };
};

/** Keeps who is logged in, with or without sessions; everything else is the same for both. */
function addLogin(app: ExpressApp, passport: InstanceType<typeof Passport>, mode: Options['mode']) {
  if (mode === 'session') {
    app.use(session({ secret: 'test-only', resave: false, saveUninitialized: false }));
    app.use(passport.session());
    return (req: Request, _res: Response, user: Express.User, next: NextFunction) =>
      req.logIn(user, next);
  }
  const users = new Map<string, Express.User>();
  app.use((req, _res, next) => {
    const id = /(?:^|; )login=(\w+)/.exec(req.headers.cookie ?? '')?.[1];
    const user = id && users.get(id);
    if (user) req.user = user;
    next();
  });
  return (req: Request, res: Response, user: Express.User, next: NextFunction) => {
    const id = `u${users.size}`;
    users.set(id, user);
    res.cookie('login', id, { httpOnly: true, sameSite: 'lax' });
    req.user = user;
    next();
  };
}

async function open(options: Options): Promise<Opened> {
  const { mode, express = express5, confirm = false, cookiesBlocked = false } = options;
  const sandbox = createSandbox(options.users && { seed: { users: options.users } });
  const { authUrl, appId, appSecret } = await sandbox.listen();
  onTestFinished(() => sandbox.close());
  const loginApi = new LoginApi({ authUrl, appId, appSecret, clock: sandbox.clock });
  onTestFinished(() => loginApi.close());

  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));
  passport.use(
    new MarketplaceStrategy(
      {
        loginApi,
        tokenStore: new MemoryTokenStore({ clock: sandbox.clock }),
        loginAttempts: mode === 'session' ? 'session' : { cookieSecret: ['test-only'] },
        confirm,
      },
      ({ profile }) => ({ id: profile.id, name: profile.displayName }),
    ),
  );

  const app = express();
  const callbacks: Seen[] = [];
  const starts: Seen[] = [];
  const ahead: Seen[] = [];
  app.use((req, res, next) => {
    if (cookiesBlocked) delete req.headers.cookie;
    const list = req.path === '/login' ? starts : req.query.auth_key ? callbacks : undefined;
    const seen: Seen = {
      url: `${req.protocol}://${req.headers.host}${req.originalUrl}`,
      purpose: req.get('sec-purpose'),
      status: 0,
    };
    list?.push(seen);
    if (seen.purpose) ahead.push(seen);
    res.once('finish', () => {
      seen.status = res.statusCode;
    });
    const wait = list === callbacks && options.beforeCallback?.(callbacks.length);
    Promise.resolve(wait).then(() => next(), next);
  });
  const keep = addLogin(app, passport, mode);
  app.get('/login', passport.authenticate('marketplace', { session: false }));
  app.get(
    '/callback',
    (req, res, next) => {
      const done = (error: unknown, user?: Express.User | false | null, info?: object) => {
        if (error) return next(error);
        if (user) return keep(req, res, user, next);
        const { message } = info as { message: string };
        // No redirect: a browser that blocks cookies would go round for ever.
        res.status(403);
        show('Not logged in', () => `<p id="why">${text(message)}</p>`)(req, res);
      };
      passport.authenticate('marketplace', { session: mode === 'session' }, done)(req, res, next);
    },
    options.afterLogin ?? ((req, res) => res.redirect(returnTo(req) ?? '/')),
  );
  app.get('/', show('Home'));
  app.get('/account', requireLogin(), show('Account'));
  // A page in front of the login, as many sites have: what it loads ahead is up to the test.
  app.get(
    '/links',
    show('Links', (req) => String(req.query.html ?? '')),
  );
  app.get('/secret', requireLogin({ loginPath: '/links' }), show('Secret'));
  app.use(errorHandler({ loginPath: '/login' }));

  const { port } = new URL(await listen(app));
  const origin = `http://localhost:${port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  const context = await chromium.newContext();
  onTestFinished(() => context.close());
  // Nothing takes longer than this on one machine; without it a failing wait would be cut off by vitest.
  context.setDefaultTimeout(8000);
  return {
    origin,
    sandbox,
    context,
    page: await context.newPage(),
    callbacks,
    starts,
    ahead,
    exchanges: () => sandbox.requests.filter(({ path }) => path === '/api/authorize').length,
    strangersCallback: (person = TOMAS) =>
      new Browser().logInUpToCallback(`${origin}/login`, person.id),
  };
}

/** The sandbox's first page: who are you? */
const choose = (page: Page, { id }: Person) =>
  page.locator(`button[name=user_id][value="${id}"]`).click();

const accept = (page: Page) => page.locator('button[value=accept]').click();

/** Opens an address that leads into the login, and goes through it. */
async function logIn(page: Page, url: string, person: Person = MIRA): Promise<void> {
  await page.goto(url);
  await choose(page, person);
  await accept(page);
}

/** Accepts as the page's form does, but keeps the address of the callback instead of going there. */
async function takeCallback(page: Page): Promise<string> {
  const attempt = await page.locator('input[name=attempt]').first().getAttribute('value');
  const response = await page.request.post(new URL('/sandbox/consent', page.url()).href, {
    form: { attempt: attempt ?? '', decision: 'accept' },
    maxRedirects: 0,
  });
  return response.headers().location ?? '';
}

/** Waits for what the app sees; what is loaded ahead comes when the browser has nothing else to do. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 8000, interval: 20 });

/** Something to wait for until it is opened. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const who = (page: Page) => page.locator('#who').textContent();
const heading = (page: Page) => page.locator('h1').textContent();
const path = (page: Page) => new URL(page.url()).pathname + new URL(page.url()).search;

const modes: ['session' | 'cookie'][] = [['session'], ['cookie']];
const setups: [string, 'session' | 'cookie', typeof express5][] = [
  ['Express 5, session', 'session', express5],
  ['Express 5, cookie', 'cookie', express5],
  ['Express 4, session', 'session', express4],
  ['Express 4, cookie', 'cookie', express4],
];

describe.skipIf(chromiumIsMissing())('logging in with Chromium', () => {
  beforeAll(async () => {
    chromium = await launchChromium();
  });
  afterAll(() => chromium?.close());

  describe.each(setups)('%s', (_name, mode, express) => {
    it('leads from the page where the visitor was stopped through the login and back', async () => {
      const { origin, page, exchanges } = await open({ mode, express });
      await logIn(page, `${origin}/account?tab=orders&q=%C3%A4`);
      await page.waitForURL(`${origin}/account?tab=orders&q=%C3%A4`);
      expect([await heading(page), await who(page)]).toEqual(['Account', MIRA.name]);
      expect(exchanges()).toBe(1);
    });

    it('a second login, consented before, shows no page and comes back as well', async () => {
      const { origin, page, context } = await open({ mode, express });
      await logIn(page, `${origin}/account`);
      await page.waitForURL(`${origin}/account`);
      await context.clearCookies({ domain: 'localhost' });
      await page.goto(`${origin}/account?again`);
      expect([page.url(), await who(page)]).toEqual([`${origin}/account?again`, MIRA.name]);
    });

    it('a callback that this browser did not start logs nobody in and spends nothing', async () => {
      const { origin, page, exchanges, strangersCallback } = await open({ mode, express });
      const response = await page.goto(await strangersCallback());
      expect(response?.status()).toBe(403);
      expect(await page.locator('#why').textContent()).toContain('not started in this browser');
      await page.goto(origin);
      expect(await who(page)).toBe('nobody');
      expect(exchanges()).toBe(0);
    });

    it('asks before it logs anybody in, with confirm', async () => {
      const { origin, page } = await open({ mode, express, confirm: true });
      await logIn(page, `${origin}/account`);
      expect(await heading(page)).toContain(`Continue as ${MIRA.name}`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('a script gets 401 and no redirect, whatever it accepts', async () => {
      const { origin, page } = await open({ mode, express });
      await page.goto(origin);
      for (const accepted of ['*/*', 'text/html', 'application/json']) {
        const answer = await page.evaluate(async (header) => {
          const response = await fetch('/account', { headers: { accept: header } });
          return { status: response.status, redirected: response.redirected };
        }, accepted);
        expect(answer).toEqual({ status: 401, redirected: false });
      }
    });
  });

  describe.each(modes)('%s: the same person in two tabs', (mode) => {
    /** Two logins under way, both at the marketplace's last question. */
    async function twoTabs(more: Partial<Options> = {}) {
      const opened = await open({ mode, ...more });
      const { origin, context, page: first } = opened;
      const second = await context.newPage();
      await first.goto(`${origin}/account?first`);
      await second.goto(`${origin}/account?second`);
      for (const tab of [first, second]) {
        await choose(tab, MIRA);
        await tab.locator('button[value=accept]').waitFor();
      }
      return { ...opened, tabs: { first, second } };
    }

    it.each([
      ['first', 'second'],
      ['second', 'first'],
    ] as const)('finishing the %s, then the %s, logs both in', async (one, other) => {
      const { origin, tabs } = await twoTabs();
      await accept(tabs[one]);
      await tabs[one].waitForURL((url) => url.origin === origin);
      expect(await who(tabs[one])).toBe(MIRA.name);
      // Where the login leads that was started last: nothing that the service sends back tells the
      // tabs apart.
      expect(path(tabs[one])).toBe('/account?second');
      await accept(tabs[other]);
      await tabs[other].waitForURL((url) => url.origin === origin);
      expect(await who(tabs[other])).toBe(MIRA.name);
      for (const tab of [tabs.first, tabs.second]) {
        await tab.goto(`${origin}/account`);
        expect([await heading(tab), await who(tab)]).toEqual(['Account', MIRA.name]);
      }
    });

    it('the first to finish comes back to its page; the other is led on', async () => {
      const { origin, tabs } = await twoTabs();
      for (const tab of [tabs.second, tabs.first]) {
        await accept(tab);
        await tab.waitForURL((url) => url.origin === origin);
      }
      expect(path(tabs.second)).toBe('/account?second');
      // What other tabs had begun ends with the login, so that no stranger's callback finds an attempt.
      expect(path(tabs.first)).toBe('/');
    });

    // One auth_key per app and user is alive: the second tab's makes the first tab's invalid.
    it('a tab whose key died meanwhile is led on, when the other has logged in by then', async () => {
      const { origin, tabs, callbacks } = await twoTabs();
      const late = await takeCallback(tabs.first);
      await accept(tabs.second);
      await tabs.second.waitForURL((url) => url.origin === origin);
      expect(await who(tabs.second)).toBe(MIRA.name);
      await tabs.first.goto(late);
      expect(callbacks).toHaveLength(2);
      expect(await heading(tabs.first)).not.toBe('Not logged in');
      expect(await who(tabs.first)).toBe(MIRA.name);
    });

    it('a tab whose key died meanwhile fails, and the other still logs in', async () => {
      const gates = [gate(), gate()];
      const { origin, tabs, callbacks } = await twoTabs({
        beforeCallback: (n) => gates[n - 1]?.opened,
      });
      const clicks = [accept(tabs.first)];
      await eventually(() => expect(callbacks).toHaveLength(1));
      clicks.push(accept(tabs.second));
      await eventually(() => expect(callbacks).toHaveLength(2));
      gates[0]?.open();
      await tabs.first.waitForURL((url) => url.origin === origin);
      expect([await heading(tabs.first), await who(tabs.first)]).toEqual([
        'Not logged in',
        'nobody',
      ]);
      gates[1]?.open();
      await tabs.second.waitForURL((url) => url.origin === origin);
      expect(await who(tabs.second)).toBe(MIRA.name);
      await Promise.all(clicks);
      await tabs.first.goto(`${origin}/account`);
      expect(await who(tabs.first)).toBe(MIRA.name);
    });
  });

  describe.each(modes)('%s: going back and forth', (mode) => {
    it('the back button after the login breaks nothing', async () => {
      const { origin, page, exchanges } = await open({ mode });
      await page.goto(origin);
      await logIn(page, `${origin}/account`);
      await page.waitForURL(`${origin}/account`);
      // Through every page of the marketplace, to the one before the login.
      for (let i = 0; i < 6 && page.url() !== `${origin}/`; i++) await page.goBack();
      expect(page.url()).toBe(`${origin}/`);
      expect([await heading(page), await who(page)]).toEqual(['Home', MIRA.name]);
      await page.goto(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
      expect(exchanges()).toBe(1);
    });

    it('the callback opened again leads to where it led, and spends nothing', async () => {
      const { origin, page, callbacks, exchanges } = await open({ mode });
      await logIn(page, `${origin}/account?tab=orders`);
      await page.waitForURL(`${origin}/account?tab=orders`);
      await page.goto(callbacks[0]?.url ?? '');
      expect([path(page), await who(page)]).toEqual(['/account?tab=orders', MIRA.name]);
      expect([callbacks.length, exchanges()]).toEqual([2, 1]);
    });

    it('a callback that shows a page of its own can be reloaded', async () => {
      const { page, origin, exchanges } = await open({ mode, afterLogin: show('Welcome') });
      await logIn(page, `${origin}/login`);
      await page.waitForURL(/\/callback\?auth_key=/);
      expect([await heading(page), await who(page)]).toEqual(['Welcome', MIRA.name]);
      const again = await page.reload();
      expect(again?.status()).toBe(200);
      expect([await heading(page), await who(page)]).toEqual(['Welcome', MIRA.name]);
      expect(exchanges()).toBe(1);
    });

    it('a callback opened again by who is not logged in any more logs nobody in', async () => {
      const { page, origin, callbacks, context } = await open({ mode });
      await logIn(page, `${origin}/account`);
      await page.waitForURL(`${origin}/account`);
      await context.clearCookies({ domain: 'localhost' });
      await page.goto(callbacks[0]?.url ?? '');
      expect(await page.locator('#why').textContent()).toContain('log in again');
      expect(await who(page)).toBe('nobody');
    });
  });

  describe.each(modes)('%s: what the browser loads ahead', (mode) => {
    /** Makes the browser load an address ahead, while it shows the page /links. */
    type Load = (opened: Opened, address: string) => Promise<unknown>;
    const ways: [string, Load][] = [
      [
        '<link rel=prefetch>',
        async ({ page, origin, ahead }, address) => {
          const html = `<link rel="prefetch" href="${address}"><a href="/login">Log in</a>`;
          // A hint that a busy browser may leave aside, or begin and give up: the page is opened until
          // it is followed.
          const seen = () => expect(ahead.filter(isAnswered)).not.toEqual([]);
          await vi.waitFor(
            async () => {
              await page.goto(`${origin}/links?${new URLSearchParams({ html })}`);
              await vi.waitFor(seen, { timeout: 3000, interval: 20 });
            },
            { timeout: 14_000 },
          );
        },
      ],
      // What speculation rules send. The rules themselves are only followed by a browser with memory
      // and time to spare, which no test can count on.
      ...['prefetch', 'prefetch;prerender'].map((purpose): [string, Load] => [
        `a navigation with Sec-Purpose: ${purpose}`,
        async ({ page, context, origin }, address) => {
          const html = '<a href="/login">Log in</a>';
          await page.goto(`${origin}/links?${new URLSearchParams({ html })}`);
          const hidden = await context.newPage();
          await hidden.setExtraHTTPHeaders({ 'sec-purpose': purpose });
          await hidden.goto(new URL(address, origin).href);
          await hidden.close();
        },
      ]),
    ];

    it.each(ways)('%s: the callback spends nothing, and the login goes on', async (_way, load) => {
      const opened = await open({ mode });
      const { origin, page, ahead, exchanges } = opened;
      await page.goto(`${origin}/account`);
      await choose(page, MIRA);
      const callback = await takeCallback(page);
      await load(opened, callback);
      const purpose = expect.stringMatching(/^prefetch/);
      expect(ahead.find(isAnswered)).toEqual({ url: callback, purpose, status: 401 });
      expect(exchanges()).toBe(0);
      await page.goto(callback);
      expect([path(page), await who(page)]).toEqual(['/account', MIRA.name]);
      expect(exchanges()).toBe(1);
    });

    it.each(ways)(
      '%s: the start of the login does not lose where to return to',
      async (_way, load) => {
        const opened = await open({ mode });
        const { origin, page, starts } = opened;
        await page.goto(`${origin}/secret?was=here`);
        expect(path(page)).toBe('/links');
        await load(opened, '/login');
        expect(starts[0]?.purpose).toMatch(/^prefetch/);
        await page.getByRole('link', { name: 'Log in' }).click();
        await choose(page, MIRA);
        await accept(page);
        await page.waitForURL((url) => url.origin === origin);
        expect([path(page), await who(page)]).toEqual(['/secret?was=here', MIRA.name]);
      },
    );

    it.each(ways)('%s: a page behind the login starts no login', async (_way, load) => {
      const opened = await open({ mode });
      const { origin, page, starts, ahead } = opened;
      await page.goto(`${origin}/secret?was=here`);
      await load(opened, '/account');
      expect(new Set(ahead.filter(isAnswered).map(({ status }) => status))).toEqual(new Set([401]));
      expect(starts).toEqual([]);
      await page.getByRole('link', { name: 'Log in' }).click();
      await choose(page, MIRA);
      await accept(page);
      await page.waitForURL((url) => url.origin === origin);
      expect(path(page)).toBe('/secret?was=here');
    });
  });

  describe.each(modes)('%s: what keeps a login from being finished', (mode) => {
    it('cookies blocked: says so, and goes round in no circle', async () => {
      const { origin, page, callbacks } = await open({ mode, cookiesBlocked: true });
      await logIn(page, `${origin}/account`);
      await page.waitForURL((url) => url.origin === origin);
      expect(await page.locator('#why').textContent()).toContain('allow cookies for this site');
      expect(callbacks.map(({ status }) => status)).toEqual([403]);
      // Consented by now: the whole way is redirects, and ends.
      const again = await page.goto(`${origin}/account`);
      expect([again?.status(), callbacks.length]).toEqual([403, 2]);
    });

    it('cookies cleared on the way: says so, and the next try succeeds', async () => {
      const { origin, page, context, exchanges } = await open({ mode });
      await page.goto(`${origin}/account`);
      await choose(page, MIRA);
      await context.clearCookies({ domain: 'localhost' });
      await accept(page);
      await page.waitForURL((url) => url.origin === origin);
      expect(await page.locator('#why').textContent()).toContain('log in again');
      expect(exchanges()).toBe(0);
      await page.goto(`${origin}/account`);
      expect([path(page), await who(page)]).toEqual(['/account', MIRA.name]);
    });

    it('ten minutes at the marketplace: says so, and the next try succeeds', async () => {
      const { origin, page, sandbox, exchanges } = await open({ mode });
      await page.goto(`${origin}/account`);
      await choose(page, MIRA);
      await page.locator('button[value=accept]').waitFor();
      sandbox.clock.advance(10 * MINUTE);
      await accept(page);
      await page.waitForURL((url) => url.origin === origin);
      expect(await page.locator('#why').textContent()).toContain('too long ago');
      expect(exchanges()).toBe(0);
      await page.goto(`${origin}/account`);
      expect([path(page), await who(page)]).toEqual(['/account', MIRA.name]);
    });

    it('almost ten minutes are not too many', async () => {
      const { origin, page, sandbox } = await open({ mode });
      await page.goto(`${origin}/account`);
      await choose(page, MIRA);
      await page.locator('button[value=accept]').waitFor();
      sandbox.clock.advance(9 * MINUTE);
      await accept(page);
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });
  });

  describe.each(modes)('%s: a callback that a stranger sent', (mode) => {
    /** A login under way, at the marketplace's last question. */
    async function underWay(more: Partial<Options> = {}) {
      const opened = await open({ mode, ...more });
      await opened.page.goto(`${opened.origin}/account`);
      await choose(opened.page, MIRA);
      await opened.page.locator('button[value=accept]').waitFor();
      return { ...opened, mail: await opened.context.newPage() };
    }

    it('to who has no login under way: refused, and the stranger can still use it', async () => {
      const { origin, page, exchanges } = await open({ mode });
      const stranger = new Browser();
      const callback = await stranger.logInUpToCallback(`${origin}/login`, TOMAS.id);
      expect((await page.goto(callback))?.status()).toBe(403);
      await page.goto(origin);
      expect([await who(page), exchanges()]).toEqual(['nobody', 0]);
      expect((await stranger.open(callback)).text).toContain(text(TOMAS.name));
    });

    it('in a frame or a picture of another site: refused also with a login under way', async () => {
      const { page, context, callbacks, exchanges, strangersCallback } = await underWay();
      const callback = await strangersCallback();
      const evil = await context.newPage();
      const elsewhere = await listen((_req, res) => {
        res.setHeader('content-type', 'text/html');
        res.end(`<iframe src="${callback}"></iframe><img src="${callback}" alt="">`);
      });
      await evil.goto(elsewhere.replace('127.0.0.1', 'evil.localhost'));
      await eventually(() => expect(callbacks.map(({ status }) => status)).toEqual([403, 403]));
      expect(exchanges()).toBe(0);
      // The login under way was not disturbed.
      await accept(page);
      await page.waitForURL(/\/account$/);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('to who has a login under way, without confirm: logs them in as the stranger', async () => {
      // The service echoes nothing that would tie the auth_key to the login of this browser. This is
      // the login CSRF that `confirm: true` closes; the tests below show how.
      const { page, mail, strangersCallback } = await underWay();
      await mail.goto(await strangersCallback());
      expect(await who(mail)).toBe(TOMAS.name);
      // Their own login, finished afterwards, finds its attempt gone and somebody logged in.
      await accept(page);
      await page.waitForURL((url) => url.hostname === 'localhost');
      expect(await who(page)).toBe(TOMAS.name);
    });

    it('by a page that starts the login itself, without confirm: the same', async () => {
      const { origin, page, context, strangersCallback } = await open({ mode });
      const callback = await strangersCallback();
      const elsewhere = await listen((_req, res) => {
        res.setHeader('content-type', 'text/html');
        res.end(
          '<button onclick="window.other = window.open(location.hash.slice(1))">Win</button>',
        );
      });
      await page.goto(`${elsewhere.replace('127.0.0.1', 'evil.localhost')}/#${origin}/login`);
      const [other] = await Promise.all([
        context.waitForEvent('page'),
        page.getByRole('button').click(),
      ]);
      await other.waitForURL(/api\/oauth/);
      await page.evaluate(`window.other.location = ${JSON.stringify(callback)}`);
      await other.waitForURL(`${origin}/`);
      expect(await who(other)).toBe(TOMAS.name);
    });

    it('to who has a login under way, with confirm: asks in the stranger’s name', async () => {
      const { origin, mail, page, strangersCallback } = await underWay({ confirm: true });
      await mail.goto(await strangersCallback());
      expect(await heading(mail)).toContain(`Continue as ${TOMAS.name}`);
      await mail.getByRole('button', { name: 'Not me' }).click();
      expect(await mail.locator('#why').textContent()).toContain('nobody was logged in');
      await mail.goto(origin);
      expect(await who(mail)).toBe('nobody');
      // The login under way is over as well, for its attempt is; a new one succeeds.
      await accept(page);
      await page.waitForURL((url) => url.origin === origin);
      expect(await heading(page)).toBe('Not logged in');
      await page.goto(`${origin}/account`);
      expect(await heading(page)).toContain(`Continue as ${MIRA.name}`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('with confirm, when they leave the question open: nobody, and their own login asks again', async () => {
      const { origin, mail, context, strangersCallback } = await underWay({ confirm: true });
      await mail.goto(await strangersCallback());
      expect(await heading(mail)).toContain(`Continue as ${TOMAS.name}`);
      const other = await context.newPage();
      await other.goto(origin);
      expect(await who(other)).toBe('nobody');
      await other.goto(`${origin}/account`);
      await accept(other);
      await other.waitForURL((url) => url.origin === origin);
      expect(await heading(other)).toContain(`Continue as ${MIRA.name}`);
      await other.getByRole('button', { name: 'Continue' }).click();
      await other.waitForURL(`${origin}/account`);
      expect(await who(other)).toBe(MIRA.name);
    });

    it('a question that a stranger was asked cannot be answered by somebody else', async () => {
      const { origin, mail, strangersCallback } = await underWay({ confirm: true });
      const strange = await chromium.newContext();
      onTestFinished(() => strange.close());
      const stranger = await strange.newPage();
      await logIn(stranger, `${origin}/login`, TOMAS);
      await stranger.locator('h1').filter({ hasText: 'Continue as' }).waitFor();
      for (const answer of ['', '&answer=continue', '&answer=cancel']) {
        await mail.goto(`${stranger.url()}${answer}`);
        expect([await heading(mail), await who(mail)]).toEqual(['Not logged in', 'nobody']);
      }
      await stranger.getByRole('button', { name: 'Continue' }).click();
      await stranger.waitForURL(`${origin}/`);
      expect(await who(stranger)).toBe(TOMAS.name);
      expect(await strangersCallback()).toContain('auth_key');
    });

    it('to who is logged in already: stays who they are, and spends nothing', async () => {
      const { origin, page, exchanges, strangersCallback } = await open({ mode });
      await logIn(page, `${origin}/account`);
      await page.waitForURL(`${origin}/account`);
      await page.goto(await strangersCallback());
      expect([path(page), await who(page), exchanges()]).toEqual(['/', MIRA.name, 1]);
    });

    it('to who is logged in and has a login under way, with confirm: asks', async () => {
      const { origin, page, exchanges, strangersCallback } = await open({ mode, confirm: true });
      await logIn(page, `${origin}/account`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${origin}/account`);
      const callback = await strangersCallback();
      await page.request.get(`${origin}/login`, { maxRedirects: 0 });
      await page.goto(callback);
      expect(await heading(page)).toContain(`Continue as ${TOMAS.name}`);
      expect(exchanges()).toBe(2);
      await page.getByRole('button', { name: 'Not me' }).click();
      await page.waitForURL(/answer=cancel/);
      await page.goto(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('to who is logged in, and left a login unfinished in another tab, without confirm', async () => {
      const { origin, page, mail, strangersCallback } = await underWay();
      await mail.goto(`${origin}/account`);
      await accept(mail);
      await mail.waitForURL(`${origin}/account`);
      expect(await who(mail)).toBe(MIRA.name);
      await page.goto(await strangersCallback());
      // The attempts are gone with the login, in the session and in the cookie.
      expect(await who(page)).toBe(MIRA.name);
    });

    it('that the stranger has used: refused, and the login under way goes on', async () => {
      const { origin, page, mail } = await underWay();
      const stranger = new Browser();
      const callback = await stranger.logInUpToCallback(`${origin}/login`, TOMAS.id);
      await stranger.open(callback);
      await mail.goto(callback);
      expect(await mail.locator('#why').textContent()).toContain('already used');
      await accept(page);
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('a stolen callback works once, in whichever browser has a login under way', async () => {
      // Nothing in the protocol ties an auth_key to a browser: who gets hold of an unused one, and
      // starts a login, is in. It is short-lived, single use, and kept out of logs and referrers.
      const { origin, page } = await underWay();
      const callback = await takeCallback(page);
      const thief = new Browser();
      expect((await thief.open(callback)).status).toBe(403);
      await thief.get(`${origin}/login`);
      expect((await thief.open(callback)).text).toContain(MIRA.name);
      await page.goto(callback);
      expect(await page.locator('#why').textContent()).toContain('already used');
    });
  });

  describe.each(modes)('%s: "Continue as NAME?"', (mode) => {
    const asked = async (options: Partial<Options> = {}, person = MIRA) => {
      const opened = await open({ mode, confirm: true, ...options });
      await logIn(opened.page, `${opened.origin}/account?tab=orders`, person);
      await opened.page.locator('h1').filter({ hasText: 'Continue as' }).waitFor();
      return opened;
    };

    it('shows no auth_key in its address, and can be reloaded', async () => {
      const { page, exchanges } = await asked();
      expect(path(page)).toMatch(/^\/callback\?confirm=[\w-]{22}$/);
      await page.reload();
      expect(await heading(page)).toContain(`Continue as ${MIRA.name}`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(/\/account\?tab=orders$/);
      expect([await who(page), exchanges()]).toEqual([MIRA.name, 1]);
    });

    it('is answered by keyboard alone', async () => {
      const { page } = await asked();
      const focused = () => page.evaluate('document.activeElement.textContent.trim()');
      await page.keyboard.press('Tab');
      const order = [await focused()];
      await page.keyboard.press('Tab');
      order.push(await focused());
      expect(order).toEqual(['Continue', 'Not me']);
      const outline = await page.evaluate(
        'getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth',
      );
      expect(outline).toBe('solid3px');
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/account\?tab=orders$/);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('"Not me" by keyboard logs nobody in', async () => {
      const { page, origin } = await asked();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      await page.waitForURL(/answer=cancel/);
      await page.goto(origin);
      expect(await who(page)).toBe('nobody');
    });

    it('needs no script', async () => {
      const { origin } = await open({ mode, confirm: true });
      const context = await chromium.newContext({ javaScriptEnabled: false });
      onTestFinished(() => context.close());
      const page = await context.newPage();
      await logIn(page, `${origin}/account`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('answered twice by a double click logs in once, and leads on', async () => {
      const { page, origin } = await asked();
      await page.getByRole('button', { name: 'Continue' }).dblclick();
      await page.waitForURL((url) => !url.search.includes('confirm'));
      expect(await who(page)).toBe(MIRA.name);
      await page.goto(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('may lead to a front end at another origin', async () => {
      const front = await listen((_req, res) => {
        res.setHeader('content-type', 'text/html');
        res.end('<h1>Front end</h1>');
      });
      const { page } = await asked({ afterLogin: (_req, res) => res.redirect(front) });
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${front}/`, { timeout: 3000 });
      expect(await heading(page)).toBe('Front end');
    });

    it('does not appear again by the back button: who went on is logged in', async () => {
      const { page } = await asked();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(/\/account\?tab=orders$/);
      await page.goBack();
      expect([path(page), await who(page)]).toEqual(['/', MIRA.name]);
    });

    it('is shown in no frame', async () => {
      const { page } = await asked();
      const response = await page.reload();
      expect(response?.headers()).toMatchObject({
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      });
    });

    it('tells two accounts of one name apart', async () => {
      // Anybody can call themselves as their victim does; a user_name is only given once.
      const since = { user_registered: '2024-01-01', user_verified: '1' };
      const name = { user_firstname: 'Mira', user_lastname: 'Solheim', ...since };
      const users = [
        { user_id: MIRA.id, user_name: 'mira.solheim', user_email: 'm@a.example', ...name },
        { user_id: TOMAS.id, user_name: 'not-mira', user_email: 'n@b.example', ...name },
      ];
      const { page } = await asked({ users }, TOMAS);
      expect(await page.locator('main').textContent()).toContain('not-mira');
    });

    it('after ten minutes is over', async () => {
      const { page, sandbox } = await asked();
      sandbox.clock.advance(10 * MINUTE);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.locator('#why').waitFor();
      expect(await who(page)).toBe('nobody');
    });

    it('fits narrow and wide, light and dark', async () => {
      const { page } = await asked({}, TOMAS);
      const folder = process.env.LOGIN_SHOTS;
      if (folder) mkdirSync(folder, { recursive: true });
      for (const [width, height] of [
        [320, 568],
        [1280, 800],
      ] as const) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height });
          await page.emulateMedia({ colorScheme });
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
          const ratios = (await page.evaluate(CONTRASTS)) as number[];
          expect(ratios).toHaveLength(5);
          for (const ratio of ratios) expect(ratio).toBeGreaterThanOrEqual(4.5);
          const file = `${mode}-${width}-${colorScheme}.png`;
          if (folder) await page.screenshot({ path: `${folder}/${file}` });
        }
      }
    });
  });

  describe('session fixation', () => {
    it('the session that a visitor brings is not the one that is logged in', async () => {
      const { origin, page, context } = await open({ mode: 'session' });
      const name = 'connect.sid';
      // A stranger gets a session of their own, and plants its cookie in the visitor's browser.
      const stranger = new Browser();
      await stranger.get(`${origin}/login`);
      const planted = stranger.cookies(origin).replace(`${name}=`, '');
      expect(planted).not.toBe('');
      await context.addCookies([{ name, value: planted, domain: 'localhost', path: '/' }]);
      await logIn(page, `${origin}/account`);
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
      const after = (await context.cookies()).find((cookie) => cookie.name === name)?.value;
      expect(after).toMatch(/^s%3A/);
      expect(after).not.toBe(planted);
      expect((await stranger.open(origin)).text).toContain('nobody');
    });
  });
});

/** The contrast of every text on the confirmation page with what is behind it (WCAG 2, relative luminance). */
const CONTRASTS = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = numbers(color).slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (numbers(color)[3] !== 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  return [...document.querySelectorAll('h1, p, button')].map((element) => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
})()`;
