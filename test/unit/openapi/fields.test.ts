import { expect, it } from 'vitest';
import { document } from './support.js';

interface Field {
  readonly properties?: Readonly<Record<string, Field>>;
  readonly format?: string;
  readonly examples?: unknown;
}

/** The fields that are no objects with documented fields, by path. */
const fields = new Map<string, Field>();
function collect(path: string, field: Field): void {
  if (field.properties === undefined) fields.set(path, field);
  const inner = Object.entries(field.properties ?? {});
  for (const [name, each] of inner) collect(`${path}.${name}`, each);
}
const { Account, Item, Purchase, UserInfo } = document.components.schemas;
for (const [name, record] of Object.entries({ Account, Item, Purchase, UserInfo })) {
  collect(name, record);
}
const those = (is: (field: Field) => boolean): string[] =>
  [...fields.keys()].filter((path) => is(fields.get(path) ?? {}));

const media = ['thumbnail', 'preview_image', 'preview_video', 'preview_audio'];
const URLS = [
  ...['Account.profile.media.avatar', 'Account.profile.media.cover', 'Item.demo_link'],
  ...media.map((name) => `Item.media.${name}`),
];

it.each([
  ['uri', URLS],
  [
    'date-time',
    ['Account.registered_at', 'Item.published_at', 'Purchase.supported_until', 'Purchase.date'],
  ],
])('fields with the format %s', (expected, paths) => {
  expect(those(({ format }) => format === expected)).toEqual(paths);
});

it('each field has examples that are not empty, but for URLs, long texts and what its type tells', () => {
  const hasNone = ({ examples = '' }: Field) => /""|\[\]|\{\}/.test(JSON.stringify(examples));
  const without = those(hasNone).filter((path) => !URLS.includes(path));
  expect(without.map((path) => path.replace(/.*\./, ''))).toEqual([
    ...['heading', 'description', 'description', 'sub_category', 'screenshots', 'published_at'],
    ...['item', 'supported_until', 'downloaded', 'user_gender', 'user_picture', 'user_cover'],
    ...['user_relationship', 'user_biography', 'user_website'],
  ]);
});
