import type { Customer } from '../customer.js';
import { type Html, html } from './html.js';

/** What every page has. */
export interface PageParts {
  title: string;
  customer?: Customer | undefined;
  /** Shown at the top: what went wrong, or what went well. */
  problem?: string | undefined;
  notice?: string | undefined;
  main?: Html;
}

const session = (customer: Customer | undefined): Html =>
  customer
    ? html`<form method="post" action="/logout"><span>${customer.name}</span> <button class="quiet">Log out</button></form>`
    : html`<a href="/login">Log in</a>`;

/** A whole page. */
export const page = ({ title, customer, problem, notice, main = html`` }: PageParts): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Downloads</title>
<link rel="stylesheet" href="/assets/style.css">
<link rel="icon" href="data:,">
</head>
<body>
<header><a class="brand" href="/">Downloads</a> ${session(customer)}</header>
<main>
<h1>${title}</h1>
${problem ? html`<p class="message problem" role="alert">${problem}</p>` : ''}
${notice ? html`<p class="message notice" role="status">${notice}</p>` : ''}
${main}
</main>
</body>
</html>
`.text;
