import { expect } from 'vitest';
import { account, item, purchase, userInfo } from '../support/wire.js';

/** The documented records: which places there must be, and which can be absent. */
export const RECORDS = {
  account: {
    record: account,
    needed: ['username'],
    optional: [
      ...['name.firstname', 'name.lastname', 'name.full_name', 'email', 'balance', 'currency'],
      ...['profile.heading', 'profile.description', 'profile.contact.email'],
      ...['profile.social_links', 'profile.social_links.x'],
      ...['profile.media.avatar', 'profile.media.cover', 'registered_at'],
    ],
    objects: ['name', 'profile', 'profile.contact', 'profile.media'],
  },
  item: {
    record: item,
    needed: ['id', 'name'],
    optional: [
      ...['description', 'category', 'sub_category', 'options', 'version', 'demo_link', 'tags'],
      ...['media.thumbnail', 'media.preview_image', 'media.preview_video', 'media.preview_audio'],
      ...['media.screenshots', 'price', 'price.regular', 'price.extended', 'currency'],
      'published_at',
    ],
    objects: ['media'],
  },
  purchase: {
    record: purchase,
    needed: ['purchase_code', 'item', 'item.id'],
    optional: [
      ...['license_type', 'price', 'currency', 'item.name', 'supported_until', 'downloaded'],
      'date',
    ],
    objects: ['item.media'],
  },
  user: {
    record: userInfo,
    needed: ['user_id'],
    optional: Object.keys(userInfo).filter((name) => name !== 'user_id'),
    objects: [],
  },
} as const;

export type RecordName = keyof typeof RECORDS;

/** A record, a place in it, what is sent there, what is read, if anything, and what is reported, if not that place. */
export type ShapeRow = [of: RecordName, path: string, sent: unknown, read?: unknown, at?: string];

/** Rows of one place that is sent in these ways, none of which is read. */
const unread = (record: RecordName, path: string, ...sent: unknown[]): ShapeRow[] =>
  sent.map((each) => [record, path, each]);

/** Drift that is harmless: it is coerced into the documented shape. */
// biome-ignore format: a table is read by its columns
export const COERCED: readonly ShapeRow[] = [
  ['item', 'tags', 'a, b,,c', ['a', 'b', 'c']],
  ['item', 'tags', '', []],
  ['item', 'tags', ['a', null, 'b'], ['a', 'b']],
  ['item', 'options', [1, 2.5, 'x'], ['1', '2.5', 'x']],
  ['item', 'id', '1042', 1042],
  ['item', 'name', 2.5, '2.5'],
  ['item', 'price.regular', ' -3.5 ', -3.5],
  ['item', 'media.screenshots', { 0: 'a', 1: 'b' }, ['a', 'b']],
  ['item', 'media', [], {}],
  ['account', 'profile', undefined, { contact: {}, media: {} }],
  ['account', 'profile.social_links', [], {}],
  ['account', 'profile.social_links', { x: null, y: 'z', n: 7 }, { y: 'z', n: '7' }],
  ['account', 'balance', '120.50', 120.5],
  ['purchase', 'downloaded', 0, false],
  ['purchase', 'downloaded', 'FALSE', false],
  ...unread('purchase', 'supported_until', '', '0000-00-00 00:00:00', ' 0000-00-00', '-0001-11-30T00:00:00.000000Z', false),
  ['item', 'published_at', '0000-00-00T00:00:00.000000Z'],
  ['user', 'user_birthdate', '0000-00-00'],
  ...['item.tags', 'item.media.screenshots'].flatMap<ShapeRow>((path) => [
    ['purchase', path, '["https:\\/\\/x.example\\/1,2.png","b"]', ['https://x.example/1,2.png', 'b']],
    ['purchase', path, ' [ "a", 7, null, {} ] ', ['a', '7']],
    ['purchase', path, '{"0":"a","2":"b"}', ['a', 'b']],
    ['purchase', path, '', []],
  ]),
  ['item', 'tags', '[draft], x', ['[draft]', 'x']],
  ['item', 'tags', '["a","b', ['["a"', '"b']],
  ['user', 'user_id', 77, '77'],
  ['user', 'user_verified', true, '1'],
];

/** What is documented, or may stand there as it is. */
// biome-ignore format: a table is read by its columns
export const UNCHANGED: readonly ShapeRow[] = [
  ['purchase', 'supported_until', '2028-02-29T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['user', 'user_registered', '2021-03-01 12:00:00', '2021-03-01 12:00:00'],
  ['user', 'user_birthdate', '', ''],
  ['account', 'profile.social_links.mastodon', 'x', 'x'],
];

const NO_DATES = ['Support until 2027', '2027-02-29T00:00:00Z', 1_830_297_600, true, [], { at: 7 }];

/** What cannot be read where absence has a meaning: it stays as its text, and is reported. */
export const KEPT = NO_DATES.map((sent): ShapeRow => {
  const read = typeof sent === 'object' ? expect.any(String) : String(sent);
  return ['purchase', 'supported_until', sent, read];
});

/** What cannot be read in a place that may be empty: it is left out and reported, and the rest is read. */
// biome-ignore format: a table is read by its columns
export const DROPPED: readonly ShapeRow[] = [
  ...unread('purchase', 'date', 'yesterday', {}),
  ...unread('purchase', 'license_type', { name: 'Extended' }, ['Extended'], true, false),
  ...unread('purchase', 'price', 'free', '19,00', '$19', true, {}),
  ...unread('purchase', 'downloaded', 'yes', 2, {}, [1]),
  ...unread('item', 'tags', 5, true, { en: 'x' }),
  ['item', 'tags', ['a', {}, 'b', true], ['a', 'b'], 'tags[1]'],
  ['item', 'tags', [...'0123456789', {}], [...'0123456789'], 'tags[10]'],
  ['item', 'media', 'x', {}],
  ...unread('item', 'media.screenshots', 7, 'https://x.example/1,2.png', '["a","b', '{"en":"x"}'),
  ...unread('item', 'price', 'free', 29),
  ...unread('item', 'price.regular', 'free', '1e3', '19,00', [], ['29']),
  ...unread('item', 'published_at', 'soon', 1_714_557_600),
  ...unread('account', 'balance', '1.234,50', true),
  ['account', 'profile.social_links', { x: 'y', '7-secret-key-in-a-map-7': {}, z: [] }, { x: 'y' }, 'profile.social_links.*'],
  ['account', 'profile', 7, { contact: {}, media: {} }],
  ...unread('user', 'user_birthdate', '12.04.1990', '1990-04-31'),
];

/** The first integer that JSON cannot tell from its neighbour. */
const UNSAFE = 2 ** 53;

/** What cannot be read where something must be: the record is refused, and the error names the path. */
// biome-ignore format: a table is read by its columns
export const REFUSED: readonly ShapeRow[] = [
  ...unread('item', 'id', 1.5, 'x', '', true, {}, '1042.0', ' 1042', UNSAFE, String(UNSAFE + 2)),
  ...unread('purchase', 'purchase_code', '', true, 1.5, UNSAFE, {}, ['x']),
  ...unread('account', 'username', '', 1.5),
  ...unread('user', 'user_id', '', ' ', '\u200b', true, 1.5, UNSAFE, {}, ['77']),
];

/** A copy of a record with one place in it changed; `undefined` takes it away. */
export function withPlace(record: object, path: string, value: unknown): object {
  const copy = structuredClone(record) as Record<string, unknown>;
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at = copy;
  for (const key of keys) {
    at[key] ??= {};
    at = at[key] as Record<string, unknown>;
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}
