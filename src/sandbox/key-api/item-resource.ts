import type { SeedItem } from '../seed/types.js';

/** The media of an item (spec, "media fields"). */
export interface MediaResource {
  thumbnail: string;
  preview_image?: string;
  preview_video?: string;
  preview_audio?: string;
  screenshots?: string[];
}

/** Item as the specification writes it (spec, "Item"). */
export interface ItemResource {
  id: number;
  name: string;
  description: string;
  category: string;
  sub_category: string;
  options: string[];
  version: string;
  demo_link: string;
  tags: string[];
  media: MediaResource;
  price: { regular: number; extended: number };
  currency: string;
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
