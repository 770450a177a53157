import { afterEach, describe, expect, it, vi } from 'vitest';
import { Deadline } from '../../../src/deadline.js';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ITEMS, KeyApiService, keyApiOn, settle } from '../../support/key-api-service.js';
import { json, type Reply } from '../../support/service-in-memory.js';
import { account, item } from '../../support/wire.js';

const ENDPOINT = '/api/items/all';
const other = { ...item, id: 7 };

/** What listItems makes of an answer; cached, and not. */
async function listed(reply: Reply, options: object = {}) {
  const service = new KeyApiService({
    override: ({ path }) => (path === ITEMS ? reply : undefined),
  });
  return service.client(options).listItems();
}

// Also for the next file of this worker.
afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([
  ['cached', {}],
  ['without a cache', { cache: false }],
])('a list, %s', (_name, options) => {
  it.each<[string, unknown, unknown]>([
    ['a list', [item, other], [item, other]],
    ['a list with gaps in its numbers, as PHP writes it', { 0: item, 12: other }, [item, other]],
    ['an empty list', [], []],
    ['drift that can be coerced', [{ ...item, tags: 'a,b' }], [{ ...item, tags: ['a', 'b'] }]],
    ['a list with what is no item', [item, null, other, 7], [item, other]],
  ])('is read from %s', async (_from, items, list) => {
    expect(await listed(json({ items }), options)).toEqual(list);
  });

  it.each([
    ['nothing', undefined],
    ['an empty map', {}],
    ['null', null],
    ['a text', 'items'],
    ['a number', 7],
    ['one item', item],
    ['an object with a name among its numbers', { 0: item, x1: other }],
    ['an object with a number that goes on', { 0: item, '1x': other }],
    ['broken items alone', [{ ...item, id: 'seven' }, { id: 7 }]],
  ])('is not read from %s', async (_from, items) => {
    await expectError(listed(json({ items }), options), 'unexpected_response');
  });

  it('reports broken items and fields that are left out, with their place', async () => {
    const drift = hear('drift');
    const odd = { ...item, id: 9, price: { regular: [] } };
    const items = [item, { ...item, id: 'seven' }, other, odd];
    expect(await listed(json({ items }), options)).toEqual([item, other, { ...odd, price: {} }]);
    const dropped = { endpoint: ENDPOINT, kind: 'dropped' };
    expect(drift).toEqual([
      { ...dropped, path: 'items[1].id', expected: 'integer' },
      { ...dropped, path: 'items[3].price.regular', expected: 'number' },
    ]);
  });

  it('of broken items alone says what is wrong with the first', async () => {
    const { message } = await rejection(listed(json({ items: [{ id: 'x' }, { id: 7 }] }), options));
    expect(message).toContain('items[0].');
  });
});

describe('a list of 2,000 items', () => {
  const COUNT = 2000;
  const items = Array.from({ length: COUNT }, (_, i) =>
    i === 1000 ? { ...item, id: 'broken' } : { ...item, id: i, name: `Ferforje kapı ${i}` },
  );

  /** Runs something of the test between two slices. */
  function betweenSlices(run: (n: number) => unknown = () => {}): { count: () => number } {
    const { yield: next } = Deadline.prototype;
    let n = 0;
    vi.spyOn(Deadline.prototype, 'yield').mockImplementation(async function (this: Deadline) {
      await run(n++);
      await next.call(this);
    });
    return { count: () => n };
  }

  it('is read in slices, and is the same as one that is read at once', async () => {
    const drift = hear('drift');
    const service = new KeyApiService({ items });
    const turns = betweenSlices();
    const keyApi = service.client();
    const list = await keyApi.listItems();
    expect(list).toEqual(items.filter(({ id }) => id !== 'broken'));
    expect(turns.count()).toBe(4);
    expect(drift).toEqual([expect.objectContaining({ kind: 'dropped', path: 'items[1000].id' })]);
    expect(await keyApi.getItem(1999)).toBe(list.at(-1));
    expect(await keyApi.listItems()).toBe(list);
  });

  it('is not read on when the caller leaves between two slices', async () => {
    const leaving = new AbortController();
    const turns = betweenSlices((n) => n === 3 && leaving.abort(new Error('left')));
    const service = new KeyApiService({ items });
    const { signal } = leaving;
    await expect(service.client({ cache: false }).listItems({ signal })).rejects.toThrow('left');
    await settle();
    expect(turns.count()).toBe(4);
  });

  it('lets other calls be answered while it is read', async () => {
    const { keyApi } = keyApiOn({ items });
    let others = 0;
    betweenSlices(async () => {
      if (others < 3) await keyApi.validatePurchase(`purchase-code-${++others}`);
    });
    expect(await keyApi.listItems()).toHaveLength(COUNT - 1);
    expect(others).toBe(3);
  });

  it('takes no turn when it is short: nothing is gained by waiting', async () => {
    const service = new KeyApiService();
    const turns = betweenSlices();
    const keyApi = service.client();
    expect(await keyApi.listItems()).toHaveLength(2);
    expect(await keyApi.getAccount()).toEqual(account);
    expect(turns.count()).toBe(0);
  });
});
