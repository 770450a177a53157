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
import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { faultsInBothLooks } from '../../support/axe.js';
import { Browser } from '../../support/browser.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';

const MIRA = { id: '3001', name: 'Mira Solheim' };
const TOMAS = { id: '3002', name: 'Tomás Aguilar Ibáñez' };
const MINUTE = 60_000;

interface Person {
  id: string;
  name: string;
}

type Mode = 'session' | 'cookie';

/** What is given to {@link open}; a test can change it afterwards, too. */
interface Options extends Pick<MarketplaceStrategyOptions, 'confirm'> {
  mode: Mode;
  express: typeof express5;
  javaScriptEnabled?: boolean;
  /** Whether the app never sees a cookie, as from a browser that blocks them on this site. */
  cookiesBlocked?: boolean;
  /** What the callback does. Default: go to where the visitor wanted to go. */
  afterLogin?: (req: Request, res: Response) => void;
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
  readonly options: Options;
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
  strangersCallback(): Promise<string>;
}

const isAnswered = ({ status }: Seen): boolean => status > 0;

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
function addLogin(app: ExpressApp, passport: InstanceType<typeof Passport>, mode: Mode) {
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
  const { mode, express, confirm = false, javaScriptEnabled = true } = options;
  const sandbox = createSandbox();
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
    if (options.cookiesBlocked) delete req.headers.cookie;
    const list = req.path === '/login' ? starts : req.query.auth_key ? callbacks : undefined;
    const seen: Seen = {
      url: `${req.protocol}://${req.headers.host}${req.originalUrl}`,
      purpose: req.get('sec-purpose'),
      status: 0,
    };
    list?.push(seen);
    if (seen.purpose) ahead.push(seen);
    // Not 'finish': Chromium cuts a prefetch off at its status.
    res.once('close', () => {
      seen.status = res.headersSent ? res.statusCode : 0;
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
  app.get('/secret', requireLogin({ loginPath: '/links' }), show('Secret'));
  app.use(errorHandler({ loginPath: '/login' }));

  const { port } = new URL(await listen(app));
  const origin = `http://localhost:${port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  const context = await newContext({ javaScriptEnabled });
  return {
    options,
    origin,
    sandbox,
    context,
    page: await context.newPage(),
    callbacks,
    starts,
    ahead,
    exchanges: () => sandbox.requests.filter(({ path }) => path === '/api/authorize').length,
    strangersCallback: () => new Browser().logInUpToCallback(`${origin}/login`, TOMAS.id),
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

/** Waits for what the app sees. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 8000, interval: 20 });

/** Waits for the end of a login, which is in the app. */
const inApp = (page: Page, { origin }: Opened) => page.waitForURL((url) => url.origin === origin);

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

/** Every version and every way to keep who is logged in, but not each with each. */
const pairs: [Mode, typeof express5][] = [
  ['session', express5],
  ['cookie', express4],
];
const otherPairs: [Mode, typeof express5][] = [
  ['session', express4],
  ['cookie', express5],
];

describe.skipIf(chromiumIsMissing())('logging in with Chromium', () => {
  it.each([
    ['Express 5, session', 'session', express5],
    ['Express 5, cookie', 'cookie', express5],
    ['Express 4, session', 'session', express4],
    ['Express 4, cookie', 'cookie', express4],
  ] as const)(
    '%s: leads from the page where the visitor was stopped through the login and back',
    async (_name, mode, express) => {
      const opened = await open({ mode, express });
      const { origin, page, context, sandbox, exchanges } = opened;
      await page.goto(origin);
      for (const accept of ['*/*', 'text/html', 'application/json']) {
        const script = `fetch('/account', { headers: { accept: '${accept}' } })
          .then(({ status, redirected }) => ({ status, redirected }))`;
        expect(await page.evaluate(script)).toEqual({ status: 401, redirected: false });
      }
      const wanted = `${origin}/account?tab=orders&q=%C3%A4`;
      await page.goto(wanted);
      await choose(page, MIRA);
      await page.locator('button[value=accept]').waitFor();
      // Almost too long.
      sandbox.clock.advance(9 * MINUTE);
      await accept(page);
      await page.waitForURL(wanted);
      expect([await heading(page), await who(page)]).toEqual(['Account', MIRA.name]);
      expect(exchanges()).toBe(1);
      // A second login, consented before, shows no page.
      await context.clearCookies({ domain: 'localhost' });
      await page.goto(`${origin}/account?again`);
      expect([path(page), await who(page)]).toEqual(['/account?again', MIRA.name]);
    },
  );

  describe.each(pairs)('%s: the same person in two tabs', (mode, express) => {
    /** Two logins under way, both at the marketplace's last question. */
    async function twoTabs(more: Partial<Options> = {}) {
      const opened = await open({ mode, express, ...more });
      const { origin, context, page: first } = opened;
      const second = await context.newPage();
      await first.goto(`${origin}/account?first`);
      await second.goto(`${origin}/account?second`);
      for (const tab of [first, second]) {
        await choose(tab, MIRA);
        await tab.locator('button[value=accept]').waitFor();
      }
      return { ...opened, first, second };
    }

    it('one after the other: the first goes on, and the second is led on', async () => {
      const opened = await twoTabs();
      const { first, second } = opened;
      await accept(first);
      await inApp(first, opened);
      // Where the login leads that was started last: nothing that the service sends back tells the
      // tabs apart.
      expect([path(first), await who(first)]).toEqual(['/account?second', MIRA.name]);
      await accept(second);
      await inApp(second, opened);
      // What other tabs had begun ends with the login, so that no stranger's callback finds an attempt.
      expect([path(second), await who(second)]).toEqual(['/', MIRA.name]);
    });

    // One auth_key per app and user is alive: the second tab's makes the first tab's invalid.
    it('a tab whose key died meanwhile fails, and the other still logs in', async () => {
      const gates = [gate(), gate()];
      const opened = await twoTabs({ beforeCallback: (n) => gates[n - 1]?.opened });
      const { origin, first, second, callbacks } = opened;
      const clicks = [accept(first)];
      await eventually(() => expect(callbacks).toHaveLength(1));
      clicks.push(accept(second));
      await eventually(() => expect(callbacks).toHaveLength(2));
      gates[0]?.open();
      await inApp(first, opened);
      expect([await heading(first), await who(first)]).toEqual(['Not logged in', 'nobody']);
      gates[1]?.open();
      await inApp(second, opened);
      expect(await who(second)).toBe(MIRA.name);
      await Promise.all(clicks);
      await first.goto(`${origin}/account`);
      expect(await who(first)).toBe(MIRA.name);
    });
  });

  it.each(otherPairs)(
    '%s: going back, opening the callback again, reloading it',
    async (mode, express) => {
      const opened = await open({ mode, express });
      const { origin, page, callbacks, exchanges } = opened;
      await page.goto(origin);
      await logIn(page, `${origin}/account?tab=orders`);
      await page.waitForURL(`${origin}/account?tab=orders`);
      // Through every page of the marketplace, to the one before the login.
      for (let i = 0; i < 6 && page.url() !== `${origin}/`; i++) await page.goBack();
      expect([page.url(), await who(page)]).toEqual([`${origin}/`, MIRA.name]);
      await page.goto(callbacks[0]?.url ?? '');
      expect([path(page), await who(page)]).toEqual(['/account?tab=orders', MIRA.name]);
      expect(exchanges()).toBe(1);
      // A callback that shows a page of its own.
      opened.options.afterLogin = show('Welcome');
      await page.goto(`${origin}/login`);
      expect(path(page)).toMatch(/^\/callback\?auth_key=/);
      expect((await page.reload())?.status()).toBe(200);
      expect([await heading(page), await who(page)]).toEqual(['Welcome', MIRA.name]);
      expect(exchanges()).toBe(2);
    },
  );

  it.each(pairs)(
    '%s: what is loaded ahead spends nothing, and starts no login',
    async (mode, express) => {
      const { origin, page, ahead, exchanges } = await open({ mode, express });
      /** Shows a page with hints until all of them were followed. */
      async function prefetch(...addresses: string[]): Promise<void> {
        const hints = addresses.map((address) => `<link rel="prefetch" href="${address}">`);
        const html = `${hints.join('')}<a href="/login">Log in</a>`;
        await page.goto(`${origin}/links?${new URLSearchParams({ html })}`);
        await eventually(() => {
          const answered = ahead.filter(isAnswered).map(({ url }) => url);
          expect(answered).toEqual(expect.arrayContaining(addresses));
        });
      }
      await page.goto(`${origin}/secret?was=here`);
      expect(path(page)).toBe('/links');
      await prefetch(`${origin}/login`, `${origin}/account`);
      await page.getByRole('link', { name: 'Log in' }).click();
      await choose(page, MIRA);
      const callback = await takeCallback(page);
      await prefetch(callback);
      expect(exchanges()).toBe(0);
      for (const { purpose, status } of ahead.filter(isAnswered)) {
        expect([purpose, status]).toEqual(['prefetch', 401]);
      }
      await page.goto(callback);
      expect([path(page), await who(page)]).toEqual(['/secret?was=here', MIRA.name]);
      expect(exchanges()).toBe(1);
    },
  );

  it.each(otherPairs)(
    '%s, cookies blocked: says so, and goes round in no circle',
    async (mode, express) => {
      const opened = await open({ mode, express, cookiesBlocked: true });
      const { origin, page, callbacks, exchanges } = opened;
      await logIn(page, `${origin}/account`);
      await inApp(page, opened);
      expect(await page.locator('#why').textContent()).toContain('allow cookies for this site');
      // Consented by now: the whole way is redirects, and ends.
      expect((await page.goto(`${origin}/account`))?.status()).toBe(403);
      expect([callbacks.map(({ status }) => status), exchanges()]).toEqual([[403, 403], 0]);
      opened.options.cookiesBlocked = false;
      await page.goto(`${origin}/account`);
      expect([path(page), await who(page)]).toEqual(['/account', MIRA.name]);
    },
  );

  describe.each(pairs)('%s: a callback that a stranger sent', (mode, express) => {
    it('in a frame or a picture is refused; in a window that began a login it logs in, without confirm', async () => {
      // The service echoes nothing that would tie the auth_key to the login of this browser. This is
      // the login CSRF that `confirm: true` closes; the test below shows how.
      const { origin, page, context, callbacks, exchanges, strangersCallback } = await open({
        mode,
        express,
      });
      const callback = await strangersCallback();
      const elsewhere = await listen((_req, res) => {
        res.setHeader('content-type', 'text/html');
        res.end(
          '<button onclick="window.other = window.open(location.hash.slice(1))">Win</button>',
        );
      });
      await page.goto(`${elsewhere.replace('127.0.0.1', 'evil.example')}/#${origin}/login`);
      const opening = context.waitForEvent('page');
      await page.getByRole('button').click();
      const other = await opening;
      await other.waitForURL(/api\/oauth/);
      const embedded = `<iframe src="${callback}"></iframe><img src="${callback}" alt="">`;
      await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '${embedded}')`);
      await eventually(() => expect(callbacks.map(({ status }) => status)).toEqual([403, 403]));
      expect(exchanges()).toBe(0);
      await page.evaluate(`window.other.location = ${JSON.stringify(callback)}`);
      await other.waitForURL(`${origin}/`);
      expect(await who(other)).toBe(TOMAS.name);
    });

    it('to who has a login under way, with confirm: asks in the stranger’s name', async () => {
      const opened = await open({ mode, express, confirm: true });
      const { origin, page, context, exchanges, strangersCallback } = opened;
      const asked = async (tab: Page, { name }: Person) =>
        expect(await heading(tab)).toContain(`Continue as ${name}`);
      await page.goto(`${origin}/account`);
      await choose(page, MIRA);
      await page.locator('button[value=accept]').waitFor();
      const mail = await context.newPage();
      await mail.goto(await strangersCallback());
      await asked(mail, TOMAS);
      // By keyboard.
      for (const key of ['Tab', 'Tab', 'Space']) await mail.keyboard.press(key);
      await mail.waitForURL(/answer=cancel/);
      expect(await mail.locator('#why').textContent()).toContain('nobody was logged in');
      expect(await who(mail)).toBe('nobody');
      // The login under way is over as well, for its attempt is; a new one succeeds.
      await accept(page);
      await inApp(page, opened);
      expect(await heading(page)).toBe('Not logged in');
      await page.goto(`${origin}/account`);
      await asked(page, MIRA);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
      // Who is logged in, and has another login under way, is asked as well.
      const callback = await strangersCallback();
      await page.request.get(`${origin}/login`, { maxRedirects: 0 });
      await mail.goto(callback);
      await asked(mail, TOMAS);
      expect(exchanges()).toBe(3);
      await mail.getByRole('button', { name: 'Not me' }).click();
      await mail.waitForURL(/answer=cancel/);
      await page.goto(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });
  });

  describe('"Continue as NAME?"', () => {
    async function asked(options: Options, person = MIRA) {
      const opened = await open({ confirm: true, ...options });
      await logIn(opened.page, `${opened.origin}/account?tab=orders`, person);
      await opened.page.locator('h1').filter({ hasText: 'Continue as' }).waitFor();
      return opened;
    }

    it('can be reloaded, is answered by keyboard alone, and is not gone back to', async () => {
      const { page, exchanges } = await asked({ mode: 'session', express: express5 });
      expect(path(page)).toMatch(/^\/callback\?confirm=[\w-]{22}$/);
      await page.reload();
      expect(await heading(page)).toContain(`Continue as ${MIRA.name}`);
      const focused = () =>
        page.evaluate(`(() => {
          const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
          return [document.activeElement.textContent.trim(), outlineStyle, outlineWidth].join(' ');
        })()`);
      const order: unknown[] = [];
      for (let i = 0; i < 2; i++) {
        await page.keyboard.press('Tab');
        order.push(await focused());
      }
      expect(order).toEqual(['Continue solid 3px', 'Not me solid 3px']);
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/account\?tab=orders$/);
      expect([await who(page), exchanges()]).toEqual([MIRA.name, 1]);
      // Who went on is logged in.
      await page.goBack();
      expect([path(page), await who(page)]).toEqual(['/', MIRA.name]);
    });

    it('needs no script', async () => {
      const options = { mode: 'cookie', express: express4, javaScriptEnabled: false } as const;
      const { page } = await asked(options);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(/\/account\?tab=orders$/);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('may lead to a front end at another origin', async () => {
      const front = await listen((_req, res) => {
        res.setHeader('content-type', 'text/html');
        res.end('<h1>Front end</h1>');
      });
      const afterLogin = (_req: Request, res: Response) => res.redirect(front);
      const { page } = await asked({ mode: 'session', express: express5, afterLogin });
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${front}/`);
      expect(await heading(page)).toBe('Front end');
    });

    it('is accessible and fits, narrow and wide, light and dark', async () => {
      const { page } = await asked({ mode: 'session', express: express5 }, TOMAS);
      expect(await faultsInBothLooks(page)).toEqual([]);
    });
  });

  it('the session that a visitor brings is not the one that is logged in', async () => {
    const { origin } = await open({ mode: 'session', express: express5 });
    // A stranger gets a session of their own, and plants its cookie in the visitor's browser.
    const visitor = new Browser();
    await visitor.get(`${origin}/login`);
    const planted = visitor.cookies(origin);
    expect(planted).toMatch(/^connect\.sid=s%3A/);
    expect((await visitor.logIn(`${origin}/account`, MIRA.id)).text).toContain(MIRA.name);
    expect(visitor.cookies(origin)).not.toBe(planted);
    expect((await new Browser().open(origin, { cookie: planted })).text).toContain('nobody');
  });
});
