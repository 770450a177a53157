import { expect, it } from 'vitest';
import { accountSchema } from '../../../src/model/account.js';
import { deepFreeze, parse, unreadableIn } from '../../../src/model/fields.js';
import { itemSchema } from '../../../src/model/item.js';
import { purchaseSchema } from '../../../src/model/purchase.js';
import { item, purchase } from '../../support/wire.js';

const quiet = (): void => {};
const readItem = (sent: unknown) => parse(itemSchema, sent, 'item', quiet);
const readPurchase = (sent: unknown) => parse(purchaseSchema, sent, 'data.purchase', quiet);

/** What is reported about an item, as in "coerced item.id: integer". */
function reported(sent: unknown): string[] {
  const drifts: string[] = [];
  const read = parse(itemSchema, sent, 'item', ({ kind, path, expected }) =>
    drifts.push(`${kind} ${path}: ${expected}`),
  );
  expect(read.ok).toBe(true);
  return drifts;
}

it('an item as documented is read without a report, with fields that nobody documents', () => {
  expect(reported({ ...item, trace: { price: 'x' } })).toEqual([]);
});

it('each place that is not as documented is reported once, and never its value', () => {
  const secret = 'my-secret';
  const media = { ...item.media, screenshots: { 0: 'a', 1: [secret] } };
  const price = { regular: '29', extended: `${secret} 7` };
  const odd = { ...item, id: '1042', published_at: secret, currency: null, media, price };
  expect(reported(odd).sort()).toEqual([
    'coerced item.currency: string',
    'coerced item.id: integer',
    'coerced item.media.screenshots: list',
    'coerced item.price.regular: number',
    'dropped item.media.screenshots[1]: string',
    'dropped item.price.extended: number',
    'dropped item.published_at: timestamp',
  ]);
});

it('a name that is not documented is not repeated in a report', () => {
  const paths: string[] = [];
  const links = { '4f0c1d9e my secret': 7 };
  const sent = { username: 'ada', profile: { social_links: links } };
  parse(accountSchema, sent, 'data', ({ path }) => paths.push(path));
  expect(paths).toContain('data.profile.social_links.*');
});

it('a list of which 25,000 elements cannot be read keeps the others in their order', () => {
  const tags = Array.from({ length: 50_000 }, (_, i) => (i % 2 === 0 ? `t${i}` : {}));
  const left = tags.filter((tag) => typeof tag === 'string');
  expect(readItem({ ...item, tags })).toMatchObject({ ok: true, value: { tags: left } });
});

it('a field can be nested deeper than the stack', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  const read = readItem({ ...item, nothing: null, trace: deep, tags: deep });
  expect(read).toMatchObject({ ok: true, value: { id: item.id } });
  expect(deepFreeze(deep)).toBe(deep);
});

it.each<[string, object, string, string]>([
  ['no text', { purchase_code: 7.5 }, 'purchase_code', 'string'],
  ['null', { purchase_code: null }, 'purchase_code', 'string'],
  ['an empty id', { purchase_code: '' }, 'purchase_code', 'string'],
  ['a fraction as an id', { item: { ...item, id: 1.5 } }, 'item.id', 'integer'],
  ['an id that no number holds', { item: { ...item, id: 2 ** 53 } }, 'item.id', 'integer'],
  ['digits that no number holds', { item: { id: String(2 ** 53) } }, 'item.id', 'integer'],
  ['an id far below zero', { item: { ...item, id: -(2 ** 53) } }, 'item.id', 'integer'],
  ['an id of invisible characters', { purchase_code: '\u200b' }, 'purchase_code', 'string'],
  ['no object', { item: 'x' }, 'item', 'object'],
])('a refusal names what is expected in the place of %s', (_name, odd, at, expected) => {
  const path = `data.purchase.${at}`;
  expect(readPurchase({ ...purchase, ...odd })).toEqual({ ok: false, path, expected });
});

it.each<[string, object, string[] | undefined]>([
  ['the end of support', { supported_until: 'never' }, ['supported_until']],
  ['the licence', { license_type: {} }, ['license_type']],
  ['both', { license_type: [], supported_until: 7 }, ['license_type', 'supported_until']],
  ['nothing', {}, undefined],
  ['nothing', { supported_until: '0000-00-00 00:00:00', license_type: null }, undefined],
  ['nothing', { supported_until: undefined, license_type: undefined }, undefined],
])('a purchase of which %s could not be read says so: %j', (_name, odd, names) => {
  const read = readPurchase({ ...purchase, ...odd });
  if (!read.ok) throw new Error(read.path);
  expect(unreadableIn(read.value)).toEqual(names);
});
