import express5 from 'express';
import express4 from 'express4';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chromiumIsMissing } from '../../support/chromium.js';
import { deferred } from '../../support/deferred.js';
import { listen } from '../../support/listen.js';
import {
  accept,
  choose,
  eventually,
  heading,
  isAnswered,
  MIRA,
  MODES,
  type Mode,
  type Options,
  open,
  TOMAS,
  who,
} from '../../support/login-app.js';

// A page of somebody else begins a login in the visitor's browser, and then opens the callback of a login
// of their own. What SECURITY.md promises of it, and what it does not.

interface Attack {
  /** Runs in the attacker's page; `add` puts HTML into it. */
  begin: string;
  /** Whether the browser may never ask the app for the start, so that the page cannot wait for it. */
  isSilent?: boolean;
  end?: string;
  /** Loads no page in the browser's window, so nobody is logged in with `confirm: false` either. */
  isHidden?: boolean;
  /** Needs a click on the attacker's page. */
  isClicked?: boolean;
}

/** HTML in which LOGIN and CALLBACK stand for the attacker's values. */
const add = (html: string): string => `add('${html}');`;

const MAIN: Attack = { begin: 'location = login;' };
const ATTACKS: Record<string, Attack> = {
  'begins the login by a change of its address': MAIN,
  'begins the login by a change of its address to a page behind the login': {
    begin: 'location = account;',
  },
  'begins the login by a redirect through its own server': { begin: 'location = hop;' },
  'begins the login by a form that it sends by POST': {
    begin: `${add('<form method="post" action="LOGIN"></form>')} document.forms[0].submit();`,
  },
  'begins the login by a link that its script follows': {
    begin: `${add('<a href="LOGIN" rel="noreferrer">x</a>')} document.links[0].click();`,
  },
  'begins the login by a frame': { begin: add('<iframe src="LOGIN"></iframe>'), isHidden: true },
  'begins the login by a frame without an origin': {
    begin: add('<iframe sandbox src="LOGIN"></iframe>'),
    isHidden: true,
  },
  'begins the login by an image': { begin: add('<img src="LOGIN">'), isHidden: true },
  'begins the login by an <object>': {
    begin: add('<object data="LOGIN"></object>'),
    isHidden: true,
  },
  'begins the login by a fetch': {
    begin: `fetch(login, { mode: 'no-cors', credentials: 'include' }).catch(() => {});`,
    isHidden: true,
  },
  'begins the login by a prefetch hint': {
    begin: `make('link', { rel: 'prefetch', href: login });`,
    isSilent: true,
    isHidden: true,
  },
  'begins the login by speculation rules': {
    begin: `make('script', { type: 'speculationrules', textContent: JSON.stringify({
      prerender: [{ source: 'list', urls: [login], eagerness: 'immediate' }],
    }) });`,
    isSilent: true,
    isHidden: true,
  },
  'begins the login by a window': {
    begin: 'window.other = window.open(login);',
    end: 'window.other.location = callback;',
    isClicked: true,
  },
  'begins the login by a window without an opener': {
    begin: `window.open(login, '', 'noopener');`,
    isClicked: true,
  },
  'opens the callback in a frame': {
    ...{ ...MAIN, end: add('<iframe src="CALLBACK"></iframe>'), isHidden: true },
  },
  'opens the callback in an image': {
    ...{ ...MAIN, end: add('<img src="CALLBACK">'), isHidden: true },
  },
  'opens the callback in a fetch': {
    ...MAIN,
    end: `fetch(callback, { mode: 'no-cors', credentials: 'include' }).catch(() => {});`,
    isHidden: true,
  },
  'opens the callback in a prefetch hint': {
    ...MAIN,
    end: `make('link', { rel: 'prefetch', href: callback });`,
    isHidden: true,
  },
};

/** The attacker's page, which attacks when it is loaded, or with a click. */
function pageOf(
  origin: string,
  { begin, end = 'location = callback;', isClicked, isSilent }: Attack,
) {
  const [login, account] = ['/login', '/account'].map((at) => origin + at);
  return `<!doctype html><html><head><title>Win</title></head><body><button onclick="attack()">Win</button>
<script>
// Their own callback comes in the fragment, which no server sees.
const callback = location.hash.slice(1);
const values = { ...${JSON.stringify({ login, account, hop: '/hop' })}, callback };
const { login, account, hop } = values;
const add = (html) => document.body.insertAdjacentHTML(
  'beforeend',
  html.replace(/[A-Z]{3,}/g, (name) => values[name.toLowerCase()]),
);
const make = (name, more) =>
  document.head.append(Object.assign(document.createElement(name), more));
async function attack() {
  ${begin}
  await fetch('${isSilent ? '/at-once' : '/started'}');
  ${end}
}
${isClicked ? '' : 'attack();'}
</script></body></html>`;
}

