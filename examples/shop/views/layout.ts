import type { Customer } from '../customer.js';
import { avatar } from './avatar.js';
import { type Html, html } from './html.js';

/** Parts of the shop that the navigation knows. */
export type Section = 'catalogue' | 'redeem' | 'account';

/** What the frame around every page needs. */
export interface Layout {
  title: string;
  main: Html;
  section?: Section;
  shopName: string;
  marketplaceName: string;
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
<p>${shopName} sells through ${rest.marketplaceName}. Your purchase code is on your receipt there.</p>
</div>
</footer>
</body>
</html>
`;
}

type Navigation = Pick<Layout, 'section' | 'customer' | 'loginHref' | 'marketplaceName'>;

function navigation({ section, customer, loginHref, marketplaceName }: Navigation): Html {
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
${avatar(customer, 'small')}<span class="name"><span class="visually-hidden">Your account: </span>${customer.name}</span></a>
<form method="post" action="/logout"><button class="quiet">Log out</button></form>`
    : html`<a class="button" href="${loginHref}">Log in<span class="long"> with ${marketplaceName}</span></a>`
}
</div>`;
}
