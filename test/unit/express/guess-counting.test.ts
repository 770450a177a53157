import { type GuessLimit, MarketgateError, requirePurchase } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { Line, Lines } from '../../../src/express/guess-limit/line.js';
import {
  checkGuessLimitOptions,
  MemoryGuessLimit,
} from '../../../src/stores/guess-limit/memory-guess-limit.js';

const guess = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

describe('the counter of one process', () => {
  async function atNoon(use: (limit: MemoryGuessLimit) => Promise<void>): Promise<void> {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_900_000_000_000 });
    try {
      await use(new MemoryGuessLimit(checkGuessLimitOptions('x', { limit: 3, window: 60_000 })));
    } finally {
      vi.useRealTimers();
    }
  }

  it('tells what is left, and when there will be more', () =>
    atNoon(async (limit) => {
      expect(await limit.left('a')).toEqual({ left: 3, retryAfter: 0 });
      await limit.count('a');
      await limit.count('a');
      vi.advanceTimersByTime(0);
      expect(await limit.left('a')).toEqual({ left: 1, retryAfter: 60 });
      expect(await limit.left('b')).toEqual({ left: 3, retryAfter: 0 });
      vi.setSystemTime(1_900_000_000_500);
      expect(await limit.left('a')).toEqual({ left: 1, retryAfter: 60 });
      vi.setSystemTime(1_900_000_059_001);
      expect(await limit.left('a')).toEqual({ left: 1, retryAfter: 1 });
      vi.setSystemTime(1_900_000_060_000);
      expect(await limit.left('a')).toEqual({ left: 3, retryAfter: 0 });
    }));

  it('is ten a minute when nothing is said, by address', () => {
    const settings = checkGuessLimitOptions('x', {});
    expect(settings).toMatchObject({ limit: 10, window: 60_000 });
    expect(settings.by({ ip: '::ffff:10.0.0.1' } as never)).toBe('10.0.0.1');
  });
});

