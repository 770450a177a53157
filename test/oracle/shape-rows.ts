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

/** A record of which one place is sent otherwise, and what is read there. */
export interface ShapeRow {
  readonly record: RecordName;
  readonly path: string;
  readonly sent: unknown;
  /** `undefined`: absent. */
  readonly read: unknown;
}

const ABSENT = undefined;
const drift = (record: RecordName, path: string, sent: unknown, read: unknown): ShapeRow => ({
  record,
  path,
  sent,
  read,
});

/** Drift that is harmless: it is coerced into the documented shape. */
// biome-ignore format: a table is read by its columns
export const COERCED: readonly ShapeRow[] = [
  drift('item', 'tags', 'a, b,,c', ['a', 'b', 'c']),
  drift('item', 'tags', '', []),
  drift('item', 'tags', ['a', null, 'b'], ['a', 'b']),
  drift('item', 'options', [1, 2.5, 'x'], ['1', '2.5', 'x']),
  drift('item', 'id', '1042', 1042),
  drift('item', 'name', 2.5, '2.5'),
  drift('item', 'price.regular', ' -3.5 ', -3.5),
  drift('item', 'media.screenshots', { 0: 'a', 1: 'b' }, ['a', 'b']),
  drift('item', 'media', [], {}),
  drift('account', 'profile', ABSENT, { contact: {}, media: {} }),
  drift('account', 'profile.social_links', [], {}),
  drift('account', 'profile.social_links', { x: null, y: 'z', n: 7 }, { y: 'z', n: '7' }),
  drift('account', 'balance', '120.50', 120.5),
  drift('purchase', 'downloaded', 0, false),
  drift('purchase', 'downloaded', 'FALSE', false),
  ...['', '0000-00-00 00:00:00', ' 0000-00-00', '-0001-11-30T00:00:00.000000Z', false].map((none) => drift('purchase', 'supported_until', none, ABSENT)),
  drift('item', 'published_at', '0000-00-00T00:00:00.000000Z', ABSENT),
  drift('user', 'user_birthdate', '0000-00-00', ABSENT),
  ...['item.tags', 'item.media.screenshots'].flatMap((path) => [
    drift('purchase', path, '["https:\\/\\/x.example\\/1,2.png","b"]', ['https://x.example/1,2.png', 'b']),
    drift('purchase', path, ' [ "a", 7, null, {} ] ', ['a', '7']),
    drift('purchase', path, '{"0":"a","2":"b"}', ['a', 'b']),
    drift('purchase', path, '', []),
  ]),
  drift('item', 'tags', '[draft], x', ['[draft]', 'x']),
  drift('item', 'tags', '["a","b', ['["a"', '"b']),
  drift('user', 'user_id', 77, '77'),
  drift('user', 'user_verified', true, '1'),
];

/** What is documented, or may stand there as it is. */
// biome-ignore format: a table is read by its columns
export const UNCHANGED: readonly ShapeRow[] = [
  ...['2020-02-18', '2028-02-29T00:00:00Z'].map((at) => drift('purchase', 'supported_until', at, at)),
  drift('user', 'user_registered', '2021-03-01 12:00:00', '2021-03-01 12:00:00'),
  drift('user', 'user_birthdate', '', ''),
  drift('account', 'profile.social_links.mastodon', 'x', 'x'),
];

const unreadable = (record: RecordName, path: string, ...sent: unknown[]): ShapeRow[] =>
  sent.map((each) => drift(record, path, each, ABSENT));

const asText = (record: RecordName, path: string, ...sent: unknown[]): ShapeRow[] =>
  sent.map((each) =>
    drift(record, path, each, typeof each === 'object' ? expect.any(String) : String(each)),
  );

/** What cannot be read where absence has a meaning: it stays as its text, and is reported. */
// biome-ignore format: a table is read by its columns
export const KEPT: readonly ShapeRow[] = [
  ...asText('purchase', 'supported_until', 'Support until 2027', '2027-02-29T00:00:00Z', 1_830_297_600, true, [], { date: '2027-01-01 00:00:00' }),
];

/** What cannot be read in a place that may be empty: it is left out and reported, and the rest is read. */
// biome-ignore format: a table is read by its columns
export const DROPPED: readonly (ShapeRow & { readonly names?: string })[] = [
  ...unreadable('purchase', 'date', 'yesterday', {}),
  ...unreadable('purchase', 'license_type', { name: 'Extended' }, ['Extended'], true, false),
  ...unreadable('purchase', 'price', 'free', '19,00', '$19', true, {}),
  ...unreadable('purchase', 'downloaded', 'yes', 2, {}, [1]),
  ...unreadable('item', 'tags', 5, true, { en: 'x' }),
  { ...drift('item', 'tags', ['a', {}, 'b', true], ['a', 'b']), names: 'tags[1]' },
  { ...drift('item', 'tags', [...'0123456789', {}], [...'0123456789']), names: 'tags[10]' },
  { ...drift('item', 'media', 'x', {}), names: 'media' },
  ...unreadable('item', 'media.screenshots', 7, 'https://x.example/1,2.png', '["a","b', '{"en":"x"}'),
  ...unreadable('item', 'price', 'free', 29),
  ...unreadable('item', 'price.regular', 'free', '1e3', '19,00', [], ['29']),
  ...unreadable('item', 'published_at', 'soon', 1_714_557_600),
  ...unreadable('account', 'balance', '1.234,50', true),
  { ...drift('account', 'profile.social_links', { x: 'y', '7-secret-key-in-a-map-7': {}, z: [] }, { x: 'y' }), names: 'profile.social_links.*' },
  { ...drift('account', 'profile', 7, { contact: {}, media: {} }), names: 'profile' },
  ...unreadable('user', 'user_birthdate', '12.04.1990', '1990-04-31'),
];

/** The first integer that JSON cannot tell from its neighbour. */
const UNSAFE = 2 ** 53;
const refused = (record: RecordName, path: string, ...sent: unknown[]) =>
  sent.map((each) => ({ record, path, sent: each }));

/** What cannot be read where something must be: the record is refused, and the error names the path. */
// biome-ignore format: a table is read by its columns
export const REFUSED: readonly { record: RecordName; path: string; sent: unknown }[] = [
  ...refused('item', 'id', 1.5, 'x', '', true, {}, '1042.0', ' 1042', UNSAFE, String(UNSAFE + 2)),
  ...refused('purchase', 'purchase_code', '', true, 1.5, UNSAFE, {}, ['x']),
  ...refused('account', 'username', '', 1.5),
  ...refused('user', 'user_id', '', ' ', '\u200b', true, 1.5, UNSAFE, {}, ['77']),
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
