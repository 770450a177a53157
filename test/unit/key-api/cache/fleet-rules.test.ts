import { afterEach, describe, expect, it, vi } from 'vitest';
import { DriftReports } from '../../../../src/diagnostics/drift.js';
import type { CacheLimits } from '../../../../src/key-api/cache/cache-options.js';
import { Fleet } from '../../../../src/key-api/cache/fleet.js';
import type { Answered } from '../../../../src/key-api/cache/flights.js';
import { Sealer } from '../../../../src/key-api/cache/sealer.js';
import { MemorySharedCache } from '../../../support/memory-shared-cache.js';

interface Thing {
  readonly n: number;
}

const SECRET = 'the secret of this fleet';
const LIMITS: CacheLimits = {
  max: 10,
  ttl: 100,
  staleWhileRevalidate: 1000,
  staleIfError: 5000,
  invalidTtl: 50,
  maxInvalid: 10,
};
const time = { now: 1_000_000 };
const sealer = new Sealer(SECRET);
const nameOf = (key: string): string => sealer.name(`purchase ${key}`);
const nothing = (): void => {};

/** Lets everything that is already decided come to its end. */
const settle = (): Promise<void> => new Promise(setImmediate);

interface Options {
  limits?: Partial<CacheLimits>;
  timeout?: number;
  secret?: () => string | Promise<string>;
}

/** One process of a fleet, before a service that numbers its answers. */
function processOf(shared: MemorySharedCache, options: Options = {}) {
  const { limits = {}, timeout = 10_000, secret = () => SECRET } = options;
  const clock = (): number => time.now;
  const self = {
    forgotten: [] as [string, string | undefined][],
    spent: [] as number[],
    kept: [] as Answered<Thing>[],
    says: async (): Promise<Thing | null> => ({ n: self.spent.length }),
    fleet: new Fleet(shared, {
      limits: { ...LIMITS, ...limits },
      clock,
      timeout,
      drift: new DriftReports(clock),
      shapes: {},
      secret,
      onForget: (kind, key) => self.forgotten.push([kind, key]),
    }),
    look: (key: string): Promise<Answered<Thing>> =>
      self.fleet.answer<Thing>(
        'purchase',
        key,
        async (spent) => {
          self.spent.push(spent);
          const at = time.now;
          return { value: await self.says(), at };
        },
        (stale) => self.kept.push(stale),
      ),
  };
  return self;
}

/** As {@link MemorySharedCache}, with what it was told. */
function sharedCache() {
  const shared = new MemorySharedCache();
  return { shared, set: vi.spyOn(shared, 'set'), lock: vi.spyOn(shared, 'lock') };
}

afterEach(() => {
  vi.useRealTimers();
  time.now = 1_000_000;
});

describe('the lock', () => {
  it('is that of the row, and lives two seconds', async () => {
    const { shared, lock } = sharedCache();
    await processOf(shared).look('a');
    expect(lock.mock.calls).toEqual([[`${nameOf('a')}.lock`, 2000]]);
  });

  it.each([
    ['half of the timeout', 400, 200],
    ['two seconds, however long the timeout', 60_000, 2000],
  ])('that another holds is waited for %s', async (_name, timeout, patience) => {
    vi.useFakeTimers();
    const { shared, lock } = sharedCache();
    lock.mockResolvedValue(undefined);
    const one = processOf(shared, { timeout });
    const found = one.look('a');
    await vi.advanceTimersByTimeAsync(patience - 1);
    expect(one.spent).toEqual([]);
    // It looks again once in 12.5 to 37.5 milliseconds.
    const looks = lock.mock.calls.length;
    expect(looks).toBeGreaterThanOrEqual(patience / 38);
    expect(looks).toBeLessThanOrEqual(patience / 12);
    await vi.advanceTimersByTimeAsync(39);
    expect((await found).value).toEqual({ n: 1 });
    expect(one.spent[0]).toBeGreaterThanOrEqual(patience);
    // What was asked without the lock is shared all the same.
    await vi.advanceTimersByTimeAsync(0);
    expect(shared.values.size).toBe(1);
  });

  it('is given back when its holder finds that the answer has come meanwhile', async () => {
    const { shared, lock } = sharedCache();
    const other = processOf(shared);
    lock.mockImplementationOnce(async (key) => {
      await other.fleet.tell('purchase', 'a', { value: { n: 77 }, at: time.now });
      return MemorySharedCache.prototype.lock.call(shared, key);
    });
    const one = processOf(shared);
    expect(await one.look('a')).toEqual({ value: { n: 77 }, at: time.now });
    expect(one.spent).toEqual([]);
    await settle();
    expect(shared.locks.size).toBe(0);
  });

  it('is given back when the shared cache fails behind it, and the service is asked', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.look('b');
    const get = vi.spyOn(shared, 'get');
    get.mockResolvedValueOnce(undefined).mockRejectedValueOnce(new Error('down'));
    expect((await one.look('a')).value).toEqual({ n: 2 });
    await vi.waitFor(() => expect(shared.locks.size).toBe(0));
  });

  it('is given back only when the answer is there for who waits for it', async () => {
    const { shared, set } = sharedCache();
    let written: () => void = nothing;
    set.mockImplementationOnce(async (key, value) => {
      await new Promise<void>((resolve) => {
        written = resolve;
      });
      shared.values.set(key, value);
    });
    await processOf(shared).look('a');
    await settle();
    expect(shared.locks.size).toBe(1);
    written();
    await settle();
    await settle();
    expect(shared.locks.size).toBe(0);
  });

  it('is given back when the service fails, and the failure is passed on as it was', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    const failure = new Error('down');
    one.says = () => Promise.reject(failure);
    await expect(one.look('a')).rejects.toBe(failure);
    await settle();
    expect(shared.locks.size).toBe(0);
    expect(shared.values.size).toBe(0);
  });
});

