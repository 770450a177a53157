import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The rules for which the colours or the width of a page matter. */
const STYLE = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

/** What {@link faultsOf} finds on a page that is wide and light, and in its {@link STYLE} narrow and dark. */
export async function faultsInBothLooks(page: Page): Promise<string[]> {
  const light = await faultsOf(page, { width: 1280, colorScheme: 'light' });
  const dark = await faultsOf(page, { width: 320, colorScheme: 'dark', rules: STYLE });
  return [...light, ...dark];
}

interface Look {
  width: number;
  colorScheme?: 'light' | 'dark';
  /** Default: all that axe has, best practices too. */
  rules?: string[];
}

/** What axe finds on the page, and whether the page is too wide. */
async function faultsOf(page: Page, look: Look): Promise<string[]> {
  const { width, colorScheme = 'light', rules: runOnly } = look;
  await page.emulateMedia({ colorScheme });
  const found = (await tooWideAt(page, [width])).map(() => 'the page scrolls sideways');
  // Evaluated, and not added as a script: the policy of the pages rightly forbids that.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE);
  const options = JSON.stringify({ resultTypes: ['violations'], runOnly });
  const violations: Violation[] = await page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations)`,
  );
  for (const { id, nodes } of violations) {
    for (const { html, failureSummary } of nodes) found.push(`${id}: ${html} ${failureSummary}`);
  }
  return found.map((fault) => `${colorScheme}, ${width}: ${fault}`);
}

/** The widths of a window for which an element is wider than its place: the page, or the text of a field. */
export async function tooWideAt(
  page: Page,
  widths: readonly number[],
  selector = ':root',
): Promise<number[]> {
  // The style sheet of a page that a click led to: its words can be seen before that has come.
  await page.waitForLoadState('load');
  const found: number[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const isTooWide = `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector(${JSON.stringify(selector)}))`;
    if (await page.evaluate(isTooWide)) found.push(width);
  }
  return found;
}
