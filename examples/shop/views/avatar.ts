import type { Customer } from '../customer.js';
import { webUrl } from './format.js';
import { type Html, html } from './html.js';

/** The customer's picture, or else a first letter. Both are decoration: the name stands beside them. */
export function avatar({ picture, name }: Customer, size: 'small' | 'large'): Html {
  const url = webUrl(picture);
  const pixels = size === 'small' ? 28 : 96;
  return url
    ? html`<img class="avatar ${size}" src="${url}" alt="" width="${pixels}" height="${pixels}">`
    : html`<span class="avatar ${size}" aria-hidden="true">${[...name][0]?.toUpperCase()}</span>`;
}
