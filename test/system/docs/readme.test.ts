import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { faultsInBothLooks } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { SUPPORTED, WRONG } from './checks/check.js';
import { filesOf } from './support/blocks.js';
import { readPage } from './support/pages.js';
import { endHost, type Running, runBlock } from './support/run-block.js';
import { writePrograms } from './support/workspace.js';

const program = filesOf(readPage('README.md')).get('server.mjs') ?? '';

it('the program of the README, with all recipes, is one file in the package', () => {
  expect(readPage('examples/guides/first-shop.mjs')).toBe(program);
});

const textOf = (page: Page): Promise<string | null> => page.locator('body').textContent();

async function redeem(page: Page, code: string): Promise<void> {
  await page.getByLabel('Purchase code').fill(code);
  await page.getByLabel('Purchase code').press('Enter');
}

async function logInAtTheMarketplace(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.getByRole('button', { name: 'Accept' }).click();
}

describe.skipIf(chromiumIsMissing())('the shop of the README in a browser', () => {
  afterAll(endHost);

  it('leads a customer from the first page to the last recipe, and out again', {
    timeout: 300_000,
  }, async () => {
    const file = join(writePrograms('README.md', 'walk'), 'server.mjs');
    await runBlock(file, {}, walk);
  });
});

/** Opens its pages as a reader does: under localhost, with the marketplace on another site. */
async function walk({ origin, sandbox, code }: Running): Promise<void> {
  const baseURL = (await origin()).replace('127.0.0.1', 'localhost');
  sandbox.redirectUrl = `${baseURL}/callback`;
  const page = await (await newContext({ baseURL })).newPage();
  await page.goto('/');
  await page.getByRole('link', { name: 'Download' }).click();
  await redeem(page, WRONG);
  await page.waitForURL('/redeem');
  await redeem(page, SUPPORTED);
  await page.waitForURL('/downloads/1042');
  expect(await textOf(page)).toContain('Fjord Light');
  expect(await faultsInBothLooks(page)).toEqual([]);

  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('link', { name: 'Log in' }).click();
  await logInAtTheMarketplace(page, 'Mira Solheim');
  await page.waitForURL('/account');
  expect(await textOf(page)).toContain('Hello, Mira Solheim');
  for (const [path, text] of [
    ['/downloads/1042', 'Fjord Light'],
    ['/mine/1042', '{"file":"Fjord Light"}'],
    ['/support/1042', '{"mail":"me@site.example"}'],
    ['/items', '{"id":1042,"name":"Fjord Light"}'],
  ] as const) {
    await page.goto(path);
    expect(await textOf(page)).toContain(text);
  }
  const verdict = `fetch('/check', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"code":"${SUPPORTED}"}' }).then((answer) => answer.json())`;
  expect(await page.evaluate(verdict)).toEqual({ verdict: 'valid' });

  // A code that one customer holds: the second redeems it, and is refused after the login.
  const second = await (await newContext({ baseURL })).newPage();
  await second.goto('/downloads/1042');
  await redeem(second, SUPPORTED);
  await second.waitForURL('/downloads/1042');
  await second.goto('/mine/1042');
  await logInAtTheMarketplace(second, 'Tomás');
  await second.waitForURL('/mine/1042');
  expect(await textOf(second)).toContain('used by another account');

  await page.goto('/account');
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL('/');
  await page.goto('/downloads/1042');
  await page.getByLabel('Purchase code').waitFor();

  // Support that has ended.
  sandbox.dialect.supportedUntilPast = true;
  await redeem(page, code('support-over'));
  await page.waitForURL('/downloads/1042');
  await page.goto('/support/1042');
  expect(JSON.parse((await textOf(page)) ?? '')).toEqual({
    item: 'Fjord Light',
    ended: expect.stringMatching(/^20\d\d-/),
    renew: 'https://market.example/items/1042',
  });
}
