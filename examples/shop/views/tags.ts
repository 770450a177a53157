import { type Html, html } from './html.js';

/** The tags of an item, the first few or all. */
export function tagList(tags: readonly string[] | undefined, most?: number): Html | false {
  const shown = tags?.slice(0, most) ?? [];
  return (
    shown.length > 0 &&
    html`<ul class="tags" aria-label="Tags">${shown.map((tag) => html`<li>${tag}</li>`)}</ul>`
  );
}
