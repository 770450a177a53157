import { expect, it } from 'vitest';
import { z } from 'zod';
import { accountSchema } from '../../../src/model/account.js';
import { documentedType } from '../../../src/model/fields.js';
import { itemSchema } from '../../../src/model/item.js';
import { purchaseSchema } from '../../../src/model/purchase.js';
import { userInfoSchema } from '../../../src/model/user-info.js';

type Field = Readonly<Record<string, unknown>>;

/** The fields in a field, or itself when it has none, each with its name. */
const leaves = ([name, field]: [string, Field]): [string, Field][] =>
  field.properties ? Object.entries(field.properties).flatMap(leaves) : [[name, field]];

const fields = [accountSchema, itemSchema, purchaseSchema, userInfoSchema].flatMap((schema) =>
  leaves(['', z.toJSONSchema(documentedType(schema)) as Field]),
);

// biome-ignore format: a table is read by its columns
it.each<[string, (field: Field) => boolean, string]>([
  ['with URLs', ({ format }) => format === 'uri', 'avatar cover demo_link thumbnail preview_image preview_video preview_audio'],
  ['with times', ({ format }) => format === 'date-time', 'registered_at published_at supported_until date'],
  // But for URLs, texts of any kind, and what another field shows.
  ['without examples, or with empty ones', ({ examples = '' }) => /""|\[\]|\{\}/.test(JSON.stringify(examples)), 'heading description avatar cover sub_category demo_link thumbnail preview_image preview_video preview_audio screenshots published_at supported_until downloaded user_gender user_picture user_cover user_relationship user_biography user_website'],
])('fields %s', (_what, is, names) => {
  const found = fields.flatMap(([name, field]) => (is(field) ? name : []));
  expect([...new Set(found)].join(' ')).toBe(names);
});
