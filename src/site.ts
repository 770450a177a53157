import { isDeepStrictEqual } from 'node:util';
import { ERROR_CODES, type MarketgateErrorCode } from './errors.js';
import { type Html, html, PAGE_POLICY, page } from './html.js';
import { type Check, readOptions, type Table, text, wrongOption } from './options.js';

/** The words of a page about an error. What is left out stays as it is in English. */
export interface ErrorWords {
  /** The heading: a few words. */
  title?: string | undefined;
  /** What happened and what the visitor can do. */
  detail?: string | undefined;
  /** The button or link of the next step, such as "Log in" or "Try again". */
  button?: string | undefined;
}

/** The words of the page "Continue as NAME?". What is left out stays as it is in English. */
export interface ContinueWords {
  /** The heading. `{name}` becomes the account's display name. */
  title?: string | undefined;
  /** The label of the account's user name. */
  userName?: string | undefined;
  /** What the page says where nobody is logged in. */
  login?: string | undefined;
  /** What it says where this account will be connected to the account of the logged-in user. */
  connect?: string | undefined;
  /** What it says where somebody else is logged in. */
  switch?: string | undefined;
  /** The warning that follows. */
  warning?: string | undefined;
  /** The button that logs in. */
  button?: string | undefined;
  /** The button that does not. */
  cancel?: string | undefined;
}

/** The words that are the same on all pages. What is left out stays as it is in English. */
export interface PageWords {
  /** The language of the pages, as in HTML's `lang`. Default "en". */
  lang?: string | undefined;
  /** The label of the field for a purchase code. */
  code?: string | undefined;
  /** When to try again. `{seconds}` becomes a whole number. */
  wait?: string | undefined;
  /** The link to the start page. */
  home?: string | undefined;
  /** The link to the marketplace, where a visitor can log out of the account that this site does not accept. */
  marketplace?: string | undefined;
  /** The link to {@link Site.contact}. */
  contact?: string | undefined;
}

/** The words of the pages: of an error by its code, of "Continue as NAME?", and of all pages. */
export type SiteWords = { [Code in MarketgateErrorCode]?: ErrorWords | undefined } & {
  /** Of the page "Continue as NAME?". */
  continue?: ContinueWords | undefined;
  /** Of all pages. */
  page?: PageWords | undefined;
};

/** What the package's own pages show of the site that they belong to. */
export interface Site {
  /** The name of the site, at the top of each page and in its title. Default: none. */
  name?: string | undefined;
  /** A picture at the top, up to 40 pixels high: a path on this site, or an http(s) address. Default: none. */
  logo?: string | undefined;
  /** The start page: a path on this site, or an http(s) address. Default "/". */
  home?: string | undefined;
  /** Where visitors get help: an e-mail address, a path on this site, or an http(s) address. Default: none. */
  contact?: string | undefined;
  /** The language of the site, or other words. Default: English. */
  words?: SiteWords | undefined;
}

/** A path on this site. "//host" and "/\host" are other sites. */
const isPath = (value: string): boolean =>
  /^\/(?![/\\])[^\s\\]*$/.test(value) && URL.canParse(value, 'http://here.invalid');

const isWebAddress = (value: string): boolean =>
  /^https?:\/\/[^\s\\]+$/i.test(value) && URL.canParse(value);

const isMailAddress = (value: string): boolean => /^[^\s@:/?<>"]+@[^\s@:/?<>"]+$/.test(value);

const PLACE = 'must be a path on this site, as in "/help", or an http(s) address';

const place =
  (expected: string, isFine: (value: string) => boolean): Check<string | undefined> =>
  (owner, name, value) => {
    if (value === undefined) return undefined;
    if (typeof value === 'string' && isFine(value)) return value;
    throw wrongOption(owner, name, expected);
  };

const isPlace = (value: string): boolean => isPath(value) || isWebAddress(value);

const word: Check<string | undefined> = (owner, name, value) =>
  value === undefined ? undefined : text()(owner, name, value);

