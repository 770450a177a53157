import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chromiumIsMissing, launchChromium } from '../../support/chromium.js';
import { redisIsMissing } from '../../support/redis-server.js';
import { runExample } from './run-example.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const LOOKS = [
  { width: 1280, height: 900, colorScheme: 'light' as const },
  { width: 360, height: 740, colorScheme: 'dark' as const },
];

describe.skipIf(chromiumIsMissing())('in a browser', { timeout: 60_000 }, () => {
  let chromium: Browser;
  beforeAll(async () => {
    chromium = await launchChromium();
  });
  afterAll(() => chromium.close());

  async function visit(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await chromium.newContext(options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    return page;
  }

  async function logIn(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Mira Solheim' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
  }

  async function expectNoFaults(url: string): Promise<void> {
    for (const { width, height, colorScheme } of LOOKS) {
      const page = await visit({ viewport: { width, height }, colorScheme });
      await page.goto(url);
      await page.waitForLoadState('networkidle');
      await page.evaluate(AXE);
      const found = await page.evaluate(`axe.run().then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html).join(' ')))`);
      expect(found).toEqual([]);
      const tooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      expect(await page.evaluate(tooWide)).toBe(false);
    }
  }

  it('json-api: the front page logs in, downloads, says what is wrong, and logs out', async () => {
    const running = runExample('json-api/server.ts', { PORT: '0' });
    const origin = await running.prints(/(http:\/\/localhost:\d+)\/api\/items/);
    const page = await visit();
    await page.goto(origin);
    await page.getByRole('listitem').filter({ hasText: 'Fjord Light (1042)' }).waitFor();
    await page.getByLabel('Purchase code').fill(CODE);
    await page.getByRole('button', { name: 'Download' }).click();
    const status = page.getByRole('status');
    // The code just typed is not lost: there is a link, and no redirect.
    await status.getByRole('link', { name: 'Log in' }).waitFor();
    await page.locator('#who').getByRole('link', { name: 'Log in' }).click();
    await logIn(page);
    await page.getByText('Mira Solheim').waitFor();
    await page.getByLabel('Purchase code').fill(` ${CODE}\u200b`);
    await page.getByRole('button', { name: 'Download' }).click();
    await status.filter({ hasText: /item-1042-.*licence: Regular/ }).waitFor();
    await page.getByLabel('Item number').fill('1046');
    await page.getByRole('button', { name: 'Download' }).click();
    await status.filter({ hasText: /another item|not for this|other/i }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.locator('#who').getByRole('link', { name: 'Log in' }).waitFor();
    await expectNoFaults(origin);
  });

  it.skipIf(redisIsMissing())('fleet: a login is known to every worker', async () => {
    const running = runExample('fleet/server.ts', { PORT: '0' });
    const origin = await running.prints(/(http:\/\/(?:localhost|127\.0\.0\.1):\d+)/);
    const page = await visit();
    await page.goto(origin);
    await page.getByRole('link', { name: 'Log in with the marketplace' }).click();
    await logIn(page);
    await page.getByText('Logged in as Mira Solheim').waitFor();
    await page.getByRole('link', { name: 'What each worker has done' }).click();
    await expect.poll(() => page.textContent('body')).toMatch(/worker/i);
    await page.goto(origin);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('does not know you').waitFor();
    await expectNoFaults(origin);
    await expectNoFaults(`${origin}/fleet`);
    // It ends its Redis itself; killed at once, it could not.
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });

  it.each([
    ['commonjs-express4/server.js', 'login', /"name":"Mira Solheim"/],
    ['metrics/server.ts', 'login', /"id":1042/],
  ])('%s: the login ends in its JSON', async (file, path, shown) => {
    const running = runExample(file, { PORT: '0', METRICS_PORT: '0' });
    const origin = await running.prints(/(http:\/\/(?:localhost|127\.0\.0\.1):\d+)/);
    const page = await visit();
    await page.goto(`${origin}/${path}`);
    await logIn(page);
    await expect.poll(() => page.textContent('body')).toMatch(shown);
    expect(new URL(page.url()).origin).toBe(origin);
  });
});
