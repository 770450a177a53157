import { describe, expect, it } from 'vitest';
import { chromiumIsMissing } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';
import {
  accept,
  choose,
  eventually,
  MIRA,
  type Mode,
  open,
  shown,
  TOMAS,
} from '../../support/login-app.js';

// A page of somebody else begins a login in the visitor's browser, and then opens the callback of a login
// of their own. What SECURITY.md promises of it, and what it does not.

interface Attack {
  /** Runs in the attacker's page; `add` puts HTML into it. */
  begin: string;
  /** Whether the browser may never ask the app for the start, so that the page cannot wait for it. */
  isSilent?: boolean;
  /** Default: the window itself goes to the callback. */
  end?: string;
  /** Needs a click on the attacker's page. */
  isClicked?: boolean;
}

/** HTML in which LOGIN and CALLBACK stand for the attacker's values. */
const add = (html: string): string => `add('${html}');`;

const MAIN: Attack = { begin: 'location = login;' };

const IN_THE_WINDOW: Record<string, Attack> = {
  'a change of its address': MAIN,
  'a change of its address to a page behind the login': { begin: 'location = account;' },
  'a redirect through its own server': { begin: 'location = hop;' },
  'a form that it sends by POST': {
    begin: `${add('<form method="post" action="LOGIN"></form>')} document.forms[0].submit();`,
  },
  'a link that its script follows': {
    begin: `${add('<a href="LOGIN" rel="noreferrer">x</a>')} document.links[0].click();`,
  },
  'a window': {
    begin: 'window.other = window.open(login);',
    end: 'window.other.location = callback;',
    isClicked: true,
  },
  'a window without an opener': {
    begin: `window.open(login, '', 'noopener');`,
    isClicked: true,
  },
};