describe('the answer of another process', () => {
  it('that is not fresh serves as the last resort when it is a yes, and a no not at all', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.fleet.tell('purchase', 'a', { value: { n: 7 }, at: time.now - 100 });
    await one.fleet.tell('purchase', 'b', { value: null, at: time.now - 49 });
    time.now += 1;
    expect((await one.look('a')).value).toEqual({ n: 1 });
    expect((await one.look('b')).value).toEqual({ n: 2 });
    // Looked at before the lock and under it.
    expect(one.kept.map(({ value }) => value)).toEqual([{ n: 7 }, { n: 7 }]);
  });

  it('is not waited for longer than a moment: that much of the call’s time is gone', async () => {
    vi.useFakeTimers();
    const { shared } = sharedCache();
    vi.spyOn(shared, 'get').mockReturnValue(new Promise(nothing));
    const one = processOf(shared);
    const found = one.look('a');
    await vi.advanceTimersByTimeAsync(1000);
    await found;
    // For the row of everything, and for its own.
    expect(one.spent[0]).toBeGreaterThanOrEqual(200);
    expect(one.spent[0]).toBeLessThan(300);
  });
});

describe('a message', () => {
  it('that comes before the secret is known breaks nothing', async () => {
    const { shared } = sharedCache();
    const subscribe = vi.spyOn(shared, 'subscribe').mockImplementation(async (onMessage) => {
      onMessage('of another fleet');
      onMessage(undefined);
      return async () => {};
    });
    const one = processOf(shared);
    await one.look('a');
    await one.look('b');
    expect(subscribe).toHaveBeenCalledOnce();
    expect(one.forgotten).toEqual([['', undefined]]);
  });

  it('about a key that reads like a time is about that key only', async () => {
    const { shared } = sharedCache();
    const [one, other] = [processOf(shared), processOf(shared)];
    await one.look('a');
    await settle();
    await one.fleet.forget('purchase', '99999999999999');
    expect((await other.look('a')).value).toEqual({ n: 1 });
    expect(other.spent).toEqual([]);
  });
});

describe('the secret', () => {
  it('is not waited for long: the fleet is done without, and nothing is asked of the shared cache', async () => {
    vi.useFakeTimers();
    const { shared } = sharedCache();
    const one = processOf(shared, { secret: () => new Promise(nothing) });
    const found = one.look('a');
    const forgotten = one.fleet.forget('purchase', 'b');
    await vi.advanceTimersByTimeAsync(1000);
    expect((await found).value).toEqual({ n: 1 });
    expect(one.spent[0]).toBeGreaterThanOrEqual(100);
    expect(one.spent[0]).toBeLessThanOrEqual(1000);
    await forgotten;
    expect([...shared.calls, ...shared.messages]).toEqual([]);
  });

  it('that fails is one that is not there, also when an invalidation is to be told', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared, { secret: () => Promise.reject(new Error('vault')) });
    expect((await one.look('a')).value).toEqual({ n: 1 });
    await one.fleet.forget('purchase', 'a');
    await one.fleet.erase('purchase', 'a', { value: null, at: time.now });
    expect([...shared.calls, ...shared.messages]).toEqual([]);
  });

  it('that has changed shares nothing with the old one, and listens once all the same', async () => {
    const { shared } = sharedCache();
    let secret = SECRET;
    const one = processOf(shared, { secret: () => secret });
    await one.look('a');
    await settle();
    secret = 'another';
    expect((await one.look('a')).value).toEqual({ n: 2 });
    await settle();
    expect(shared.values.size).toBe(2);
    expect(shared.listeners).toBe(1);
  });

  it('that stays is made keys of once: the row of everything is read with the first call', async () => {
    const { shared } = sharedCache();
    const get = vi.spyOn(shared, 'get');
    const one = processOf(shared);
    await one.look('a');
    await one.look('b');
    const everything = get.mock.calls.filter(([name]) => name === sealer.name('everything'));
    expect(everything).toHaveLength(1);
  });
});

