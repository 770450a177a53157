import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chromiumIsMissing, launchChromium } from '../../support/chromium.js';
import { newToken, type Running, start } from '../../unit/sandbox/support.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** All that axe finds on the page as it stands, best practices too. */
async function findings(page: Page): Promise<string[]> {
  const { violations } = (await page.evaluate('axe.run()')) as { violations: Finding[] };
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

/** A sandbox with something in every part of the console. */
async function busy(): Promise<Running> {
  const running = await start();
  const { sandbox } = running;
  await newToken(running);
  await running.get(`/api/items/all?api_key=${running.apiKey}`);
  await running.get('/api/account/details?api_key=wrong');
  await running.validate('x'.repeat(128));
  sandbox.faults.errorRate = 1;
  await running.get('/api/items/all');
  sandbox.dialect.nulls = true;
  sandbox.data.addPurchase({ item_id: 1042, purchase_code: 'A'.repeat(128) });
  sandbox.data.revokeApiKey('tidewater');
  return running;
}

const toConsent = (page: Page) => page.locator('.people button').first().click();

const PAGES: readonly [string, (running: Running) => string, ((page: Page) => Promise<void>)?][] = [
  ['the console', () => '/sandbox/console'],
  ['the login page', ({ appId }) => `/api/oauth?app_id=${appId}`],
  ['the consent page', ({ appId }) => `/api/oauth?app_id=${appId}`, toConsent],
  ['an image item', () => '/preview/1042'],
  ['a video item', () => '/preview/1049'],
  ['an audio item', () => '/preview/1055'],
  ['the home page', () => '/'],
  ['logged out', () => '/sandbox/logout'],
  ['not found', () => '/nothing'],
  ['an unknown app', () => '/api/oauth?app_id=0'],
  ['an outdated login', () => '/sandbox/login?attempt=x'],
];

describe.skipIf(chromiumIsMissing())('accessibility', () => {
  let chromium: Browser;

  beforeAll(async () => {
    chromium = await launchChromium();
  });

  afterAll(() => chromium.close());

  async function visit(running: Running, path: string): Promise<Page> {
    // The test puts axe into the page, which the pages' policy rightly forbids.
    const context = await chromium.newContext({
      baseURL: running.baseUrl,
      reducedMotion: 'reduce',
      bypassCSP: true,
    });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(path);
    return page;
  }

  it.each(PAGES)(
    '%s: axe finds nothing, light and dark, wide and narrow',
    async (_name, pathOf, act) => {
      const running = await busy();
      const page = await visit(running, pathOf(running));
      await act?.(page);
      await page.addScriptTag({ path: AXE });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1280, 320]) {
          await page.setViewportSize({ width, height: 900 });
          expect([colorScheme, width, ...(await findings(page))]).toEqual([colorScheme, width]);
        }
      }
    },
  );

  it('axe sees what is wrong: this test can fail', async () => {
    const page = await visit(await start(), '/');
    await page.addScriptTag({ path: AXE });
    await page.evaluate(`document.querySelector('h1').innerHTML = '<img src="/media/mark.svg">'`);
    expect((await findings(page)).join()).toContain('image-alt');
  });

  it.each(PAGES)(
    '%s: nothing is wider than the window, from 320 to 1920',
    async (_name, pathOf, act) => {
      const running = await busy();
      const page = await visit(running, pathOf(running));
      await act?.(page);
      for (const width of [320, 360, 768, 1024, 1280, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        const wider = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect([width, wider]).toEqual([width, 0]);
      }
    },
  );
});