/** An app, and the page of an attacker on another site or next door on the same one. */
async function attacked(where: Where, options: Options, attack: Attack) {
  // The service is slow, so that the attacker's page is still there when the login has begun.
  let held: Promise<void> | undefined;
  const opened = await open({ ...options, beforeService: () => held });
  const { page, context, origin, callbacks, starts, callbackOf } = opened;
  const begun = () => eventually(() => expect(starts.some(isAnswered)).toBe(true));
  const html = pageOf(origin, attack);
  const server = await listen((req, res) => {
    if (req.url === '/hop') return void res.writeHead(302, { location: `${origin}/login` }).end();
    if (req.url === '/at-once') return void res.end();
    if (req.url === '/started')
      return void begun().then(
        () => res.end(),
        () => res.destroy(),
      );
    res.setHeader('content-type', 'text/html');
    res.end(html);
  });
  /** Opens the attacker's page, and waits until the app has answered the callback. */
  async function run(): Promise<Page> {
    starts.length = 0;
    callbacks.length = 0;
    const service = deferred();
    held = service.promise;
    onTestFinished(() => service.resolve());
    const last = attack.end?.includes('window.other') ? context.waitForEvent('page') : page;
    const host = where === 'of another site' ? 'evil.example' : 'localhost';
    const url = `${server.replace('127.0.0.1', host)}/#${callbackOf(TOMAS)}`;
    await page.goto(url, { waitUntil: 'commit' });
    if (attack.isClicked) await page.getByRole('button', { name: 'Win' }).click();
    await eventually(() => expect(callbacks.some(isAnswered)).toBe(true));
    service.resolve();
    const tab = await last;
    // Where the callback becomes a page, the browser has its cookies with that page.
    if (attack.end === undefined || attack.isClicked)
      await tab.waitForURL(({ origin: at }) => at === origin, { waitUntil: 'commit' });
    return tab;
  }
  return { ...opened, run };
}

/** A site with one page. */
const listenTo = (html: string) =>
  listen((_req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(html);
  });

type Where = 'of another site' | 'next door on the same site';

/** Every place and every way to keep attempts, but not each with each. */
const SOME: [Where, Mode, typeof express5][] = [
  ['of another site', 'session', express5],
  ['next door on the same site', 'cookie', express4],
];

describe.skipIf(chromiumIsMissing())('a page that logs its visitors in as somebody else', () => {
  it.each(Object.entries(ATTACKS))('%s: nobody is logged in', async (_, attack) => {
    await Promise.all(
      SOME.map(async ([where, mode, express]) => {
        const confirm = attack.isHidden ? false : 'auto';
        const { run, user, exchanges } = await attacked(where, { mode, express, confirm }, attack);
        await run();
        expect([where, await user()]).toEqual([where, 'nobody']);
        if (attack.isHidden) expect(exchanges()).toBe(0);
      }),
    );
  });

  describe.each(SOME)('%s, with attempts in a %s', (where, mode, express) => {
    it('the visitor is asked, and "Not me" logs nobody in', async () => {
      const { run, user } = await attacked(where, { mode, express }, MAIN);
      const page = await run();
      expect(await heading(page)).toContain(`Continue as ${TOMAS.name}`);
      expect(await user()).toBe('nobody');
      await page.getByRole('button', { name: 'Not me' }).click();
      await page.waitForURL(/answer=cancel/);
      expect(await user()).toBe('nobody');
    });

    it('a visitor who is logged in stays who they are', async () => {
      const { run, user, logInQuietly } = await attacked(where, { mode, express }, MAIN);
      await logInQuietly(MIRA);
      await run();
      expect(await user()).toBe(MIRA.name);
    });

    // Otherwise the tests above would pass with an attack that does nothing. SECURITY.md says it, too.
    it('with false it works', async () => {
      const { run, user } = await attacked(where, { mode, express, confirm: false }, MAIN);
      await run();
      expect(await user()).toBe(TOMAS.name);
    });
  });
});

describe.skipIf(chromiumIsMissing())(
  'a page that leads a logged-in visitor into a second login',
  () => {
    it.each(MODES)(
      'through a page of this site, attempts in a %s: the visitor is asked, also with false',
      async (mode, express) => {
        // The service is slow, so that the second login does not end before the page elsewhere goes on.
        const service = deferred();
        onTestFinished(() => service.resolve());
        const options = { mode, express, confirm: false, beforeService: () => service.promise };
        const { origin, page, context, starts, callbackOf, logInQuietly, user } =
          await open(options);
        await logInQuietly(MIRA);
        starts.length = 0;
        const html = `<script>location = '/login'</script>`;
        const links = `${origin}/links?${new URLSearchParams({ html })}`;
        await page.goto(
          await listenTo(
            `<button onclick="window.other = window.open('${links}')">A discount</button>`,
          ),
        );
        const opens = context.waitForEvent('page');
        await page.getByRole('button').click();
        await eventually(() => expect(starts.some(isAnswered)).toBe(true));
        await page.evaluate(`other.location = ${JSON.stringify(callbackOf(TOMAS))}; 0`);
        const other = await opens;
        await other
          .locator('h1')
          .filter({ hasText: `Continue as ${TOMAS.name}` })
          .waitFor();
        expect(await other.textContent('main')).toContain('You are logged in here already');
        expect(await user()).toBe(MIRA.name);
      },
    );
  },
);

