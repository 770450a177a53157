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

  it('ends a token at expiresAt to the millisecond', async () => {
    const time = new HandClock();
    const store = new MemoryTokenStore({ clock: time.clock });
    await store.set('a', tokenOf());
    time.advance(HOUR - 1);
    expect(await store.get('a')).toEqual(tokenOf());
    time.advance(1);
    expect(await store.get('a')).toBeUndefined();
  });

  it('works with the real clock by default', async () => {
    const store = new MemoryTokenStore();
    const token = tokenOf(SECRET, Date.now());
    await store.set('a', token);
    expect(await store.get('a')).toEqual(token);
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
    const store = new MemoryTokenStore({ max: 1, maxClaims: 1, clock: () => NOW });
    await store.set('a', tokenOf());
    for (let name = 0; name < 100; name++) await store.claim(`${name}`, HOUR);
    expect(await store.get('a')).toEqual(tokenOf());
    await store.claim('spent', HOUR);
    for (let user = 0; user < 100; user++) await store.set(`${user}`, tokenOf());
    expect(await store.claim('spent', HOUR)).toBe(false);
  });

  it('survive 50,000 others that are running', async () => {
    const store = new MemoryTokenStore({ clock: () => NOW });
    await store.claim('spent', HOUR);
    for (let name = 0; name < 50_000; name++) await store.claim(`${name}`, HOUR);
    expect(await store.claim('spent', HOUR)).toBe(false);
  });

  it('make room by those that are over before one that is running', async () => {
    const time = new HandClock();
    const store = new MemoryTokenStore({ maxClaims: 3, clock: time.clock });
    await store.claim('spent', HOUR);
    await store.claim('short', 1000);
    await store.claim('longer', 2000);
    time.advance(1000);
    await store.claim('in place of short', HOUR);
    time.advance(1000);
    await store.claim('in place of longer', HOUR);
    expect(await store.claim('spent', HOUR)).toBe(false);
  });

  it('lose the oldest one only when all are running and there is no room', async () => {
    const store = new MemoryTokenStore({ maxClaims: 3, clock: () => NOW });
    for (const name of ['a', 'b', 'c', 'd']) await store.claim(name, HOUR);
    expect(await store.claim('b', HOUR)).toBe(false);
    expect(await store.claim('d', HOUR)).toBe(false);
    expect(await store.claim('a', HOUR)).toBe(true);
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
    ['max', { max: 0 }],
    ['max', { max: -1 }],
    ['max', { max: 1.5 }],
    ['max', { max: Number.MAX_SAFE_INTEGER }],
    ['maxClaims', { maxClaims: 0 }],
    ['maxClaims', { maxClaims: 2 ** 24 + 1 }],
    ['maxClaims', { maxClaims: Number.NaN }],
    ['clock', { clock: 5 as never }],
    ['maximum', { maximum: 5 } as never],
  ])('a wrong "%s" is a TypeError that names it', (name, options) => {
    const make = () => new MemoryTokenStore(options);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^MemoryTokenStore: .*option "${name}"`));
  });

  it('takes as many claims as fit into a Map', () => {
    expect(() => new MemoryTokenStore({ maxClaims: 2 ** 24 })).not.toThrow();
  });
});
