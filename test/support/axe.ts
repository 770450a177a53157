import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What {@link faultsOf} finds on a page that is wide and light, and on one that is narrow and dark. */
export async function faultsInBothLooks(page: Page, narrow = 320): Promise<string[]> {
  const found: string[] = [];
  // No page has colours that depend on its width: each scheme and each width is looked at once.
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [narrow, 'dark'],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    found.push(...(await faultsOf(page)).map((fault) => `${colorScheme}, ${width}: ${fault}`));
  }
  return found;
}

/** What axe finds on the page as it stands, best practices too, and whether the page is too wide. */
export async function faultsOf(page: Page): Promise<string[]> {
  await styled(page);
  // Evaluated, and not added as a script: the policy of the pages rightly forbids that.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE);
  const violations = (await page.evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )) as Violation[];
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
  return (await isTooWide(page)) ? [...found, 'the page scrolls sideways'] : found;
}

/** Waits for the style sheet of a page that a click led to: its words can be seen before that has come. */
const styled = (page: Page): Promise<void> => page.waitForLoadState('load');

/** The widths of a window in which a field does not show all of its text. */
export async function cutOffWidths(page: Page, field: string): Promise<number[]> {
  await styled(page);
  const cutOff: number[] = [];
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({ width, height: 900 });
    const isCutOff = `(field => field.scrollWidth > field.clientWidth)(document.querySelector(${JSON.stringify(field)}))`;
    if (await page.evaluate(isCutOff)) cutOff.push(width);
  }
  return cutOff;
}

async function isTooWide(page: Page): Promise<boolean> {
  await styled(page);
  return (await page.evaluate(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  )) as boolean;
}

/** The widths of a window for which the page is too wide. */
export async function tooWideAt(page: Page, widths: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    if (await isTooWide(page)) found.push(width);
  }
  return found;
}
