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
    expect(await store.take(CODE, 'bert', 1)).toBe(true);
    expect(await store.holders(CODE)).toEqual(['bert']);
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

const client = new FakeNodeRedis().asClient;
const secret = 'x'.repeat(32);
const MAKERS: Record<string, (options?: object) => HolderStore> = {
  MemoryHolderStore: (options) => new MemoryHolderStore(options),
  RedisHolderStore: (options) => new RedisHolderStore({ client, secret, ...options }),
};

it.each(Object.entries(MAKERS))(
  '%s takes no blank code, and no wrong option',
  async (name, make) => {
    const store = make();
    for (const [method, call] of Object.entries({
      take: () => store.take(' ', 'anna', 1),
      release: () => store.release('\u200b'),
      holders: () => store.holders(undefined as never),
    })) {
      await expect(call()).rejects.toThrow(TypeError);
      await expect(call()).rejects.toThrow(`${name}.${method}: "code"`);
    }
    for (const cooldown of [-1, 1.5, '5']) {
      expect(() => make({ cooldown })).toThrow(`${name}: option "cooldown" must be a whole number`);
    }
  },
);