describe('an invalidation of one key', () => {
  it('is heard as its kind and its key, whatever is in the key', async () => {
    const { shared } = sharedCache();
    const [one, two] = [processOf(shared), processOf(shared)];
    await two.look('b');
    await one.fleet.forget('purchase', 'a b');
    await one.fleet.forget('items', '');
    expect(two.forgotten).toEqual([
      ['purchase', 'a b'],
      ['items', ''],
    ]);
  });

  it.each([
    ['of this process', 0],
    ['of another', 1],
  ])('%s keeps what is being asked from being shared, and nothing else', async (_name, by) => {
    const { shared } = sharedCache();
    const fleet = [processOf(shared), processOf(shared)] as const;
    const [one] = fleet;
    await Promise.all(fleet.map((each, i) => each.look(`warm-${i}`)));
    await settle();
    shared.values.clear();
    let answer: (value: Thing) => void = nothing;
    const said = new Promise<Thing>((resolve) => {
      answer = resolve;
    });
    one.says = () => said;
    const looks = [one.look('a'), one.look('b')];
    await vi.waitFor(() => expect(one.spent).toHaveLength(3));
    await fleet[by as 0 | 1].fleet.forget('purchase', 'a');
    answer({ n: 9 });
    expect((await Promise.all(looks)).map(({ value }) => value)).toEqual([{ n: 9 }, { n: 9 }]);
    await settle();
    await settle();
    expect([...shared.values.keys()]).toEqual([nameOf('b')]);
  });

  it('that comes while the answer is being written takes it away again', async () => {
    const { shared, set } = sharedCache();
    const one = processOf(shared);
    set.mockImplementationOnce(async (key, value) => {
      await one.fleet.forget('purchase', 'a');
      shared.values.set(key, value);
    });
    await one.look('a');
    await settle();
    await settle();
    expect(shared.values.size).toBe(0);
  });

  it.each(['delete', 'publish'] as const)(
    'whose %s fails is not forgotten: the row is not believed until it could be told',
    async (method) => {
      const { shared } = sharedCache();
      const one = processOf(shared);
      await one.look('a');
      await settle();
      const [row] = shared.values;
      const fails = vi.spyOn(shared, method).mockRejectedValue(new Error('down'));
      await one.fleet.forget('purchase', 'a');
      if (row) shared.values.set(...row);
      expect((await one.look('a')).value).toEqual({ n: 2 });
      fails.mockRestore();
      // The connection is back: what was missed is unknown, and what could not be told is told now.
      await shared.publish(undefined);
      await settle();
      await settle();
      expect(shared.values.size).toBe(0);
      expect(shared.messages.filter((message) => message !== undefined)).not.toEqual([]);
      expect(one.forgotten).toContainEqual(['', undefined]);
      await one.look('a');
      await settle();
      expect(await one.look('a')).toMatchObject({ value: { n: 3 } });
    },
  );

  it('that could be told leaves no mark: the next answer is shared again', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.look('a');
    await one.fleet.forget('purchase', 'a');
    expect((await one.look('a')).value).toEqual({ n: 2 });
    await settle();
    expect((await processOf(shared).look('a')).value).toEqual({ n: 2 });
    expect((await one.look('a')).value).toEqual({ n: 2 });
  });

  it('is told of a no only when that is there to be found', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    const order: string[] = [];
    const { publish, set } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'set').mockImplementation(async (...given) => {
      order.push('set');
      await set.apply(shared, given);
    });
    vi.spyOn(shared, 'publish').mockImplementation(async (...given) => {
      order.push('publish');
      await publish.apply(shared, given);
    });
    await one.fleet.erase('purchase', 'a', { value: null, at: time.now });
    expect(order).toEqual(['set', 'publish']);
    expect(one.forgotten).toEqual([['purchase', 'a']]);
  });
});

