import { inspect } from 'node:util';
import { MemoryTokenStore } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { HandClock, HOUR, NOW, SECRET, tokenOf } from './support.js';

describe('what MemoryTokenStore holds', () => {
  it('is bounded: the least recently used token goes first, and an expired one takes no room', async () => {
    const store = new MemoryTokenStore({ max: 2, clock: () => NOW });
    await store.set('a', tokenOf('a'));
    await store.set('b', tokenOf('b'));
    await store.get('a');
    await store.set('old', tokenOf('old', NOW - HOUR));
    expect(await store.get('b')).toEqual(tokenOf('b'));
    await store.get('a');
    await store.set('c', tokenOf('c'));
    expect(await store.get('b')).toBeUndefined();
    expect(await store.get('a')).toEqual(tokenOf('a'));
  });

  it('is not shown by inspect or JSON', async () => {
    const store = new MemoryTokenStore({ clock: () => NOW });
    await store.set('a', tokenOf());
    expect(inspect(store, { showHidden: true, depth: 9 }) + JSON.stringify(store)).not.toContain(
      SECRET,
    );
  });
});

describe('the claims of MemoryTokenStore', () => {
  it('and tokens do not push each other out', async () => {
    const store = new MemoryTokenStore({ max: 1, clock: () => NOW });
    await store.set('a', tokenOf());
    for (let name = 0; name < 100; name++) await store.claim(`${name}`, HOUR);
    expect(await store.get('a')).toEqual(tokenOf());
    await store.claim('spent', HOUR);
    for (let user = 0; user < 100; user++) await store.set(`${user}`, tokenOf());
    expect(await store.claim('spent', HOUR)).toBe(false);
  });

  it('last for 100,000 names, expired ones not counted; one more drops the oldest', async () => {
    const time = new HandClock();
    const store = new MemoryTokenStore({ clock: time.clock });
    await store.claim('expired', 1000);
    time.advance(1000);
    for (let name = 0; name < 100_000; name++) await store.claim(`${name}`, HOUR);
    expect(await store.claim('0', HOUR)).toBe(false);
    await store.claim('one more', HOUR);
    for (const name of ['1', '99999', 'one more']) {
      expect(await store.claim(name, HOUR)).toBe(false);
    }
    expect(await store.claim('0', HOUR)).toBe(true);
  });

  it.each([Number.NaN, 0, -1, Number.POSITIVE_INFINITY, '60000', undefined, null, [1000]])(
    'refuse a ttl of %s, which would open or block them',
    async (ttl) => {
      await expect(new MemoryTokenStore().claim('name', ttl as never)).rejects.toThrow(
        new TypeError(
          'MemoryTokenStore: the "ttl" of a claim must be a positive number (milliseconds)',
        ),
      );
    },
  );
});

describe('options of MemoryTokenStore', () => {
  it.each([
    ['"max" must be from 1 to 16777216', { max: 0 }],
    ['"max"', { max: -1 }],
    ['"max"', { max: 1.5 }],
    ['"max"', { max: Number.MAX_SAFE_INTEGER }],
    ['"max"', { max: 2 ** 24 + 1 }],
    ['"clock"', { clock: 5 as never }],
    ['"maximum"', { maximum: 5 } as never],
  ])('a wrong one is a TypeError that names it: %s', (name, options) => {
    const make = () => new MemoryTokenStore(options);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^MemoryTokenStore: .*option ${name}`));
  });
});
