import type { SeedItem } from '../seed/types.js';

/** The media of an item (spec, "media fields"). */
export interface MediaResource {
  /** URL; all items have one. */
  thumbnail: string;
  /** URL; absent for audio items. */
  preview_image?: string;
  /** URL; only for video items. */
  preview_video?: string;
  /** URL; only for audio items. */
  preview_audio?: string;
  /** URLs; only if there are any. */
  screenshots?: string[];
}

/** Item as the specification writes it (spec, "Item"). */
export interface ItemResource {
  /** A positive integer. */
  id: number;
  /** What it is sold as. */
  name: string;
  /** What it is. */
  description: string;
  /** Name of its category. */
  category: string;
  /** Name of the category below that. */
  sub_category: string;
  /** What comes with it. */
  options: string[];
  /** Three numbers with dots. */
  version: string;
  /** URL. */
  demo_link: string;
  /** Words to find it by. */
  tags: string[];
  /** Pictures and previews, as its kind has them. */
  media: MediaResource;
  /** What it costs, in units of `currency`. */
  price: {
    /** With the regular licence. */
    regular: number;
    /** With the extended licence. */
    extended: number;
  };
  /** A currency code, as in "USD". */
  currency: string;
  /** ISO 8601, UTC. */
  published_at: string;
}

function mediaResource(item: Readonly<SeedItem>, origin: string): MediaResource {
  const url = (file: string) => `${origin}/media/items/${item.id}/${file}`;
  const screenshots = Array.from({ length: item.screenshots }, (_, index) =>
    url(`screenshot-${index + 1}.svg`),
  );
  return {
    thumbnail: url('thumbnail.svg'),
    ...(item.kind !== 'audio' && { preview_image: url('preview.svg') }),
    ...(item.kind === 'video' && { preview_video: url('preview.webm') }),
    ...(item.kind === 'audio' && { preview_audio: url('preview.wav') }),
    ...(screenshots.length > 0 && { screenshots }),
  };
}

/** An item with the media its kind has. */
export function itemResource(item: Readonly<SeedItem>, origin: string): ItemResource {
  return {
    id: item.id,
    name: item.name,
    description: item.description,
    category: item.category,
    sub_category: item.sub_category,
    options: [...item.options],
    version: item.version,
    demo_link: item.demo_link ?? `${origin}/preview/${item.id}`,
    tags: [...item.tags],
    media: mediaResource(item, origin),
    price: { ...item.price },
    currency: item.currency,
    published_at: item.published_at,
  };
}
