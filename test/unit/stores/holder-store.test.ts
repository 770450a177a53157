import { type HolderStore, MemoryHolderStore } from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import { describe, expect, it, vi } from 'vitest';
import { heldCode } from '../../../src/stores/holder-store.js';
import { hearWarnings } from '../../support/warnings.js';
import { CODE } from '../../support/wire.js';
import { FakeNodeRedis } from './redis-fakes.js';

describe('MemoryHolderStore', () => {
  it('knows a code in every spelling', async () => {
    const store = new MemoryHolderStore();
    await store.release(CODE, 'nobody');
    await store.take(CODE, 'anna', 1);
    // Another spelling in the next version would free all codes that are stored.
    expect(heldCode('test', CODE.toUpperCase())).toBe(CODE);
    const spellings = [CODE.toUpperCase(), ` \u200b${CODE}\n`, CODE.replace('-', '\uff0d')];
    for (const code of spellings) {
      expect(await store.take(code, 'bert', 1)).toBe(false);
      expect(await store.holders(code)).toEqual(['anna']);
    }
    await store.release(spellings[0] as string, 'anna');
    expect(await store.holders(CODE)).toEqual([]);
  });

  it('forgets a code whose last cooldown has ended', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const store = new MemoryHolderStore({ cooldown: 1000 });
    await store.take(CODE, 'anna', 1);
    await store.release(CODE);
    vi.advanceTimersByTime(999);
    expect(await store.take(CODE, 'bert', 1)).toBe(false);
    vi.advanceTimersByTime(1);
    expect([await store.take(CODE, 'bert', 1), await store.holders(CODE)]).toEqual([
      true,
      ['bert'],
    ]);
  });

  it.each([-1, 1.5, '5'])('takes no cooldown of %j', (cooldown) => {
    const wrong = 'HolderStore: option "cooldown" must be a whole number';
    const options = { cooldown: cooldown as number };
    expect(() => new MemoryHolderStore(options)).toThrow(wrong);
    const client = new FakeNodeRedis().asClient;
    const secret = 'x'.repeat(32);
    expect(() => new RedisHolderStore({ client, secret, ...options })).toThrow(wrong);
  });

  it('gives copies', async () => {
    const store = new MemoryHolderStore();
    await store.take(CODE, 'anna', 1);
    (await store.holders(CODE)).push('bert');
    expect(await store.holders(CODE)).toEqual(['anna']);
  });

  it.each([
    ['production', ['MARKETGATE_HOLDERS_IN_MEMORY']],
    ['development', []],
    [undefined, []],
  ])('warns once in production: NODE_ENV=%s', (environment, expected) => {
    vi.stubEnv('NODE_ENV', environment);
    const warnings = hearWarnings();
    new MemoryHolderStore();
    new MemoryHolderStore();
    expect(warnings).toEqual(expected);
  });
});

describe.each<[string, () => HolderStore]>([
  ['MemoryHolderStore', () => new MemoryHolderStore()],
  [
    'RedisHolderStore',
    () => new RedisHolderStore({ client: new FakeNodeRedis().asClient, secret: 'x'.repeat(32) }),
  ],
])('%s checks', (name, make) => {
  it.each<[string, unknown[]]>([
    ['take: "code"', ['take', ' ', 'anna', 1]],
    ['take: "code"', ['take', undefined, 'anna', 1]],
    ['take: "holder"', ['take', CODE, '', 1]],
    ['take: "holder" must be a non-empty string, as in String(', ['take', CODE, 7, 1]],
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', undefined].map(
      (max): [string, unknown[]] => ['take: "max"', ['take', CODE, 'anna', max]],
    ),
    ['release: "code"', ['release', '\u200b']],
    // An id that was not found must not release all.
    ['release: "holder"', ['release', CODE, null]],
    ['release: "holder"', ['release', CODE, '']],
    ['release: "holder" must be a non-empty string, as in String(', ['release', CODE, 7]],
    ['holders: "code"', ['holders', '']],
  ])('%s of %j', async (words, [method, ...args]) => {
    const store = make() as unknown as Record<string, (...args: unknown[]) => unknown>;
    const call = Promise.resolve(store[method as string]?.(...args));
    await expect(call).rejects.toThrow(TypeError);
    await expect(call).rejects.toThrow(`${name}.${words}`);
  });
});