describe.skipIf(chromiumIsMissing())('logins that nobody is asked about', () => {
  describe.each(MODES)('attempts in a %s', (mode, express) => {
    it.each([
      ['link', '<a href="/login">Log in</a>'],
      ['button', '<form method="post" action="/login"><button>Go</button></form>'],
    ] as const)('by a %s of this site', async (role, html) => {
      const { origin, page } = await open({ mode, express, known: MIRA });
      await page.goto(`${origin}/links?${new URLSearchParams({ html })}`);
      await page.getByRole(role).click();
      await page.waitForURL(`${origin}/`);
      expect(await who(page)).toBe(MIRA.name);
    });

    it('by a link on another site: asked once, and then logged in', async () => {
      const { origin, page } = await open({ mode, express, known: MIRA });
      await page.goto(await listenTo(`<a href="${origin}/account">My account</a>`));
      await page.getByRole('link').click();
      // By keyboard, which does not have to wait.
      await page.getByRole('button', { name: 'Continue' }).press('Enter');
      await page.waitForURL(`${origin}/account`);
      expect(await who(page)).toBe(MIRA.name);
    });
  });

  // Not promised: where the visitor has begun a login on this site, nothing tells the callbacks apart.
  it.each([
    ['auto', TOMAS.name],
    [true, 'nobody'],
  ] as const)(
    'an attacker’s callback that first comes while a login of the visitor’s own is open, with confirm %j: %s is logged in',
    async (confirm, expected) => {
      const { origin, page, context, callbackOf, user } = await open({
        ...{ mode: 'session', express: express5, confirm },
      });
      await page.goto(`${origin}/login`);
      const mail = await context.newPage();
      await mail.goto(callbackOf(TOMAS));
      expect(await user()).toBe(expected);
    },
  );
});

describe.skipIf(chromiumIsMissing())('a window in the background', () => {
  // Not promised: a callback that was sent with the cookie of before the login, and is answered after it, replaces the
  // new session's cookie, and the visitor is asked again. So each callback is answered before the login goes on.
  it.each(MODES)(
    'that loads the callback of somebody else at every step of a login takes it over at none, with attempts in a %s',
    async (mode, express) => {
      const opened = await open({ mode, express });
      const { origin, page, context, callbacks, callbackOf, exchanges } = opened;
      const background = await context.newPage();
      const opensOther = context.waitForEvent('page');
      await background.goto(
        `${await listenTo(`<script>const other = window.open('about:blank');</script>`)}/#${callbackOf(TOMAS)}`,
      );
      const other = await opensOther;
      const loadCallback = async () => {
        const loads = other.waitForEvent('load');
        await background.evaluate('other.location = location.hash.slice(1); 0');
        await loads;
      };
      await loadCallback();
      await loadCallback();
      await page.goto(`${origin}/account`);
      await loadCallback();
      await choose(page, MIRA);
      await loadCallback();
      await accept(page);
      expect(await heading(page)).toContain(`Continue as ${MIRA.name}`);
      await loadCallback();
      await page.getByRole('button', { name: 'Continue' }).press('Enter');
      await page.waitForURL(`${origin}/account`);
      await loadCallback();
      await page.goto(`${origin}/account`);
      expect([await who(page), exchanges(), callbacks.length]).toEqual([MIRA.name, 1, 7]);
    },
  );
});

describe.skipIf(chromiumIsMissing())('a double click', () => {
  const asked = async () => {
    const opened = await open({
      ...{ mode: 'session', express: express5, confirm: true, known: MIRA },
    });
    await opened.page.goto(`${opened.origin}/account`);
    return { ...opened, button: opened.page.getByRole('button', { name: 'Continue' }) };
  };

  it('on "Continue" logs in once', async () => {
    const { page, button, origin, exchanges } = await asked();
    await button.dblclick();
    await page.waitForURL(`${origin}/account`);
    expect([await who(page), exchanges()]).toEqual([MIRA.name, 1]);
  });

  it('that began in another window does not press "Continue" when the page, or its window, has just appeared', async () => {
    const { page, button, origin } = await asked();
    const presses: string[] = [];
    page.on('request', (request) => presses.push(request.url()));
    const { x, y } = (await button.boundingBox()) ?? { x: 0, y: 0 };
    for (const event of ['pageshow', 'focus']) {
      // Waits until it can be pressed.
      await button.click({ trial: true });
      await page.evaluate(`dispatchEvent(new Event('${event}'))`);
      await page.mouse.click(x + 5, y + 5);
    }
    expect(presses).toEqual([]);
    // The visitor's own press, later.
    await button.click();
    await page.waitForURL(`${origin}/account`);
    expect(await who(page)).toBe(MIRA.name);
  });
});
