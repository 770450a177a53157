import type { Words } from '../words.js';
import { type Html, html } from './html.js';

interface ErrorPage {
  words: Words;
  status: number;
  marketplaceName: string;
}

/** What happened, and where to go from here. */
export function errorView({ words, status, marketplaceName }: ErrorPage): Html {
  const step = {
    login: html`<a class="button" href="/login">Log in with ${marketplaceName}</a>`,
    redeem: html`<a class="button" href="/redeem">Redeem a code</a>`,
  };
  return html`<div class="narrow trouble">
<p class="eyebrow">Error ${status}</p>
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
<p class="row left">
${words.next && step[words.next]}
<a class="button${words.next && ' quiet'}" href="/">To the catalogue</a>
</p>
</div>`;
}
