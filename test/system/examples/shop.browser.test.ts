import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { isTooWide } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { openShopExample, type ShopExample } from './open-shop-example.js';
import { unzip } from './unzip.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

const hasFocus = async (target: Locator): Promise<boolean> =>
  (await target.and(target.page().locator(':focus')).count()) === 1;

// What runs in the page is text: these files are compiled for Node, which has no DOM.

/** Whether what has the focus shows that it has. */
const isOutlined = (page: Page): Promise<unknown> =>
  page.evaluate(`(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2;
  })()`);

/** Waits until the page finds a number above zero. */
const eventually = (page: Page, expression: string): Promise<void> =>
  expect.poll(() => page.evaluate(expression), { timeout: 8000 }).toBeGreaterThan(0);

describe.skipIf(chromiumIsMissing())('the shop in a browser', () => {
  /**
   * A browser window on a shop of its own. The shop is at localhost and the sandbox at 127.0.0.1: two
   * sites, as in real life, so that SameSite means something.
   */
  async function visit(): Promise<{ page: Page; shop: ShopExample; problems: string[] }> {
    const shop = await openShopExample({ host: 'localhost' });
    const context = await newContext({ baseURL: shop.origin });
    const page = await context.newPage();
    const problems: string[] = [];
    // What the content security policy blocks is told on the console, and nowhere else.
    page.on('console', (message) => {
      if (/Content.Security.Policy/i.test(message.text())) problems.push(message.text());
    });
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && !['localhost', '127.0.0.1'].includes(hostname)) {
        problems.push(`a request to ${hostname}`);
      }
    });
    return { page, shop, problems };
  }

  const exchanges = ({ sandbox }: ShopExample): number =>
    sandbox.requests.filter(({ path }) => path === '/api/authorize').length;

  const chooseMira = (page: Page): Promise<void> =>
    page.getByRole('button', { name: 'Mira Solheim' }).click();

  const accept = (page: Page): Promise<void> =>
    page.getByRole('button', { name: 'Accept' }).click();

  const account = (page: Page): Locator =>
    page.getByRole('link', { name: 'Your account: Mira Solheim' });

  /** Logs in from the page that is open, and waits until the shop knows the visitor. */
  async function logIn(page: Page): Promise<void> {
    await page.getByRole('link', { name: 'Log in with Marketplace' }).click();
    await chooseMira(page);
    await accept(page);
    await account(page).waitFor();
  }

  async function redeem(page: Page, code: string): Promise<void> {
    await page.getByLabel('Purchase code').fill(code);
    await page.getByRole('button', { name: 'Redeem' }).click();
  }

  it('takes a customer from the catalogue to the file', async () => {
    const { page, shop, problems } = await visit();
    await page.goto('/');
    await page.getByRole('link', { name: 'Photography' }).click();
    await page.getByRole('link', { name: 'Fjord Light' }).click();
    await page.getByRole('heading', { level: 1, name: 'Fjord Light' }).waitFor();

    await logIn(page);
    // Back where the login was started.
    expect(page.url()).toBe(`${shop.origin}/items/1042`);

    await page.getByRole('link', { name: 'Redeem a code' }).click();
    await redeem(page, UNKNOWN);
    const alert = page.getByRole('alert');
    await alert.getByText('The marketplace does not know this code').waitFor();
    const field = page.getByLabel('Purchase code');
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await field.inputValue()).toBe(UNKNOWN);

    await redeem(page, `  ${shop.code('supported')}  `);
    await page.getByRole('status').getByText('Fjord Light is now yours here.').waitFor();
    expect(page.url()).toBe(`${shop.origin}/account`);

    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download Fjord Light' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe('fjord-light-2.3.1.zip');
    const files = unzip(await readFile(await download.path()));
    expect(files.get('fjord-light-2.3.1/LICENCE.txt')).toMatch(/Kind of licence: +Regular/);

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('link', { name: 'Log in with Marketplace' }).waitFor();
    // The back button shows no account, nor does it log in again by itself, though the marketplace
    // still knows the visitor.
    await page.goBack();
    expect(page.url()).toContain('/account');
    await page.getByRole('heading', { name: 'Please log in' }).waitFor();
    expect(await page.getByText('mira@solheim.example').count()).toBe(0);
    expect([exchanges(shop), problems]).toEqual([1, []]);
  });

  it('shows pictures, video and sound of the marketplace', async () => {
    const { page, problems } = await visit();
    await page.goto('/');
    await eventually(page, 'document.querySelector(".grid img").naturalWidth');
    await page.goto('/items/1049');
    await eventually(page, 'document.querySelector("video").duration');
    await page.goto('/items/1055');
    await page.evaluate('document.querySelector("audio").preload = "metadata"');
    await eventually(page, 'document.querySelector("audio").duration');
    expect(problems).toEqual([]);
  });

  it('is not told of a login that was cancelled, and offers the next', async () => {
    const { page, shop } = await visit();
    await page.goto('/');
    await page.getByRole('link', { name: 'Log in with Marketplace' }).click();
    await chooseMira(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Nothing was shared' }).waitFor();
    expect(exchanges(shop)).toBe(0);
    await page.goto('/');
    await page.getByRole('link', { name: 'Log in with Marketplace' }).click();
    await accept(page);
    await account(page).waitFor();
    expect(page.url()).toBe(`${shop.origin}/`);
    expect(exchanges(shop)).toBe(1);
  });

  it('survives the back button and a reload of the callback, which is refused elsewhere', async () => {
    const { page, shop } = await visit();
    let callback = '';
    page.on('request', (request) => {
      if (request.url().includes('auth_key=')) callback ||= request.url();
    });
    await page.goto('/items/1042');
    await logIn(page);
    expect(callback).toMatch(/^http:\/\/localhost:\d+\/callback\?auth_key=/);
    // The address with the key in it is nowhere a visitor would copy it from.
    expect(page.url()).toBe(`${shop.origin}/items/1042`);

    // Back over the pages of the marketplace to the shop: the visitor is still logged in there.
    for (let step = 0; step < 5 && !(step > 0 && page.url().startsWith(shop.origin)); step++) {
      await page.goBack();
    }
    expect(page.url().startsWith(shop.origin)).toBe(true);
    await account(page).waitFor();

    await page.goto(callback);
    await account(page).waitFor();
    await page.reload();
    await account(page).waitFor();
    expect(page.url()).not.toContain('auth_key');

    const stranger = await (await newContext()).newPage();
    const answer = await stranger.goto(callback);
    // 401 says that the key was used, 403 that the login was not started here: both are true.
    expect([401, 403]).toContain(answer?.status());
    await stranger.getByRole('heading', { name: 'The login did not work out' }).waitFor();
    expect(exchanges(shop)).toBe(1);
  });

  it('can be logged in to with the keyboard alone, which shows where it is', async () => {
    const { page, shop } = await visit();
    await page.goto('/');

    /** Presses Tab until the element has the focus; a person would give up earlier. */
    async function tabTo(target: Locator): Promise<void> {
      await target.waitFor();
      for (let presses = 0; presses < 40; presses++) {
        await page.keyboard.press('Tab');
        if (await hasFocus(target)) return;
      }
      throw new Error(`Tab does not reach ${target}`);
    }

    const skip = page.getByRole('link', { name: 'Skip to the content' });
    await page.keyboard.press('Tab');
    expect(await hasFocus(skip)).toBe(true);
    expect(await page.evaluate('document.activeElement.getBoundingClientRect().top >= 0')).toBe(
      true,
    );

    const login = page.getByRole('link', { name: 'Log in with Marketplace' });
    await tabTo(login);
    expect(await isOutlined(page)).toBe(true);
    await page.keyboard.press('Enter');
    await tabTo(page.getByRole('button', { name: 'Mira Solheim' }));
    await page.keyboard.press('Enter');
    await tabTo(page.getByRole('button', { name: 'Accept' }));
    await page.keyboard.press('Enter');
    await account(page).waitFor();
    expect(page.url()).toBe(`${shop.origin}/`);

    await tabTo(page.getByRole('link', { name: 'Redeem a code' }));
    await page.keyboard.press('Enter');
    const field = page.getByLabel('Purchase code');
    await tabTo(field);
    expect(await isOutlined(page)).toBe(true);
    await page.keyboard.type(UNKNOWN);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    // The field has the focus again: what was wrong can be typed over at once.
    expect(await hasFocus(field)).toBe(true);
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(shop.code('supported'));
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
  });

  it('fits wide and narrow windows, without JavaScript', async () => {
    const { page, shop } = await visit();
    for (const path of ['/', '/?category=Music', '/items/1042', '/items/1049', '/items/9999']) {
      await page.goto(path);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 844 });
        expect([path, width, await isTooWide(page)]).toEqual([path, width, false]);
      }
      expect(await page.locator('img:not([alt])').count()).toBe(0);
      expect(await page.locator('h1').count()).toBe(1);
      const answer = await page.request.get(path);
      expect(await answer.text()).not.toMatch(/<script|\son\w+=/);
    }
    expect(shop.failures).toEqual([]);
  });
});
