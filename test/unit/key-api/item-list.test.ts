import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DriftReports } from '../../../src/diagnostics/drift.js';
import { readItems } from '../../../src/key-api/item-list.js';
import { ItemPool } from '../../../src/key-api/item-pool.js';
import type { Reading } from '../../../src/key-api/reading.js';
import { item } from '../../support/wire.js';

const ENDPOINT = '/api/items/all';
const other = { ...item, id: 7 };

function readingOf(pool?: ItemPool, turn = async (): Promise<void> => {}) {
  const turns = vi.fn(turn);
  const drift = new DriftReports(() => 0);
  return { reading: { drift, pool, deadline: { turn: turns } } as unknown as Reading, turns };
}

const read = (value: unknown, pool?: ItemPool) =>
  readItems(value, ENDPOINT, readingOf(pool).reading);

/** A clock that goes by so many milliseconds with each look at it. */
function clockGoesBy(step: number): { looks: () => number } {
  let now = -step;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += step;
    return now;
  });
  return { looks: () => spy.mock.calls.length };
}

function driftSeen(): unknown[] {
  const reports: unknown[] = [];
  const listen = (message: unknown): void => void reports.push(message);
  subscribe('marketgate:drift', listen);
  onTestFinished(() => void unsubscribe('marketgate:drift', listen));
  return reports;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('what is a list', () => {
  it.each([
    ['a list', [item, other]],
    ['a list with gaps in its numbers, as PHP writes it', { 0: item, 12: other }],
  ])('%s', (_name, value) => {
    expect(read(value)).toEqual({ ok: true, value: [item, other] });
  });

  it.each([[[]], [{}]])('%j: one of nothing', (value) => {
    expect(read(value)).toEqual({ ok: true, value: [] });
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'items'],
    ['a number', 7],
    ['one item', item],
    ['an object with a name among its numbers', { 0: item, x1: other }],
    ['an object with a number that goes on', { 0: item, '1x': other }],
  ])('not %s', (_name, value) => {
    expect(read(value)).toBeUndefined();
  });
});

describe('an item that cannot be read', () => {
  it('is left out, and told with its place and what was expected there', () => {
    const reports = driftSeen();
    const value = [item, { ...item, id: 'seven' }, other, { ...item, price: { regular: [] } }];
    expect(read(value)).toEqual({ ok: true, value: [item, other] });
    expect(reports).toEqual([
      { endpoint: ENDPOINT, kind: 'dropped', path: 'items[1].id', expected: 'expected number' },
      {
        endpoint: ENDPOINT,
        kind: 'dropped',
        path: 'items[3].price.regular',
        expected: 'expected number',
      },
    ]);
  });

  it('makes no list where there is no other: it says what was wrong with the first', () => {
    expect(read([{ ...item, id: 'seven' }, { id: 7 }])).toEqual({
      ok: false,
      problem: expect.stringMatching(/^items\[0\]\.id: expected number/),
    });
  });

  it('is mended where that can be done', () => {
    const reports = driftSeen();
    expect(read([{ ...item, tags: 'a,b' }])).toEqual({
      ok: true,
      value: [{ ...item, tags: ['a', 'b'] }],
    });
    expect(reports).toMatchObject([{ kind: 'mended', path: 'items[0].tags' }]);
  });
});

describe('a list that is kept', () => {
  const listOf = (value: unknown, pool: ItemPool) => {
    const shaped = read(value, pool);
    return shaped && 'ok' in shaped && shaped.ok ? shaped.value : [];
  };

  it('is frozen with all that is in it, mended or not; one that is not kept is not', () => {
    const value = () => [structuredClone(item), { ...structuredClone(other), tags: 'a' }];
    const kept = listOf(value(), new ItemPool());
    expect([kept, ...kept, kept[0]?.media, kept[1]?.tags].every(Object.isFrozen)).toBe(true);
    const own = read(value());
    expect(own && 'ok' in own && own.ok && own.value.some(Object.isFrozen)).toBe(false);
    expect(own && 'ok' in own && own.ok && Object.isFrozen(own.value)).toBe(false);
  });

  it('shares its items with what is there already, and with what comes later', () => {
    const pool = new ItemPool();
    const sold = pool.intern(structuredClone(item));
    const list = listOf([structuredClone(item), structuredClone(other)], pool);
    expect(list[0]).toBe(sold);
    expect(pool.intern(structuredClone(other))).toBe(list[1]);
  });
});

describe('a long list', () => {
  const items = Array.from({ length: 100 }, (_, id) => ({ ...item, id }));

  it('is read at once where that takes no more than five milliseconds', () => {
    const clock = clockGoesBy(1);
    const { reading, turns } = readingOf();
    expect(readItems(items, ENDPOINT, reading)).toEqual({ ok: true, value: items });
    expect(turns).not.toHaveBeenCalled();
    // Once at its beginning, and after 32, 64 and 96 items.
    expect(clock.looks()).toBe(4);
  });

  it.each([
    // The clock is looked at with every 32 items.
    [4.9, 1],
    [5, 3],
  ])('is read on in another turn after 5 ms: %d ms for 32 items', async (step, turned) => {
    clockGoesBy(step);
    const { reading, turns } = readingOf();
    expect(await readItems(items, ENDPOINT, reading)).toEqual({ ok: true, value: items });
    expect(turns).toHaveBeenCalledTimes(turned);
  });

  it('that ends where a slice does takes no turn more', async () => {
    clockGoesBy(5);
    const { reading, turns } = readingOf();
    await readItems(items.slice(0, 64), ENDPOINT, reading);
    expect(turns).toHaveBeenCalledTimes(1);
  });

  it('is not read on when the call has ended', async () => {
    clockGoesBy(5);
    const { reading } = readingOf(undefined, () => Promise.reject(new Error('over')));
    await expect(readItems(items, ENDPOINT, reading)).rejects.toThrow('over');
  });
});
