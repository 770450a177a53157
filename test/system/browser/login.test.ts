import { describe, expect, it } from 'vitest';
import { faultsInBothLooks } from '../../support/axe.js';
import { chromiumIsMissing } from '../../support/chromium.js';
import {
  accept,
  choose,
  eventually,
  MIRA,
  type Mode,
  open,
  path,
  show,
  shown,
  TOMAS,
} from '../../support/login-app.js';

const ACCOUNT = ['Account', MIRA.name];

describe.skipIf(chromiumIsMissing())('a login in Chromium', () => {
  it.each<Mode>(['session', 'cookie'])(
    'leads to the page where the visitor was stopped, and goes on when they go back or reload: %s',
    async (mode) => {
      const { options, page, context, sandbox, requests, exchanges } = await open(mode);
      await page.goto('/');
      const script = `fetch('/account', { headers: { accept: 'text/html' } })
        .then(({ status, redirected }) => [status, redirected])`;
      expect(await page.evaluate(script)).toEqual([401, false]);
      const wanted = '/account?tab=orders&q=%C3%A4';
      await page.goto(wanted);
      await choose(page, MIRA);
      await page.locator('button[value=accept]').waitFor();
      // Almost too long.
      sandbox.clock.advance(9 * 60_000);
      await accept(page);
      await page.waitForURL(wanted);
      expect(await shown(page)).toEqual(ACCOUNT);

      // Through every page of the marketplace, to the one before the login.
      for (let i = 0; i < 6 && path(page) !== '/'; i++) await page.goBack();
      expect(await shown(page)).toEqual(['Home', MIRA.name]);
      await page.goto(requests.find(({ url }) => url.includes('auth_key'))?.url ?? '');
      expect([path(page), exchanges()]).toEqual(['/', 1]);
      // A callback that shows a page of its own. Consented before, the second login shows none of the marketplace.
      await context.clearCookies({ domain: 'localhost' });
      options.afterLogin = show('Welcome');
      await page.goto('/login');
      await page.waitForURL(/auth_key=/);
      expect((await page.reload())?.status()).toBe(200);
      expect([await shown(page), exchanges()]).toEqual([['Welcome', MIRA.name], 2]);
    },
  );

  it('is neither begun nor used up by what is loaded ahead', async () => {
    const { origin, page, requests, exchanges, callbackOf, linksWith } = await open('cookie');
    const ahead = () => requests.filter(({ purpose, status }) => purpose && status > 0);
    /** Shows a page with hints until all of them were followed. */
    async function prefetch(...addresses: string[]): Promise<void> {
      const hints = addresses.map((address) => `<link rel="prefetch" href="${address}">`);
      await page.goto(linksWith(`${hints.join('')}<a href="/login">Log in</a>`));
      await eventually(() => {
        expect(ahead().map(({ url }) => url)).toEqual(expect.arrayContaining(addresses));
      });
    }
    await page.goto('/secret?was=here');
    expect(path(page)).toBe('/links');
    await prefetch(`${origin}/login`, `${origin}/account`);
    await page.getByRole('link', { name: 'Log in' }).click();
    await page.waitForURL(/api\/oauth/);
    const callback = callbackOf(MIRA);
    await prefetch(callback);
    expect(exchanges()).toBe(0);
    for (const each of ahead()) expect(each).toMatchObject({ purpose: 'prefetch', status: 401 });
    await page.goto(callback);
    expect([path(page), await shown(page)]).toEqual(['/secret?was=here', ['Secret', MIRA.name]]);
  });

  it.each<[number, Mode]>([
    [1, 'cookie'],
    [2, 'session'],
  ])(
    'is completed where a service worker sends every callback twice (processes: %i)',
    async (processes, mode) => {
      const { page, sandbox, requests, exchanges } = await open(mode, { processes, known: MIRA });
      // The first of the two is still running when the second comes.
      sandbox.faults.latency = 100;
      await page.goto('/links');
      await page.evaluate(`navigator.serviceWorker.register('/worker.js')
        .then(() => navigator.serviceWorker.ready).then(() => undefined)`);
      await eventually(async () => {
        expect(await page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
      });
      await page.goto('/account?tab=orders');
      await eventually(() =>
        expect(requests.filter(({ url }) => url.includes('auth_key'))).toHaveLength(2),
      );
      if (processes === 1) await page.waitForURL('/account?tab=orders');
      await page.goto('/account');
      expect(await shown(page)).toEqual(ACCOUNT);
      expect(exchanges()).toBeLessThanOrEqual(processes);
    },
  );

  it('is completed by the second of two callbacks where the browser drops the first', async () => {
    const { page, exchanges, sandbox, callbackOf } = await open('session');
    await page.goto('/account?tab=orders');
    await page.goto('/links');
    sandbox.faults.latency = 400;
    await page.evaluate(`const open = () => { location.href = '${callbackOf(MIRA)}'; };
      open();
      setTimeout(() => { stop(); open(); }, 200);`);
    await eventually(() => expect(path(page)).toBe('/account?tab=orders'));
    expect([await shown(page), exchanges()]).toEqual([ACCOUNT, 1]);
  });

  it('asks "Continue as NAME?" on a page that is accessible, can be reloaded, and is not gone back to', async () => {
    const { page, exchanges } = await open('session', { confirm: true, known: TOMAS });
    await page.goto('/account?tab=orders');
    expect(path(page)).toMatch(/^\/callback\?marketgate=[\w-]{22}$/);
    await page.reload();
    expect(await shown(page)).toEqual([`Continue as ${TOMAS.name}?`]);
    expect(await faultsInBothLooks(page)).toEqual([]);
    const focused = `(({ textContent }, { outlineStyle, outlineWidth }) =>
      [textContent.trim(), outlineStyle, outlineWidth].join(' ')
    )(document.activeElement, getComputedStyle(document.activeElement))`;
    for (const name of ['Continue', 'Not me']) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate(focused)).toBe(`${name} solid 3px`);
    }
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('/account?tab=orders');
    expect([await shown(page), exchanges()]).toEqual([['Account', TOMAS.name], 1]);
    // Who went on is logged in, and comes to where the login led.
    await page.goBack();
    expect([path(page), await shown(page)]).toEqual([
      '/account?tab=orders',
      ['Account', TOMAS.name],
    ]);
  });
});
