import { MemoryHolderStore } from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import { describe, expect, it, vi } from 'vitest';
import { hearWarnings } from '../../support/warnings.js';
import { CODE } from '../../support/wire.js';
import { FakeNodeRedis } from './redis-fakes.js';

describe('MemoryHolderStore', () => {
  it('knows a code in every spelling', async () => {
    const store = new MemoryHolderStore();
    await store.take(CODE, 'anna', 1);
    const spellings = [CODE.toUpperCase(), ` \u200b${CODE}\n`, CODE.replaceAll('-', '\u2013')];
    for (const code of spellings) {
      expect(await store.take(code, 'bert', 1)).toBe(false);
      expect(await store.holders(code)).toEqual(['anna']);
    }
    await store.release(spellings[0] as string, 'anna');
    expect(await store.holders(CODE)).toEqual([]);
  });

  it('takes a number for the text that the guards make of it', async () => {
    const store = new MemoryHolderStore();
    for (const id of [42 as never, '42']) expect(await store.take(CODE, id, 1)).toBe(true);
    await store.release(CODE, 42 as never);
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

it.each([
  ['MemoryHolderStore', new MemoryHolderStore()],
  [
    'RedisHolderStore',
    new RedisHolderStore({ client: new FakeNodeRedis().asClient, secret: 'x'.repeat(32) }),
  ],
])('%s takes neither a holder that is no id nor a blank code', async (name, store) => {
  const mistakes: [method: string, argument: string, call: () => Promise<unknown>][] = [
    ['take', 'code', () => store.take(' ', 'anna', 1)],
    ['release', 'code', () => store.release('\u200b')],
    ['holders', 'code', () => store.holders(undefined as never)],
    ['take', 'holder', () => store.take(CODE, undefined as never, 1)],
  ];
  for (const odd of [null, 2 ** 53, Number.NaN, {}, ['anna'], true] as unknown as string[]) {
    mistakes.push(['take', 'holder', () => store.take(CODE, odd, 1)]);
    mistakes.push(['release', 'holder', () => store.release(CODE, odd)]);
  }
  for (const [method, argument, call] of mistakes) {
    await expect(call()).rejects.toThrow(TypeError);
    await expect(call()).rejects.toThrow(`${name}.${method}: "${argument}" must be`);
  }
});
