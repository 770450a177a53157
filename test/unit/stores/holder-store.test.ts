import { type HolderStore, MemoryHolderStore } from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import { describe, expect, it, vi } from 'vitest';
import { hearWarnings } from '../../support/warnings.js';
import { CODE } from '../../support/wire.js';
import { FakeNodeRedis } from './redis-fakes.js';

describe('MemoryHolderStore', () => {
  it('knows a code in every spelling', async () => {
    const store = new MemoryHolderStore();
    await store.take(CODE, 'anna', 1);
    const spellings = [
      CODE.toUpperCase(),
      ` \u200b${CODE}\n`,
      CODE.replace('-', '\uff0d'),
      CODE.replaceAll('-', '\u2013 \u034f'),
    ];
    for (const code of spellings) {
      expect(await store.take(code, 'bert', 1)).toBe(false);
      expect(await store.holders(code)).toEqual(['anna']);
    }
    await store.release(spellings[0] as string, 'anna');
    expect(await store.holders(CODE)).toEqual([]);
  });

  it('takes half of a surrogate pair for what every other store makes of it', async () => {
    const store = new MemoryHolderStore();
    await store.take(CODE, 'site\ud800', 1);
    expect(await store.take(CODE, 'site\udfff', 1)).toBe(true);
    expect(await store.holders(CODE)).toEqual(['site\ufffd']);
    await store.release(CODE, 'site\udc00');
    expect(await store.holders(CODE)).toEqual([]);
  });

  it('takes a number for the text that the guards make of it', async () => {
    const store = new MemoryHolderStore();
    const id = 42 as unknown as string;
    expect([await store.take(CODE, id, 1), await store.take(CODE, '42', 1)]).toEqual([true, true]);
    await store.release(CODE, id);
    expect(await store.holders(CODE)).toEqual([]);
  });

  it.each([
    ['production', ['MARKETGATE_HOLDERS_IN_MEMORY']],
    ['development', []],
  ])('warns once in production: NODE_ENV=%s', (environment, expected) => {
    vi.stubEnv('NODE_ENV', environment);
    const warnings = hearWarnings();
    for (const _twice of [1, 2]) new MemoryHolderStore();
    expect(warnings).toEqual(expected);
  });
});

const STORES: [string, HolderStore][] = [
  ['MemoryHolderStore', new MemoryHolderStore()],
  [
    'RedisHolderStore',
    new RedisHolderStore({ client: new FakeNodeRedis().asClient, secret: 'x'.repeat(32) }),
  ],
];

it.each(STORES)('%s takes nothing for a holder that is no id', async (name, store) => {
  for (const odd of [null, 2 ** 53, Number.NaN, {}, ['anna'], true] as unknown as string[]) {
    for (const method of ['take', 'release'] as const) {
      await expect(store[method](CODE, odd, 1)).rejects.toThrow(
        new TypeError(
          `${name}.${method}: "holder" must be text, a whole number up to 2^53 - 1, or a bigint`,
        ),
      );
    }
  }
  await expect(store.take(CODE, undefined as never, 1)).rejects.toThrow(TypeError);
});

it.each(STORES)('%s takes no blank code', async (name, store) => {
  for (const [method, call] of Object.entries({
    take: () => store.take(' ', 'anna', 1),
    release: () => store.release('\u200b'),
    holders: () => store.holders(undefined as never),
  })) {
    await expect(call()).rejects.toThrow(TypeError);
    await expect(call()).rejects.toThrow(`${name}.${method}: "code"`);
  }
});
