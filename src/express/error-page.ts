import type { IncomingMessage } from 'node:http';
import { ERROR_CODES, type MarketgateErrorCode, type WayOn } from '../errors.js';
import { type Html, html } from '../html.js';
import { addressOf, homeOf, pageWords, type Site, sitePage } from '../site.js';
import { isLoginRequest, notesOf } from '../web/login-request.js';

/** Where a page of an error can lead. */
interface Places {
  readonly loginPath: string | undefined;
  readonly redeemPath: string | undefined;
  readonly site: Site | undefined;
}

interface Shown {
  readonly code: MarketgateErrorCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly retryAfter?: number;
}

/** The text of the button of each way on. */
const BUTTONS: Readonly<Record<Exclude<WayOn, 'contact' | 'home'>, string>> = {
  login: 'Log in',
  account: 'Log in with another account',
  code: 'Continue',
  again: 'Try again',
};

/** The page for a visitor: what happened, when to try again, and what to do next. */
export function errorPage(
  { code, status, title, detail, retryAfter }: Shown,
  req: IncomingMessage & { readonly body?: unknown },
  places: Places,
): string {
  const { site } = places;
  const words = pageWords(site);
  const step = nextStep(code, status, req, places);
  const wait = retryAfter !== undefined && words.wait.replace('{seconds}', String(retryAfter));
  const content = html`<h1>${title}</h1>
<p>${detail}</p>
${wait && html`<p>${wait}</p>`}
${step ?? lastStep(code, site)}`;
  // Where the contact is the next step, it is not also below the page.
  const isContact = step === undefined && ERROR_CODES[code].way !== 'home';
  return sitePage(isContact ? { ...site, contact: undefined } : site, title, content);
}

const link = (href: string, text: string): Html =>
  html`<p class="next"><a href="${href}" class="button main">${text}</a></p>`;

const homeLink = (site: Site | undefined): Html =>
  html`<p><a href="${homeOf(site)}">${pageWords(site).home}</a></p>`;

/** Where visitors can do nothing about it themselves: the contact, if the site has one, or the start page. */
function lastStep(code: MarketgateErrorCode, site: Site | undefined): Html {
  const { home, contact } = pageWords(site);
  if (ERROR_CODES[code].way === 'home' || site?.contact === undefined) {
    return link(homeOf(site), home);
  }
  const text = site.words?.[code]?.button ?? contact;
  return html`${link(addressOf(site.contact), text)}${homeLink(site)}`;
}

/** What visitors can do about it, and the start page below that. */
function nextStep(
  code: MarketgateErrorCode,
  status: number,
  req: IncomingMessage & { readonly body?: unknown },
  { loginPath, redeemPath, site }: Places,
): Html | undefined {
  const words = pageWords(site);
  const button = (usual: string) => site?.words?.[code]?.button ?? usual;
  // A form without an action sends to the address of this page.
  const form = (
    text: string,
    action?: string,
  ) => html`<form method="post"${action && html` action="${action}"`}>
<label>${words.code}
<input name="purchase_code" required maxlength="200" autocomplete="off" autocapitalize="off" spellcheck="false"></label>
<button class="main">${button(text)}</button>
</form>
${homeLink(site)}`;

  let { way }: { way: WayOn } = ERROR_CODES[code];
  // A login that the site itself keeps from ending would fail again.
  if (way === 'login' && status >= 500) way = 'contact';
  // A callback that is opened again would find its auth_key used.
  if (way === 'again' && isLoginRequest(req) && loginPath !== undefined) way = 'login';
  if ((way === 'login' || way === 'account') && loginPath !== undefined) {
    const { marketplace } = notesOf(req);
    const otherAccount =
      marketplace && html`<p><a href="${marketplace}">${words.marketplace}</a></p>`;
    return html`${otherAccount}${link(loginPath, button(BUTTONS[way]))}${homeLink(site)}`;
  }
  if ((way === 'code' || way === 'again') && isCodeForm(req)) return form(BUTTONS.again);
  if (way === 'code' && redeemPath !== undefined) return form(BUTTONS.code, redeemPath);
  // The empty reference is the address of this page.
  if (way === 'again' && req.method === 'GET') {
    return html`${link('', button(BUTTONS.again))}${homeLink(site)}`;
  }
  return undefined;
}

/**
 * Whether the visitor has sent a code with a form that the page can repeat, to correct it or to send it again: one of another
 * type, or with more fields, would lose what the route needs besides.
 */
function isCodeForm({ headers, body }: IncomingMessage & { readonly body?: unknown }): boolean {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  return isForm && Object.keys(Object(body)).join() === 'purchase_code';
}
