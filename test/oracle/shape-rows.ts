import { account, item, purchase, userInfo } from '../support/wire.js';
import { readsAsAccount, readsAsItem, readsAsPurchase, readsAsUser } from './shapes.js';

/** The documented records: which places there must be, and which can be absent. */
export const RECORDS = {
  account: {
    record: account,
    readsAs: readsAsAccount,
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
    readsAs: readsAsItem,
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
    readsAs: readsAsPurchase,
    needed: ['purchase_code', 'item', 'item.id'],
    optional: [
      ...[
        'license_type',
        'price',
        'currency',
        'item.name',
        'supported_until',
        'downloaded',
        'date',
      ],
    ],
    objects: ['item.media'],
  },
  user: {
    record: userInfo,
    readsAs: readsAsUser,
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
  drift('item', 'options', [1, true, 'x'], ['1', '1', 'x']),
  drift('item', 'id', '1042', 1042),
  drift('item', 'name', 2048, '2048'),
  drift('item', 'version', 2, '2'),
  drift('item', 'price', { regular: '29', extended: '149.50' }, { regular: 29, extended: 149.5 }),
  drift('item', 'price.regular', ' -3.5 ', -3.5),
  drift('item', 'media.screenshots', { 0: 'a', 1: 'b' }, ['a', 'b']),
  drift('item', 'media', [], {}),
  drift('account', 'profile', ABSENT, { contact: {}, media: {} }),
  drift('account', 'name', null, {}),
  drift('account', 'profile.social_links', [], {}),
  drift('account', 'profile.social_links', { x: null, y: 'z', n: 7 }, { y: 'z', n: '7' }),
  drift('account', 'balance', '120.50', 120.5),
  drift('purchase', 'downloaded', 0, false),
  drift('purchase', 'downloaded', '1', true),
  drift('purchase', 'downloaded', 'true', true),
  drift('purchase', 'downloaded', 'FALSE', false),
  drift('purchase', 'supported_until', '', ABSENT),
  drift('purchase', 'item.tags', 'a,b', ['a', 'b']),
  drift('user', 'user_id', 77, '77'),
  drift('user', 'user_verified', true, '1'),
  drift('user', 'user_verified', false, '0'),
];

/** What is documented, or may stand there as it is. */
// biome-ignore format: a table is read by its columns
export const UNCHANGED: readonly ShapeRow[] = [
  drift('purchase', 'supported_until', '2020-02-18T07:42:08.000000Z', '2020-02-18T07:42:08.000000Z'),
  drift('account', 'profile.social_links.mastodon', 'x', 'x'),
];

/** What is not harmless: the record is refused, and the error names the path. */
// biome-ignore format: a table is read by its columns
export const REFUSED: readonly { record: RecordName; path: string; sent: unknown; names?: string }[] = [
  { record: 'item', path: 'id', sent: 1.5 },
  { record: 'item', path: 'id', sent: 'x' },
  { record: 'item', path: 'name', sent: { en: 'x' } },
  { record: 'item', path: 'tags', sent: { en: 'x' } },
  { record: 'item', path: 'tags', sent: [{}], names: 'tags[0]' },
  { record: 'item', path: 'media', sent: 'x' },
  { record: 'item', path: 'price.regular', sent: 'free' },
  { record: 'item', path: 'price.regular', sent: '1e3' },
  { record: 'purchase', path: 'price', sent: 'free' },
  { record: 'purchase', path: 'purchase_code', sent: '' },
  { record: 'purchase', path: 'item.id', sent: 1.5 },
  { record: 'purchase', path: 'supported_until', sent: 'soon' },
  { record: 'purchase', path: 'downloaded', sent: 'yes' },
  { record: 'purchase', path: 'downloaded', sent: 2 },
  { record: 'account', path: 'username', sent: '' },
  { record: 'account', path: 'profile.social_links', sent: { 'secret-key-in-a-map': {} }, names: 'profile.social_links.*' },
  { record: 'user', path: 'user_id', sent: '' },
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
