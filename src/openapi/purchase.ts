import { type Purchase, purchaseSchema } from '../model/purchase.js';
import { documented } from './documented.js';
import { itemDocumentation } from './item.js';

export const purchaseDocumentation = documented<Purchase>(
  purchaseSchema,
  'A purchase, as validation answers it.',
  {
    purchase_code: {
      description: 'The code. A secret of the customer: whoever has it is let in.',
      examples: ['6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'],
    },
    license_type: {
      description: 'A label for the kind of licence. Its allowed values are not shown.',
      examples: ['Regular', 'Extended'],
    },
    price: { description: 'What was paid, in units of `currency`.', examples: [24] },
    currency: { description: 'A currency code.', examples: ['USD'] },
    // The very schema, so that the document refers to it. It may have left the catalogue.
    item: { description: 'The full item.', schema: itemDocumentation },
    supported_until: {
      description:
        'ISO 8601, UTC. Absent when support is disabled or the purchase is not supported. Some deployments send it also when it is past: compare it.',
      format: 'date-time',
      optional: true,
    },
    downloaded: { description: 'Whether it has been downloaded.' },
    date: {
      description: 'When it was bought: ISO 8601, UTC.',
      format: 'date-time',
      examples: ['2026-01-14T10:22:05Z'],
    },
  },
);
