import type { Item } from 'marketgate';
import { webUrl } from './format.js';
import { type Html, html } from './html.js';

/** What there is to see and hear of an item: which fields exist depends on its kind. */
export function preview({ media, name }: Item): Html {
  const image = webUrl(media.preview_image);
  const video = webUrl(media.preview_video);
  const audio = webUrl(media.preview_audio);
  const thumbnail = webUrl(media.thumbnail);
  return html`${
    video
      ? html`<video class="preview" controls preload="metadata" src="${video}"${image && html` poster="${image}"`} aria-label="Preview of ${name}"></video>`
      : picture(image ?? thumbnail, name, image === undefined)
  }
${audio && html`<audio class="player" controls preload="none" src="${audio}" aria-label="Preview of ${name}"></audio>`}`;
}

const picture = (url: string | undefined, name: string, isSquare: boolean): Html | undefined | '' =>
  url &&
  html`<img class="preview${isSquare && ' square'}" src="${url}" alt="Preview of ${name}" width="1200" height="600">`;

/** Its screenshots, each leading to itself in full size. */
export function screenshots({ media, name }: Item): Html | false {
  const urls = (media.screenshots ?? []).map(webUrl).filter((url) => url !== undefined);
  return (
    urls.length > 0 &&
    html`<section class="item-shots" aria-labelledby="screenshots">
<h2 id="screenshots">Screenshots</h2>
<ul class="shots">${urls.map(
      (url, index) =>
        html`<li><a href="${url}" rel="noreferrer"><img src="${url}" alt="Screenshot ${index + 1} of ${name}" loading="lazy" width="600" height="375"></a></li>`,
    )}</ul>
</section>`
  );
}
