import type { Licence } from './licences.js';

/** Who is logged in, as stored in the session. */
export interface Customer {
  /** The marketplace's `user_id`: licences belong to it, never to an e-mail address. */
  id: string;
  name: string;
}

interface Page {
  customer: Customer | undefined;
  licences: readonly Licence[];
  /** What went wrong, and what went well. */
  problem?: string;
  notice?: string | undefined;
  /** What was typed into the field for a code. */
  entered?: string | undefined;
}

/** Escapes every value; nested `html` is joined as it is. */
class Html {
  constructor(readonly text: string) {}
}
const textOf = (value: unknown): string => {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return String(value ?? '').replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
};
const html = (parts: TemplateStringsArray, ...values: unknown[]): Html =>
  new Html(parts.reduce((text, part, i) => text + textOf(values[i - 1]) + part));

const card = ({ id, itemName, kind }: Licence): Html => html`<li>
<h3>${itemName}</h3>
<p>${kind ?? 'Licence'}</p>
<form method="post" action="/licences/${id}/link"><button>Download ${itemName}</button></form>
</li>`;

/** The form. It keeps what was typed. */
const redeem = (entered: string | undefined): Html => html`<h2>Redeem a purchase code</h2>
<form method="post" action="/redeem">
<label for="code">Purchase code</label>
<input id="code" name="purchase_code" value="${entered}" maxlength="200" autocomplete="off" spellcheck="false" required>
<button>Redeem</button>
</form>
<p>Once is enough: the licence stays with your account.</p>`;

/** The one page: what the customer owns, and the form for more. */
export const page = ({ customer, licences, problem, notice, entered }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Your files</title>
<link rel="stylesheet" href="/assets/style.css">
<link rel="icon" href="data:,">
</head>
<body>
<main>
<h1>Your files</h1>
${problem && html`<p role="alert">${problem}</p>`}
${notice && html`<p role="status">${notice}</p>`}
${
  customer
    ? html`<form method="post" action="/logout">${customer.name} <button>Log out</button></form>
<h2>Your licences</h2>
${licences.length > 0 ? html`<ul>${licences.map(card)}</ul>` : html`<p>None yet.</p>`}
${redeem(entered)}`
    : html`<p>Log in and redeem your purchase code once. From then on your files are here.</p>
<p><a href="/login">Log in with Marketplace</a></p>`
}
</main>
</body>
</html>
`.text;