/** These load no page in the browser's window. */
const HIDDEN: Record<string, Attack> = {
  'begins the login by a frame': { begin: add('<iframe src="LOGIN"></iframe>') },
  'begins the login by a frame without an origin': {
    begin: add('<iframe sandbox src="LOGIN"></iframe>'),
  },
  'begins the login by an image': { begin: add('<img src="LOGIN">') },
  'begins the login by an <object>': { begin: add('<object data="LOGIN"></object>') },
  'begins the login by a fetch': {
    begin: `fetch(login, { mode: 'no-cors', credentials: 'include' }).catch(() => {});`,
  },
  'begins the login by a prefetch hint': {
    begin: `make('link', { rel: 'prefetch', href: login });`,
    isSilent: true,
  },
  'begins the login by speculation rules': {
    begin: `make('script', { type: 'speculationrules', textContent: JSON.stringify({
      prerender: [{ source: 'list', urls: [login], eagerness: 'immediate' }],
    }) });`,
    isSilent: true,
  },
  'opens the callback in a frame': { ...MAIN, end: add('<iframe src="CALLBACK"></iframe>') },
  'opens the callback in an image': { ...MAIN, end: add('<img src="CALLBACK">') },
  'opens the callback in a fetch': {
    ...MAIN,
    end: `fetch(callback, { mode: 'no-cors', credentials: 'include' }).catch(() => {});`,
  },
  'opens the callback in a prefetch hint': {
    ...MAIN,
    end: `make('link', { rel: 'prefetch', href: callback });`,
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

/** An attacker on another site, or next door on the same one, where the browser sends all cookies along. */
type Host = 'evil.example' | 'localhost';

/** An app, and the site of an attacker. */
async function attacked(host: Host, mode: Mode, confirm: boolean | 'auto') {
  // The service is slow, so that the attacker's page is still there when the login has begun.
  const opened = await open(mode, { confirm, isServiceSlow: true });
  const { page, context, origin, requests, answered, callbackOf } = opened;
  let html: string;
  const server = await listen(async (req, res) => {
    if (req.url === '/hop') return void res.writeHead(302, { location: `${origin}/login` }).end();
    if (req.url === '/at-once') return void res.end();
    if (req.url === '/started') {
      await eventually(() => expect(answered('/login')).not.toEqual([]));
      return void res.end();
    }
    res.setHeader('content-type', 'text/html');
    res.end(html);
  });
  /** Attacks a visitor, and waits until the app has answered the callback. Gives the window in which it was opened. */
  async function run(attack: Attack) {
    requests.length = 0;
    html = pageOf(origin, attack);
    await page.goto('about:blank');
    const last = attack.end?.includes('window.other') ? context.waitForEvent('page') : page;
    await page.goto(`${server.replace('127.0.0.1', host)}/#${callbackOf(TOMAS)}`, {
      waitUntil: 'commit',
    });
    if (attack.isClicked) await page.getByRole('button', { name: 'Win' }).click();
    await eventually(() => expect(answered('/callback')).not.toEqual([]));
    // Else the callback's page could come later, and interrupt what the window does next.
    if (attack.end === undefined)
      await page.waitForURL((url) => url.origin === origin, { waitUntil: 'commit' });
    return last;
  }
  return { ...opened, run };
}

const ASKED = `Continue as ${TOMAS.name}?`;

describe.skipIf(chromiumIsMissing())('a page that logs its visitors in as somebody else', () => {
  it('on another site: the visitor is asked, by whatever means it begins the login', async () => {
    const { run, user, context, page } = await attacked('evil.example', 'session', 'auto');
    for (const [means, attack] of Object.entries(IN_THE_WINDOW)) {
      const tab = await run(attack);
      await tab.getByRole('heading', { name: ASKED }).waitFor();
      expect([means, await user()]).toEqual([means, 'nobody']);
      await context.clearCookies();
      for (const other of context.pages()) if (other !== page) await other.close();
    }
  });

  it('next door on the same site: "Not me" logs nobody in, and who is logged in stays so', async () => {
    const { run, user, page, logInQuietly } = await attacked('localhost', 'cookie', 'auto');
    await run(MAIN);
    await page.getByRole('heading', { name: ASKED }).waitFor();
    await page.getByRole('button', { name: 'Not me' }).click();
    await page.waitForURL(/answer=cancel/);
    expect(await user()).toBe('nobody');
    await logInQuietly(MIRA);
    await run(MAIN);
    expect(await user()).toBe(MIRA.name);
  });

  it('spends nothing by what loads no page in the window, also with confirm: false', async () => {
    const { run, user, exchanges, context } = await attacked('localhost', 'session', false);
    for (const [means, attack] of Object.entries(HIDDEN)) {
      await run(attack);
      expect([means, await user(), exchanges()]).toEqual([means, 'nobody', 0]);
      await context.clearCookies();
    }
    // As SECURITY.md says; and the attacks above do something.
    const page = await run(MAIN);
    await page.waitForURL((url) => url.pathname === '/');
    expect(await user()).toBe(TOMAS.name);
  });
});

/** A site with one page. */
const listenTo = (html: string) =>
  listen((_req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(html);
  });

describe.skipIf(chromiumIsMissing())('a visitor', () => {
  it('who is logged in, and led into a second login through a page of this site, is asked, also with confirm: false', async () => {
    // The service is slow, so that the second login does not end before the page elsewhere goes on.
    const opened = await open('cookie', { confirm: false, isServiceSlow: true });
    const { page, context, requests, answered, callbackOf, user } = opened;
    await opened.logInQuietly(MIRA);
    requests.length = 0;
    const links = opened.linksWith(`<script>location = '/login'</script>`);
    await page.goto(
      await listenTo(
        `<button onclick="window.other = window.open('${links}')">A discount</button>`,
      ),
    );
    const opens = context.waitForEvent('page');
    await page.getByRole('button').click();
    await eventually(() => expect(answered('/login')).not.toEqual([]));
    await page.evaluate(`other.location = ${JSON.stringify(callbackOf(TOMAS))}; 0`);
    const other = await opens;
    await other.getByRole('heading', { name: ASKED }).waitFor();
    expect(await other.textContent('main')).toContain('You are logged in here already');
    expect(await user()).toBe(MIRA.name);
  });

  it.each([
    ['link', '<a href="/login">Log in</a>'],
    ['button', '<form method="post" action="/login"><button>Log in</button></form>'],
  ] as const)('who follows a %s of this site to the login is not asked', async (role, html) => {
    const { page, linksWith } = await open('session', { known: MIRA });
    await page.goto(linksWith(html));
    await page.getByRole(role).click();
    await page.waitForURL('/');
    expect(await shown(page)).toEqual(['Home', MIRA.name]);
  });

  it('who comes by a link of another site is asked once, and then logged in', async () => {
    const { origin, page } = await open('cookie', { known: MIRA });
    await page.goto(await listenTo(`<a href="${origin}/account">My account</a>`));
    await page.getByRole('link').click();
    // By keyboard, which does not have to wait.
    await page.getByRole('button', { name: 'Continue' }).press('Enter');
    await page.waitForURL('/account');
    expect(await shown(page)).toEqual(['Account', MIRA.name]);
  });

  // Not promised: a callback that was sent with the cookie of before the login, and is answered after it, replaces the
  // new session's cookie, and the visitor is asked again. So each callback is answered before the login goes on.
  it('logs in as nobody else where a window in the background loads a callback of somebody else at every step', async () => {
    const { page, context, callbackOf, exchanges } = await open('session');
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
    await page.goto('/account');
    await loadCallback();
    await choose(page, MIRA);
    await loadCallback();
    await accept(page);
    expect(await shown(page)).toEqual([`Continue as ${MIRA.name}?`]);
    await loadCallback();
    await page.getByRole('button', { name: 'Continue' }).press('Enter');
    await page.waitForURL('/account');
    await loadCallback();
    await page.goto('/account');
    expect([await shown(page), exchanges()]).toEqual([['Account', MIRA.name], 1]);
  });

  it('whose double click began in another window does not press "Continue" by it, and logs in once by a later one', async () => {
    const { page, exchanges } = await open('session', { confirm: true, known: MIRA });
    await page.goto('/account');
    const button = page.getByRole('button', { name: 'Continue' });
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
    await button.dblclick();
    // The second click can abort what the first has begun to load.
    await page.locator('h1', { hasText: 'Account' }).waitFor();
    expect([await shown(page), exchanges()]).toEqual([['Account', MIRA.name], 1]);
  });
});
