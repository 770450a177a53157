import type { Request, Response } from 'express';
import type { Item, KeyApi } from 'marketgate';
import { type Customer, customerOf } from './login.js';

/** HTML that is safe to send. Only {@link html} creates it. */
export class Html {
  constructor(readonly text: string) {}
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function render(value: unknown): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(render).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/**
 * A template that escapes every value. Nested `html` stays as it is, arrays are joined, and
 * `undefined`, `null` and `false` show nothing. Attributes must be quoted.
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + render(values[index - 1]) + string),
  );
}

/** "$24" or "€20.50". A currency that Intl does not know is shown as it is. */
export function money(amount: number, currency = 'USD'): string {
  const minimumFractionDigits = Number.isInteger(amount) ? 0 : 2;
  try {
    const style = { style: 'currency', currency, minimumFractionDigits } as const;
    return new Intl.NumberFormat('en-US', style).format(amount);
  } catch {
    return `${currency} ${amount}`;
  }
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** "17 May 2023". */
export function day(timestamp: string): Html {
  const date = new Date(timestamp.replace(' ', 'T'));
  if (Number.isNaN(date.getTime())) return html`${timestamp}`;
  return html`<time datetime="${date.toISOString().slice(0, 10)}">${DAY.format(date)}</time>`;
}

/** Only web addresses become links: `javascript:` is a URL, too. */
export const webUrl = (url: string | undefined): string | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;

export const nameOf = ({ id, name }: Item): string => name ?? `Item ${id}`;

/** Parts of the shop that the navigation shows. */
export type Section = 'catalogue' | 'redeem' | 'account';

interface Layout {
  title: string;
  main: Html;
  section?: Section;
  shopName: string;
  customer: Customer | undefined;
  loginHref: string;
}

const STYLES = ['base', 'frame', 'catalogue', 'item', 'forms', 'account'];

/** The frame around every page. */
export function layout({ title, main, shopName, ...rest }: Layout): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${shopName}</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${STYLES.map((name) => html`<link rel="stylesheet" href="/assets/${name}.css">`)}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<div class="wrap bar-row">
<a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="32" height="32"><span>${shopName}</span></a>
${navigation(rest)}
</div>
</header>
<main id="main" class="wrap" tabindex="-1">
${main}
</main>
<footer class="foot">
<div class="wrap">
<p>Your purchase code is on your receipt. <a href="/contact">Contact</a></p>
</div>
</footer>
</body>
</html>
`;
}

type Navigation = Pick<Layout, 'section' | 'customer' | 'loginHref'>;

function navigation({ section, customer, loginHref }: Navigation): Html {
  const link = (href: string, name: Section, text: string) =>
    html`<a href="${href}"${section === name && html` aria-current="page"`}>${text}</a>`;
  return html`<nav class="links" aria-label="Shop">
${link('/', 'catalogue', 'Catalogue')}
${link('/redeem', 'redeem', 'Redeem a code')}
</nav>
<div class="who">
${
  customer
    ? html`<a class="me" href="/account"${section === 'account' && html` aria-current="page"`}>
${avatar(customer, 28)}<span class="name"><span class="visually-hidden">Your account: </span>${customer.name}</span></a>
<form method="post" action="/logout"><button class="quiet">Log out</button></form>`
    : html`<a class="button" href="${loginHref}">Log in</a>`
}
</div>`;
}

/** The customer's picture, or the first letter of the name. The name is always next to it. */
export function avatar({ picture, name }: Customer, pixels: 28 | 96): Html {
  const [url, size] = [webUrl(picture), pixels === 28 ? 'small' : 'large'];
  return url
    ? html`<img class="avatar ${size}" src="${url}" alt="" width="${pixels}" height="${pixels}">`
    : html`<span class="avatar ${size}" aria-hidden="true">${[...name][0]?.toUpperCase()}</span>`;
}

/** What the routes share. */
export interface Shop {
  readonly shopName: string;
  readonly keyApi: KeyApi;
  /** Where an item is bought, and its support renewed: the service gives no address. */
  readonly buyUrl: (item: Item) => string;
  /** The time, by which support ends. */
  readonly clock: () => number;
  /** Called with errors that need the operator, for a log. */
  readonly onError: (error: unknown, req: Request) => void;
}

export interface Page {
  title: string;
  main: Html;
  section?: Section;
}

/** Sends a page in the shop's layout, with the current status of the response. */
export function sendPage(req: Request, res: Response, { shopName }: Shop, page: Page): void {
  // The login comes back to this page, unless it is an error page.
  const canReturn = req.method === 'GET' && res.statusCode === 200;
  const loginHref = canReturn ? `/login?to=${encodeURIComponent(req.originalUrl)}` : '/login';
  const text = layout({ ...page, shopName, loginHref, customer: customerOf(req) }).text;
  res.type('html').send(text);
}
