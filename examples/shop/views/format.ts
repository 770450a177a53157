import { type Html, html } from './html.js';

/** As in "$24" or "€20.50"; a currency that Intl does not know stands in front as it came. */
export function money(amount: number, currency = 'USD'): string {
  const digits = Number.isInteger(amount) ? 0 : 2;
  const style = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  try {
    return new Intl.NumberFormat('en-US', { style: 'currency', currency, ...style }).format(amount);
  } catch {
    return `${currency} ${amount.toFixed(digits)}`;
  }
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** As in "17 May 2023". What is no date is shown as it came. */
export function day(timestamp: string): Html {
  const time = Date.parse(timestamp.replace(' ', 'T'));
  if (Number.isNaN(time)) return html`${timestamp}`;
  const date = new Date(time);
  return html`<time datetime="${date.toISOString().slice(0, 10)}">${DAY.format(date)}</time>`;
}

/** Only web addresses may become links: the value is somebody else's, and `javascript:` is a URL too. */
export const webUrl = (url: string | undefined): string | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;
