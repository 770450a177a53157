import { type Item, type ItemMedia, type ItemPrice, itemSchema } from '../model/item.js';
import { documented, partOf } from './documented.js';

const UNKNOWN = 'Whether it is always there is not shown.';

const media = documented<ItemMedia>(partOf(itemSchema, 'media'), 'Pictures and previews.', {
  thumbnail: { description: 'A small picture. Always there.', format: 'uri' },
  preview_image: { description: 'Absent for audio items.', format: 'uri', optional: true },
  preview_video: { description: 'Only for video items.', format: 'uri', optional: true },
  preview_audio: { description: 'Only for audio items.', format: 'uri', optional: true },
  screenshots: { description: 'URLs; only if the item has screenshots.', optional: true },
});

const price = documented<ItemPrice>(
  partOf(itemSchema, 'price'),
  'Prices by kind of licence, in units of `currency`.',
  {
    regular: { description: 'Of the regular licence.', examples: [24], optional: true },
    extended: { description: 'Of the extended licence.', examples: [180], optional: true },
  },
);

export const itemDocumentation = documented<Item>(itemSchema, 'An item of the catalogue.', {
  id: { description: 'The id of the item.', examples: [1042] },
  name: { description: 'The name.', examples: ['Fjord Light'] },
  description: { description: `What it is. ${UNKNOWN}`, optional: true },
  category: { description: `The category. ${UNKNOWN}`, examples: ['Photos'], optional: true },
  sub_category: { description: `The sub-category. ${UNKNOWN}`, optional: true },
  options: { description: `What it comes as. ${UNKNOWN}`, examples: [['JPG']], optional: true },
  version: {
    description: `The item's own version, three numeric parts with dots. ${UNKNOWN}`,
    examples: ['2.3.1'],
    optional: true,
  },
  demo_link: { description: `A demonstration. ${UNKNOWN}`, format: 'uri', optional: true },
  tags: { description: `Tags. ${UNKNOWN}`, examples: [['light', 'winter']], optional: true },
  media: { description: 'Pictures and previews.', schema: media },
  price: { description: `Prices by kind of licence. ${UNKNOWN}`, schema: price, optional: true },
  currency: { description: `A currency code. ${UNKNOWN}`, examples: ['USD'], optional: true },
  published_at: {
    description: `When it was published: ISO 8601, UTC. ${UNKNOWN}`,
    format: 'date-time',
    optional: true,
  },
});
