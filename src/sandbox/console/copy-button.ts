import { type Html, html } from '../../html.js';

/** A button that copies, shown where scripts run. `of` says in words what it copies. */
export const copyButton = (text: string, of: string, label = 'Copy'): Html =>
  html`<button type="button" class="quiet" data-copy="${text}" aria-label="${label} ${of}" data-script>${label}</button>`;

/** A value in full, with its button. */
export const copyable = (text: string, of: string): Html =>
  html`<span class="copyable"><code>${text}</code>${copyButton(text, of)}</span>`;
