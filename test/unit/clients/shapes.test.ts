import type { KeyApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import {
  COERCED,
  DROPPED,
  KEPT,
  RECORDS,
  REFUSED,
  type RecordName,
  UNCHANGED,
  withPlace,
} from '../../oracle/shape-rows.js';
import { expectError } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ITEMS, KeyApiService } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { CODE, item } from '../../support/wire.js';
import { serving, TOKEN } from './login-support.js';

interface Drift {
  readonly kind: string;
  readonly path: string;
  readonly expected: string;
}

/** Asks a key API that gives this body. */
function reading(body: object, read: (keyApi: KeyApi) => Promise<unknown>, options: object = {}) {
  const service = new KeyApiService({ override: () => json(body) });
  return read(service.client(options));
}

/** Each kind of record as a client reads it; an `Error` that names the path where it is refused. */
const READ: Record<RecordName, (sent: object) => Promise<unknown>> = {
  account: (data) => reading({ data }, (api) => api.getAccount()),
  item: (item) => reading({ item }, (api) => api.getItem(1042)),
  purchase: (purchase) => reading({ data: { purchase } }, (api) => api.validatePurchase(CODE)),
  user: (user_info) => serving(() => json({ user_info })).loginApi.getUser(TOKEN),
};
const read = (name: RecordName, sent: object) => READ[name](sent).catch((error: Error) => error);

describe.each(Object.entries(RECORDS))('a record of %s', (given, record) => {
  const name = given as RecordName;
  const { record: documented, needed, optional, objects } = record;

  it('as documented is read as it is, and is no drift', async () => {
    const drift = hear('drift');
    expect(await read(name, documented)).toEqual(documented);
    expect(drift).toEqual([]);
  });

  it.each(['', ...objects])('keeps fields that nobody knows, in "%s"', async (path) => {
    const more = withPlace(documented, path === '' ? 'trace' : `${path}.trace`, { deep: [7] });
    expect(await read(name, more)).toEqual(more);
  });

  it.each(needed)('is refused where %s is odd, null or absent', async (path) => {
    const odd = await read(name, withPlace(documented, path, [{ odd: true }]));
    expect(String(odd)).toContain(`.${path}`);
    for (const nothing of [undefined, null]) {
      expect(await read(name, withPlace(documented, path, nothing))).toBeInstanceOf(Error);
    }
  });

  it.each([...optional, ...objects])('is read, and reported, where %s is odd', async (path) => {
    const drift = hear<Drift>('drift');
    const odd = withPlace(documented, path, [{ odd: true }]);
    expect(await read(name, odd)).not.toBeInstanceOf(Error);
    const kind = path === 'supported_until' ? 'unreadable' : 'dropped';
    expect(drift[0]).toMatchObject({ kind, path: expect.stringContaining(`.${path}`) });
  });

  it.each(optional)('is read without %s, and null there is absent', async (path) => {
    const without = withPlace(documented, path, undefined);
    expect(await read(name, without)).toStrictEqual(without);
    expect(await read(name, withPlace(documented, path, null))).toStrictEqual(without);
  });
});

const show = (value: unknown): string => JSON.stringify(value) ?? 'absent';
const rows = [
  ...COERCED.map((row) => [row.record, row.path, show(row.sent), 'coerced', row] as const),
  ...UNCHANGED.map((row) => [row.record, row.path, show(row.sent), 'unchanged', row] as const),
  ...KEPT.map((row) => [row.record, row.path, show(row.sent), 'unreadable', row] as const),
  ...DROPPED.map((row) => [row.record, row.path, show(row.sent), 'dropped', row] as const),
];

it.each(rows)('of %s, the %s %s is %s', async (name, path, _sent, kind, row) => {
  const drift = hear<Drift>('drift');
  const { record } = RECORDS[name];
  const expected = withPlace(record, path, row.read);
  expect(await read(name, withPlace(record, path, row.sent))).toStrictEqual(expected);
  const { names = path } = row as { names?: string };
  const about = drift.filter((each) => each.path.includes(`.${names}`));
  if (kind === 'unchanged') expect(drift).toEqual([]);
  else expect(about[0]).toMatchObject({ kind, expected: expect.stringMatching(/^\w+$/) });
  expect(JSON.stringify(drift)).not.toContain('secret-key');
});

it.each(REFUSED.map((row) => [row.record, row.path, show(row.sent), row] as const))(
  'of %s, the %s %s is refused, with its path',
  async (name, path, _sent, row) => {
    const drift = hear('drift');
    const sent = withPlace(RECORDS[name].record, path, row.sent);
    expect(String(await read(name, sent))).toContain(`.${path}: `);
    expect(drift).toEqual([]);
  },
);

it('a list of which 25,000 elements cannot be read keeps the others in their order', async () => {
  const tags = Array.from({ length: 50_000 }, (_, i) => (i % 2 === 0 ? `t${i}` : {}));
  const left = tags.filter((tag) => typeof tag === 'string');
  expect(await read('item', { ...item, tags })).toEqual({ ...item, tags: left });
});

const other = { ...item, id: 7 };
/** More places that cannot be read than fit a call stack. */
const unreadableTags = { ...item, id: 8, tags: Array(200_000).fill({}) };

describe.each([
  ['cached', {}],
  ['without a cache', { cache: false }],
])('the list of items, %s', (_name, options) => {
  const listed = (items: unknown) => reading({ items }, (api) => api.listItems(), options);

  it.each<[string, unknown, unknown]>([
    ['a list', [item, other], [item, other]],
    ['a list with gaps in its numbers, as PHP writes it', { 0: item, 12: other }, [item, other]],
    ['an empty list', [], []],
    ['drift that can be coerced', [{ ...item, tags: 'a,b' }], [{ ...item, tags: ['a', 'b'] }]],
    ['a list with what is no item', [item, null, other, 7], [item, other]],
    [
      'a list with an item of which 200,000 elements cannot be read',
      [item, unreadableTags],
      [item, { ...unreadableTags, tags: [] }],
    ],
    ['the text of JSON', JSON.stringify([item, other]), [item, other]],
    ['the text of an empty list', '[]', []],
    [
      'the text of a JSON object with numbers',
      JSON.stringify({ 1: item, 3: other }),
      [item, other],
    ],
    [
      'a list with an item twice: the first counts',
      [{ ...item, name: 'A' }, other, { ...item, name: 'B' }],
      [{ ...item, name: 'A' }, other],
    ],
  ])('is read from %s', async (_from, items, list) => {
    expect(await listed(items)).toEqual(list);
  });

  it.each([
    ...[
      undefined,
      null,
      {},
      '{}',
      '',
      'null',
      '[7]',
      'items',
      7,
      item,
      { 0: item, x1: other },
      { 0: item, '1x': other },
    ],
    [{ ...item, id: 'seven' }, { id: 7 }],
  ])('is not read from %j', async (items) => {
    await expectError(listed(items), 'unexpected_response');
  });

  it('reports broken items and fields that are left out, with their place', async () => {
    const drift = hear('drift');
    const odd = { ...item, id: 9, price: { regular: [] } };
    const items = [item, { ...item, id: 'seven' }, other, odd];
    expect(await listed(items)).toEqual([item, other, { ...odd, price: {} }]);
    const dropped = { endpoint: ITEMS, kind: 'dropped' };
    expect(drift).toEqual([
      { ...dropped, path: 'items[1].id', expected: 'integer' },
      { ...dropped, path: 'items[3].price.regular', expected: 'number' },
    ]);
  });
});