/** Words of one page, each optional. */
const words =
  <Name extends string>(...names: readonly Name[]) =>
  (owner: string, within: string, value: unknown): { [Each in Name]?: string | undefined } => {
    const table = Object.fromEntries(names.map((name) => [name, word]));
    return readOptions(owner, table, value, within) as { [Each in Name]?: string | undefined };
  };

const errorWords = words('title', 'detail', 'button');

const WORDS: Readonly<Record<string, Check<unknown>>> = {
  ...Object.fromEntries(Object.keys(ERROR_CODES).map((code) => [code, errorWords])),
  continue: words('title', 'userName', 'login', 'connect', 'switch', 'warning', 'button', 'cancel'),
  page: words('lang', 'code', 'wait', 'home', 'marketplace', 'contact'),
};

const SITE = {
  name: word,
  logo: place(PLACE, isPlace),
  home: place(PLACE, isPlace),
  contact: place(
    `${PLACE}, or an e-mail address`,
    (value) => isPlace(value) || isMailAddress(value),
  ),
  words: (owner, name, value) => readOptions(owner, WORDS, value, name) as SiteWords,
} satisfies Table<Site>;

/** The option `site`. The error names the part that is wrong, as in `site.logo`. */
export const siteOption: Check<Site | undefined> = (owner, name, value) =>
  value === undefined ? undefined : readOptions(owner, SITE, value, name);

/** The different sites that error handlers of this process were given. */
const given: Site[] = [];

/** Notes the site of an error handler, for {@link siteOfProcess}. */
export function noteSite(site: Site | undefined): void {
  if (site && !given.some((other) => isDeepStrictEqual(other, site))) given.push(site);
}

/** The site of this process's error handlers, if all that have one have the same; for a strategy without a `site`. */
export const siteOfProcess = (): Site | undefined => (given.length === 1 ? given[0] : undefined);

/** The words of all pages, in the language of the site. */
export const pageWords = ({ words }: Site = {}) => ({
  lang: words?.page?.lang ?? 'en',
  code: words?.page?.code ?? 'Purchase code',
  wait: words?.page?.wait ?? 'You can try again in {seconds} seconds.',
  home: words?.page?.home ?? 'To the start page',
  marketplace: words?.page?.marketplace ?? 'To the marketplace, to choose another account',
  contact: words?.page?.contact ?? 'Contact us',
});

/** The address of the start page. */
export const homeOf = (site: Site | undefined): string => site?.home ?? '/';

/** The address that a link to the contact leads to. */
export const addressOf = (contact: string): string =>
  isMailAddress(contact) ? `mailto:${contact}` : contact;

/** A page that belongs to the site: its logo and name at the top, which lead to the start page, and its contact below. */
export function sitePage(site: Site | undefined, title: string, content: Html): string {
  const { name, logo, contact } = site ?? {};
  const { lang, home, contact: contactWord } = pageWords(site);
  // Next to the name, the logo needs no text of its own.
  const picture = logo && html`<img src="${logo}" alt="${name ? '' : home}" height="40">`;
  const header =
    (name || logo) && html`<header><a href="${homeOf(site)}">${picture}${name}</a></header>`;
  const footer =
    contact && html`<footer><a href="${addressOf(contact)}">${contactWord}</a></footer>`;
  return page(name ? `${title} · ${name}` : title, content, { lang, header, footer });
}

/** The policy of a page of the site: like {@link PAGE_POLICY}, and it can load the logo, and nothing else. */
export function sitePolicy({ logo }: Site = {}): string {
  if (logo === undefined) return PAGE_POLICY;
  if (isPath(logo)) return `${PAGE_POLICY}; img-src 'self'`;
  const { origin, pathname } = new URL(logo);
  // Two characters that would end the address in a policy.
  const path = pathname.replace(/;/g, '%3B').replace(/,/g, '%2C');
  return `${PAGE_POLICY}; img-src ${origin}${path}`;
}
