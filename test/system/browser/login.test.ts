import express5 from 'express';
import { describe, expect, it } from 'vitest';
import { faultsInBothLooks } from '../../support/axe.js';
import { chromiumIsMissing } from '../../support/chromium.js';
import {
  accept,
  choose,
  eventually,
  heading,
  isAnswered,
  logIn,
  MINUTE,
  MIRA,
  MODES,
  type Options,
  open,
  path,
  show,
  TOMAS,
  who,
} from '../../support/login-app.js';

describe.skipIf(chromiumIsMissing())('logging in with Chromium', () => {
  it.each(MODES)(
    '%s: leads from the page where the visitor was stopped through the login and back',
    async (mode, express) => {
      const { origin, page, context, sandbox, exchanges } = await open({ mode, express });
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

  it.each(MODES)(
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
      expect([path(page), await who(page)]).toEqual(['/', MIRA.name]);
      expect(exchanges()).toBe(1);
      // A callback that shows a page of its own.
      opened.options.afterLogin = show('Welcome');
      await page.goto(`${origin}/login`);
      await page.waitForURL(/auth_key=/);
      expect((await page.reload())?.status()).toBe(200);
      expect([await heading(page), await who(page)]).toEqual(['Welcome', MIRA.name]);
      expect(exchanges()).toBe(2);
    },
  );

  it.each(MODES)(
    '%s: what is loaded ahead spends nothing, and starts no login',
    async (mode, express) => {
      const { origin, page, ahead, exchanges, callbackOf } = await open({ mode, express });
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
      await page.waitForURL(/api\/oauth/);
      const callback = callbackOf(MIRA);
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

  /** A visitor whose service worker sends each callback twice, because of a navigation preload that it does not use. */
  async function logInThroughWorker(options: Options) {
    const opened = await open({ ...options, known: MIRA });
    const { origin, page, sandbox } = opened;
    // The first of the two is still running when the second comes.
    sandbox.faults.latency = 100;
    await page.goto(`${origin}/links`);
    await page.evaluate(`navigator.serviceWorker.register('/worker.js')
      .then(() => navigator.serviceWorker.ready).then(() => undefined)`);
    await eventually(async () => {
      expect(await page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
    });
    await page.goto(`${origin}/account?tab=orders`);
    return opened;
  }

  it.each(MODES)(
    '%s: a service worker that sends every callback twice logs the visitor in',
    async (mode, express) => {
      const { origin, page, callbacks, exchanges } = await logInThroughWorker({ mode, express });
      await page.waitForURL(`${origin}/account?tab=orders`);
      expect([await heading(page), await who(page)]).toEqual(['Account', MIRA.name]);
      expect([callbacks.length, exchanges()]).toEqual([2, 1]);
    },
  );

  it.each(MODES)(
    '%s: a service worker that sends every callback to two processes leaves the visitor logged in',
    async (mode, express) => {
      const options = { mode, express, processes: 2 };
      const { origin, page, callbacks } = await logInThroughWorker(options);
      await eventually(() => expect(callbacks.filter(isAnswered)).toHaveLength(2));
      await page.goto(`${origin}/account`);
      expect([await heading(page), await who(page)]).toEqual(['Account', MIRA.name]);
    },
  );

  it.each(MODES)(
    '%s: a browser that drops the first of two requests for the callback is logged in by the second',
    async (mode, express) => {
      const opened = await open({ mode, express });
      const { origin, page, callbacks, exchanges, sandbox, callbackOf } = opened;
      await page.goto(`${origin}/account?tab=orders`);
      await page.goto(`${origin}/links`);
      sandbox.faults.latency = 400;
      await page.evaluate(`const open = () => { location.href = '${callbackOf(MIRA)}'; };
        open();
        setTimeout(() => { stop(); open(); }, 200);`);
      await eventually(() => expect(path(page)).toBe('/account?tab=orders'));
      expect(await who(page)).toBe(MIRA.name);
      expect([callbacks.length, exchanges()]).toEqual([2, 1]);
    },
  );

  describe('"Continue as NAME?"', () => {
    async function asked(known = MIRA) {
      const opened = await open({ mode: 'session', express: express5, confirm: true, known });
      await opened.page.goto(`${opened.origin}/account?tab=orders`);
      return opened;
    }

    it('can be reloaded, is answered by keyboard alone, and is not gone back to', async () => {
      const { page, exchanges } = await asked();
      expect(path(page)).toMatch(/^\/callback\?marketgate=[\w-]{22}$/);
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
      // Who went on is logged in, and comes to where the login led.
      await page.goBack();
      expect([path(page), await who(page)]).toEqual(['/account?tab=orders', MIRA.name]);
    });

    it('is accessible and fits, narrow and wide, light and dark', async () => {
      const { page } = await asked(TOMAS);
      expect(await faultsInBothLooks(page)).toEqual([]);
    });
  });
});