describe('an invalidation of everything', () => {
  it('is kept for as long as any answer may be, and at least for a moment', async () => {
    for (const [limits, life] of [
      [{}, 5000],
      [{ ttl: 7000 }, 7000],
      [{ ttl: 0, staleIfError: 0 }, 1],
    ] as const) {
      const { shared, set } = sharedCache();
      await processOf(shared, { limits }).fleet.forgetAll();
      expect(set.mock.calls).toEqual([[sealer.name('everything'), expect.any(String), life]]);
    }
  });

  it('is about all that was asked for until then, to the millisecond', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.fleet.forgetAll();
    await one.fleet.tell('purchase', 'a', { value: { n: 70 }, at: time.now });
    await one.fleet.tell('purchase', 'b', { value: { n: 80 }, at: time.now + 1 });
    time.now += 1;
    for (const each of [one, processOf(shared)]) {
      expect((await each.look('b')).value).toEqual({ n: 80 });
      each.says = () => Promise.reject(new Error('asked'));
      await expect(each.look('a')).rejects.toThrow('asked');
      expect(each.kept).toEqual([]);
    }
  });

  it('is heard by the others: they forget all, and believe no row of before', async () => {
    const { shared } = sharedCache();
    const [one, two] = [processOf(shared), processOf(shared)];
    await two.look('a');
    await settle();
    await one.fleet.forgetAll();
    expect(two.forgotten).toEqual([['everything', undefined]]);
    expect((await two.look('a')).value).toEqual({ n: 2 });
  });

  it('keeps all that is being asked anywhere from being shared', async () => {
    const { shared } = sharedCache();
    const [one, two] = [processOf(shared), processOf(shared)];
    let answer: (value: Thing) => void = nothing;
    const said = new Promise<Thing>((resolve) => {
      answer = resolve;
    });
    one.says = () => said;
    two.says = () => said;
    const looks = [one.look('a'), two.look('b')];
    await vi.waitFor(() => expect([...one.spent, ...two.spent]).toHaveLength(2));
    await one.fleet.forgetAll();
    answer({ n: 1 });
    await Promise.all(looks);
    await settle();
    await settle();
    expect([...shared.values.keys()]).toEqual([sealer.name('everything')]);
  });

  it('that was missed is read when the connection is back', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.look('a');
    await settle();
    const row = sealer.seal(sealer.name('everything'), String(time.now));
    shared.values.set(sealer.name('everything'), row);
    expect((await one.look('a')).value).toEqual({ n: 1 });
    await shared.publish(undefined);
    await settle();
    expect((await one.look('a')).value).toEqual({ n: 2 });
  });

  it('that is older than one of before changes nothing', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.fleet.forgetAll();
    const message = sealer.seal('invalidation', `everything ${time.now - 500}`);
    await shared.publish(message);
    await one.fleet.tell('purchase', 'a', { value: { n: 70 }, at: time.now - 50 });
    expect((await one.look('a')).value).toEqual({ n: 1 });
  });

  it('takes the place of a thousand that could not be told', async () => {
    const { shared, set } = sharedCache();
    const one = processOf(shared);
    await one.look('a');
    await settle();
    set.mockClear();
    vi.spyOn(shared, 'delete').mockRejectedValue(new Error('down'));
    for (let i = 0; i < 1000; i++) await one.fleet.forget('purchase', `code-${i}`);
    expect((await one.look('a')).value).toEqual({ n: 1 });
    expect(set).not.toHaveBeenCalled();
    await one.fleet.forget('purchase', 'code-1000');
    expect(set.mock.calls.map(([name]) => name)).toEqual([sealer.name('everything')]);
    expect(one.forgotten).toContainEqual(['everything', undefined]);
    expect((await one.look('a')).value).toEqual({ n: 2 });
  });

  it('that could not be told is told when the connection is back', async () => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.look('a');
    const fails = vi.spyOn(shared, 'set').mockRejectedValue(new Error('down'));
    await one.fleet.forgetAll();
    fails.mockRestore();
    const heard = shared.messages.length;
    await shared.publish(undefined);
    await settle();
    await settle();
    expect(shared.values.has(sealer.name('everything'))).toBe(true);
    expect(shared.messages.length).toBe(heard + 2);
    // And only once.
    await shared.publish(undefined);
    await settle();
    expect(shared.messages.length).toBe(heard + 3);
  });
});

describe('a message', () => {
  it.each([
    ['of another fleet', new Sealer('another').seal('invalidation', 'purchase a')],
    ['sealed for something else', sealer.seal(nameOf('a'), 'purchase a')],
    ['in clear', 'purchase a'],
    ['that is empty', ''],
  ])('%s makes nobody forget', async (_name, message) => {
    const { shared } = sharedCache();
    const one = processOf(shared);
    await one.look('a');
    await shared.publish(message);
    expect(one.forgotten).toEqual([]);
  });
});
