import { MemoryTokenStore } from 'marketgate';
import { expect, it } from 'vitest';
import { HOUR, NOW, tokenOf } from './support.js';

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
