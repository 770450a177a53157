import { inspect } from 'node:util';
import { MemoryTokenStore } from 'marketgate';
import { expect, it } from 'vitest';
import { HandClock, HOUR, NOW, SECRET, tokenOf } from './support.js';

it('MemoryTokenStore is bounded: the least recently used token goes first, and expired ones take no room', async () => {
  const store = new MemoryTokenStore({ max: 2, clock: () => NOW });
  for (const user of ['a', 'b']) await store.set(user, tokenOf(user));
  await store.get('a');
  await store.set('old', tokenOf('old', NOW - HOUR));
  expect(await store.get('b')).toEqual(tokenOf('b'));
  await store.get('a');
  await store.set('c', tokenOf('c'));
  expect(await store.get('b')).toBeUndefined();
  expect(await store.get('a')).toEqual(tokenOf('a'));
});

it('inspect and JSON show no token of a MemoryTokenStore', async () => {
  const store = new MemoryTokenStore({ clock: () => NOW });
  await store.set('a', tokenOf());
  const shown = inspect(store, { showHidden: true, depth: 9 }) + JSON.stringify(store);
  expect(shown).not.toContain(SECRET);
});

it('claims and tokens of a MemoryTokenStore do not push each other out', async () => {
  const store = new MemoryTokenStore({ max: 1, clock: () => NOW });
  await store.claim('spent', HOUR);
  for (let user = 0; user < 100; user++) await store.set(`${user}`, tokenOf());
  for (let name = 0; name < 100; name++) await store.claim(`${name}`, HOUR);
  expect(await store.get('99')).toEqual(tokenOf());
  expect(await store.claim('spent', HOUR)).toBe(false);
});

it('claims of a MemoryTokenStore last for 100,000 names, expired ones not counted', async () => {
  const time = new HandClock();
  const store = new MemoryTokenStore({ clock: time.clock });
  await store.claim('expired', 1000);
  time.advance(1000);
  for (let name = 0; name < 100_000; name++) await store.claim(`${name}`, HOUR);
  expect(await store.claim('0', HOUR)).toBe(false);
  await store.claim('one more', HOUR);
  for (const name of ['1', '99999', 'one more']) expect(await store.claim(name, HOUR)).toBe(false);
  expect(await store.claim('0', HOUR)).toBe(true);
});

it.each([
  ['"max"', { max: 0 }],
  ['"max"', { max: 2 ** 24 + 1 }],
  ['"clock"', { clock: 5 as never }],
  ['"maximum"', { maximum: 5 } as never],
])('a wrong option of MemoryTokenStore is a TypeError that names it: %s', (name, options) => {
  const make = () => new MemoryTokenStore(options);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(new RegExp(`^MemoryTokenStore: .*option ${name}`));
});
