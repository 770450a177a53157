import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DriftReports } from '../../../../src/diagnostics/drift.js';
import type { CacheLimits } from '../../../../src/key-api/cache/cache-options.js';
import { GuardedSharedCache } from '../../../../src/key-api/cache/guarded-shared-cache.js';
import { Sealer } from '../../../../src/key-api/cache/sealer.js';
import { SharedRows } from '../../../../src/key-api/cache/shared-rows.js';
import { MemorySharedCache } from '../../../support/memory-shared-cache.js';

const NOW = 1_000_000;
const LARGEST = 512 * 1024;
const LIMITS: CacheLimits = {
  max: 10,
  ttl: 100,
  staleWhileRevalidate: 1000,
  staleIfError: 5000,
  invalidTtl: 50,
  maxInvalid: 10,
};
const sealer = new Sealer('secret');

function rowsOf(limits: Partial<CacheLimits> = {}) {
  const shared = new MemorySharedCache();
  const set = vi.spyOn(shared, 'set');
  const state = { now: NOW };
  const clock = (): number => state.now;
  const rows = new SharedRows(
    new GuardedSharedCache(shared),
    { ...LIMITS, ...limits },
    clock,
    new DriftReports(clock),
  );
  return Object.assign(state, {
    shared,
    set,
    rows,
    put: (text: string) => shared.values.set('row', sealer.seal('row', text)),
    read: (isShape = (_value: unknown): boolean => true) =>
      rows.open(sealer, 'row', shared.values.get('row'), isShape),
    write: (value: unknown, at = NOW) => rows.write(sealer, 'row', { value, at }),
  });
}

function driftSeen(): unknown[] {
  const reports: unknown[] = [];
  const listen = (message: unknown): void => void reports.push(message);
  subscribe('marketgate:drift', listen);
  onTestFinished(() => void unsubscribe('marketgate:drift', listen));
  return reports;
}

describe('the time of a row', () => {
  it.each([
    ['of the past', NOW - 1, NOW - 1],
    ['of now', NOW, NOW],
    ['of a host whose clock is a little ahead', NOW + 4999, NOW],
    ['of a clock that is wrong', NOW + 5000, NOW + 5000],
  ])('%s', async (_name, at, read) => {
    const self = rowsOf();
    self.put(JSON.stringify({ at, value: { n: 1 } }));
    expect(self.read()).toEqual({ at: read, value: { n: 1 } });
  });

  it('says until when it is fresh: a yes by ttl, a no by invalidTtl, and neither from the future', () => {
    const { rows } = rowsOf();
    const isFresh = (value: object | null, age: number) => rows.isFresh({ value, at: NOW - age });
    expect([0, 99, 100, -1].map((age) => isFresh({}, age))).toEqual([true, true, false, false]);
    expect([0, 49, 50, -1].map((age) => isFresh(null, age))).toEqual([true, true, false, false]);
  });
});

describe('a row lives as long as it can be of use', () => {
  it.each<[string, Partial<CacheLimits>, object | null, number]>([
    ['a yes until staleIfError', {}, { n: 1 }, 5000],
    ['a yes until ttl when that is longer', { ttl: 7000 }, { n: 1 }, 7000],
    ['a no until invalidTtl', {}, null, 50],
  ])('%s, counted from the question', async (_name, limits, value, life) => {
    const self = rowsOf(limits);
    await self.write(value, NOW - 9);
    await self.write(value, NOW - 9.5);
    await self.write(value, NOW - life + 1);
    expect(self.set.mock.calls.map((call: unknown[]) => call[2])).toEqual([life - 9, life - 9, 1]);
    self.set.mockClear();
    await self.write(value, NOW - life);
    expect(self.set).not.toHaveBeenCalled();
  });
});

describe('what is written', () => {
  it.each([
    ['an object', { n: 1 }],
    ['a no', null],
    ['an empty list', []],
    ['a list', [{ n: 1 }, { n: 2, name: 'ü' }]],
  ])('is read as it was: %s', async (_name, value) => {
    const self = rowsOf();
    await self.write(value);
    expect(self.read()).toEqual({ at: NOW, value });
  });

  it('is not written when it is longer than half a million characters', async () => {
    const self = rowsOf();
    const around = JSON.stringify({ at: NOW, value: { text: '' } }).length;
    await self.write({ text: 'x'.repeat(LARGEST - around + 1) });
    expect(self.set).not.toHaveBeenCalled();
    await self.write({ text: 'x'.repeat(LARGEST - around) });
    expect(self.set).toHaveBeenCalledTimes(1);
  });

  it('is no list of more than that: no element more is written than shows it', async () => {
    const self = rowsOf();
    // Each is 1,023 characters of JSON and a comma: 512 of them are just as many as may be.
    const elements = Array.from({ length: 600 }, () => 'x'.repeat(1021));
    await self.write(elements.slice(0, 512));
    expect(self.set).toHaveBeenCalledTimes(1);
    const written = vi.spyOn(JSON, 'stringify');
    onTestFinished(() => written.mockRestore());
    await self.write(elements);
    expect(written).toHaveBeenCalledTimes(513);
    expect(self.set).toHaveBeenCalledTimes(1);
  });
});

describe('what lies there and was not put there by this fleet', () => {
  const report = {
    endpoint: 'shared cache',
    kind: 'dropped',
    path: 'value',
    expected: 'a value sealed by this fleet, of this version',
  };

  it.each<[string, (self: ReturnType<typeof rowsOf>) => void]>([
    ['in clear', ({ shared }) => shared.values.set('row', JSON.stringify({ at: NOW, value: {} }))],
    [
      'of another fleet',
      ({ shared }) => shared.values.set('row', new Sealer('other').seal('row', '{"at":1}')),
    ],
    ['without a time', ({ put }) => put('{"value":{}}')],
    ['with a time in words', ({ put }) => put('{"at":"now","value":{}}')],
    ['without a value', ({ put }) => put('{"at":1}')],
    ['with a value that is no answer', ({ put }) => put('{"at":1,"value":"yes"}')],
    ['null', ({ put }) => put('null')],
  ])('%s is not there, and is reported', async (_name, put) => {
    const self = rowsOf();
    put(self);
    const reports = driftSeen();
    expect(self.read()).toBeUndefined();
    expect(reports).toEqual([report]);
  });

  it.each([undefined, null, 42, {}])('%j is nothing at all, and nothing to report', (value) => {
    const self = rowsOf();
    const reports = driftSeen();
    self.shared.values.set('row', value as string);
    expect(self.read()).toBeUndefined();
    expect(reports).toEqual([]);
  });

  it('a yes of a shape that this version cannot serve is not there; a no has no shape', async () => {
    const self = rowsOf();
    const reports = driftSeen();
    self.put('{"at":1,"value":{"n":1}}');
    expect(self.read(() => false)).toBeUndefined();
    expect(reports).toEqual([report]);
    self.put('{"at":1,"value":null}');
    expect(self.read(() => false)).toEqual({ at: 1, value: null });
  });
});
