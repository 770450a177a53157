import { MemoryTokenStore } from 'marketgate';
import { expect, it } from 'vitest';
import { HandClock, HOUR, NOW, tokenOf } from './support.js';

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