describe('a line of guesses', () => {
  const full = { left: 0, retryAfter: 0 };

  it('refuses who has no guess left, and names a time that is not zero', async () => {
    const error = await new Line(async () => full).enter(guess(1)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(MarketgateError);
    expect(error).toMatchObject({
      code: 'too_many_attempts',
      retryAfter: 1,
      message: expect.stringContaining('too many'),
    });
  });

  it('lets everybody on when the counter throws, rejects or cannot be read', async () => {
    const line = new Line(() => {
      throw new Error('down');
    });
    for (let i = 0; i < 50; i++) expect(await line.enter(guess(i))).toBeTypeOf('function');
  });

  it('lets no more on at a time than are left, and the next when one is done', async () => {
    const line = new Line(async () => ({ left: 2, retryAfter: 1 }));
    const [first, second] = [await line.enter(guess(1)), await line.enter(guess(2))];
    let isIn = false;
    const third = line.enter(guess(3)).then((leave) => {
      isIn = true;
      return leave;
    });
    await new Promise(setImmediate);
    expect(isIn).toBe(false);
    expect(line.isEmpty).toBe(false);
    second?.();
    const leave = await third;
    expect(isIn).toBe(true);
    first?.();
    expect(line.isEmpty).toBe(false);
    leave?.();
    expect(line.isEmpty).toBe(true);
  });

  it('who asks about a code that is asked about already takes no place of their own', async () => {
    const line = new Line(async () => ({ left: 1, retryAfter: 1 }));
    const leave = await line.enter(guess(1));
    expect(await line.enter(guess(1))).toBeUndefined();
    leave?.();
    expect(await line.enter(guess(1))).toBeTypeOf('function');
  });

  it('goes on behind who was refused', async () => {
    let isFull = true;
    const line = new Line(async () => (isFull ? full : { left: 1, retryAfter: 0 }));
    const refused = line.enter(guess(1));
    const next = refused.catch(() => {
      isFull = false;
      return line.enter(guess(2));
    });
    await expect(refused).rejects.toThrow();
    expect(await next).toBeTypeOf('function');
  });

  it('is not empty while somebody waits for the counter', async () => {
    const line = new Line(async () => ({ left: 1, retryAfter: 0 }));
    const entering = line.enter(guess(1));
    expect(line.isEmpty).toBe(false);
    (await entering)?.();
    expect(line.isEmpty).toBe(true);
  });

  it('is not taken from who came anew by who left the one before', async () => {
    const lines = new Lines();
    const left = async () => ({ left: 5, retryAfter: 0 });
    const first = lines.inLine('a', left, async () => {});
    const late = lines.inLine('a', left, async () => {
      for (let turn = 0; turn < 20; turn++) await null;
    });
    await first.then(() => lines.inLine('a', left, (line) => line.enter(guess(1))));
    await late;
    expect(lines.size).toBe(1);
  });

  it('is kept for as long as one of several is in it, and passes on what they give', async () => {
    const lines = new Lines();
    const left = async () => ({ left: 5, retryAfter: 0 });
    const seen: Line[] = [];
    let leave: (() => void) | undefined;
    const result = await lines.inLine('a', left, async (line) => {
      seen.push(line);
      leave = await line.enter(guess(1));
      return 'given';
    });
    expect(result).toBe('given');
    expect(lines.size).toBe(1);
    await lines.inLine('a', left, async (line) => {
      seen.push(line);
      leave?.();
    });
    expect(lines.size).toBe(0);
    expect(seen[1]).toBe(seen[0]);
  });
});

describe('a counter of the app’s own', () => {
  function guardWith(limit: GuessLimit) {
    const keyApi = { validatePurchase: vi.fn(async () => null) };
    const guard = requirePurchase(keyApi, { guessLimit: limit });
    const ask = (code: string): Promise<unknown> =>
      new Promise((resolve) =>
        guard(
          { headers: { 'x-purchase-code': code } } as never,
          { locals: {} } as never,
          resolve as never,
        ),
      );
    return { ask, keyApi };
  }

  it('is asked about who it says, counts for them, and is obeyed', async () => {
    const counted: string[] = [];
    const limit: GuessLimit = {
      by: () => 'them',
      left: async (who) => ({ left: who === 'them' ? 2 - counted.length : 0, retryAfter: 7.5 }),
      count: async (who) => void counted.push(who),
    };
    const { ask, keyApi } = guardWith(limit);
    expect(await ask(guess(1))).toMatchObject({ code: 'purchase_code_invalid' });
    expect(await ask(guess(2))).toMatchObject({ code: 'purchase_code_invalid' });
    expect(await ask(guess(3))).toMatchObject({ code: 'too_many_attempts', retryAfter: 7.5 });
    expect(counted).toEqual(['them', 'them']);
    expect(keyApi.validatePurchase).toHaveBeenCalledTimes(2);
  });

  it.each(['by', 'left', 'count'] as const)('must have "%s"', (method) => {
    const whole = { by: () => 'x', left: vi.fn(), count: vi.fn() };
    const make = (limit: object) => () =>
      requirePurchase({ validatePurchase: vi.fn() }, { guessLimit: limit as GuessLimit });
    expect(make(whole)).not.toThrow();
    expect(make({ ...whole, [method]: undefined })).toThrow(/guessLimit: /);
  });

  it('one that fails does not keep the next guess waiting', async () => {
    const { ask } = guardWith({
      by: () => 'x',
      left: async () => ({ left: 1, retryAfter: 0 }),
      count: async () => Promise.reject(new Error('down')),
    });
    const answers = await Promise.all([ask(guess(1)), ask(guess(2)), ask(guess(3))]);
    for (const answer of answers) expect(answer).toMatchObject({ code: 'purchase_code_invalid' });
  });

  it('two who ask about one wrong code at once are both told, and counted once', async () => {
    const count = vi.fn(async () => {});
    const { ask } = guardWith({
      by: () => 'x',
      left: async () => ({ left: 5, retryAfter: 0 }),
      count,
    });
    for (const answer of await Promise.all([ask(guess(1)), ask(guess(1))])) {
      expect(answer).toMatchObject({ code: 'purchase_code_invalid' });
    }
    expect(count).toHaveBeenCalledTimes(1);
  });

  it('an outage in the middle frees the place', async () => {
    const down = new MarketgateError('service_unavailable', 'x');
    const keyApi = { validatePurchase: vi.fn(async () => Promise.reject(down)) };
    const limit: GuessLimit = {
      by: () => 'x',
      left: async () => ({ left: 1, retryAfter: 0 }),
      count: vi.fn(),
    };
    const guard = requirePurchase(keyApi, { guessLimit: limit });
    for (const i of [1, 2]) {
      const error = await new Promise((resolve) =>
        guard(
          { headers: { 'x-purchase-code': guess(i) } } as never,
          { locals: {} } as never,
          resolve as never,
        ),
      );
      expect(error).toBe(down);
    }
    expect(limit.count).not.toHaveBeenCalled();
  });
});
