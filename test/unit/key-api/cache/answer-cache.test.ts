import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { MarketgateError } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AnswerCache } from '../../../../src/key-api/cache/answer-cache.js';
import type { AskHow, FleetSpace } from '../../../../src/key-api/cache/ask.js';
import type { CacheLimits } from '../../../../src/key-api/cache/cache-options.js';

interface Thing {
  readonly n: number;
}

const LIMITS: CacheLimits = {
  max: 3,
  ttl: 100,
  staleWhileRevalidate: 1000,
  staleIfError: 5000,
  invalidTtl: 50,
  maxInvalid: 3,
};
const down = () => new MarketgateError('service_unavailable', 'down');

/** Lets everything that is already decided come to its end. */
const settle = (): Promise<void> => new Promise(setImmediate);

/** A cache before a service that the test plays. */
function cacheOf(limits: Partial<CacheLimits> = {}, fleet?: FleetSpace<Thing>) {
  const asked: { key: string; how: AskHow }[] = [];
  const state = {
    now: 1_000_000,
    /** What the service says; it numbers its answers. */
    says: async (): Promise<Thing | null> => ({ n: asked.length }),
  };
  const settled: string[] = [];
  const cache = new AnswerCache<Thing>(
    'purchase',
    { ...LIMITS, ...limits },
    () => state.now,
    (key, how) => {
      asked.push({ key, how });
      return state.says();
    },
    (value, key) => {
      settled.push(key);
      return value;
    },
    fleet,
  );
  return Object.assign(state, { asked, settled, cache });
}

/** What is told about lookups while the test runs. */
function lookups(): unknown[] {
  const told: unknown[] = [];
  const listen = (message: unknown): void => void told.push(message);
  subscribe('marketgate:lookup', listen);
  onTestFinished(() => void unsubscribe('marketgate:lookup', listen));
  return told;
}

const later = <T>() => {
  let end: { resolve: (value: T) => void; reject: (error: unknown) => void } | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    end = { resolve, reject };
  });
  return { promise, ...(end as NonNullable<typeof end>) };
};

describe('the moments at which an answer changes its age', () => {
  it('a yes is stale from ttl on, and awaited from ttl and staleWhileRevalidate on', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.now += 99;
    expect(self.cache.lookFresh('a')?.value).toEqual({ n: 1 });
    self.cache.look('a');
    expect(self.asked).toHaveLength(1);
    self.now += 1;
    expect(self.cache.lookFresh('a')).toBeUndefined();
    expect(self.asked).toHaveLength(1);
    self.says = () => new Promise(() => {});
    self.now += 999;
    expect(self.cache.look('a')?.value).toEqual({ n: 1 });
    expect(self.asked).toHaveLength(2);
    self.now += 1;
    expect(self.cache.look('a')).toBeUndefined();
  });

  it('is served in the very millisecond in which it was asked for', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    expect(self.cache.look('a')?.value).toEqual({ n: 1 });
    expect(self.cache.lookFresh('a')?.value).toEqual({ n: 1 });
    expect(self.cache.lastResort('a', down())?.value).toEqual({ n: 1 });
    self.says = async () => null;
    expect(await self.cache.get('b', {})).toBeNull();
    expect(self.cache.look('b')).toEqual({ value: null, at: self.now });
  });

  it('is not served by a clock that was set back by a millisecond: neither yes nor no', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.says = async () => null;
    await self.cache.get('b', {});
    self.now -= 1;
    expect(self.cache.look('a')).toBeUndefined();
    expect(self.cache.lookFresh('a')).toBeUndefined();
    expect(self.cache.lastResort('a', down())).toBeUndefined();
    expect(self.cache.look('b')).toBeUndefined();
  });

  it('is never served stale for longer than it may be in an outage', async () => {
    const self = cacheOf({ staleIfError: 10 });
    await self.cache.get('a', {});
    self.now += 109;
    self.says = () => new Promise(() => {});
    expect(self.cache.look('a')).toBeDefined();
    self.now += 1;
    expect(self.cache.look('a')).toBeUndefined();
  });

  it('is counted from when the service was asked, however long it thought', async () => {
    const self = cacheOf();
    self.says = async () => {
      self.now += 60;
      return { n: 7 };
    };
    await self.cache.get('a', {});
    self.now += 39;
    expect(self.cache.lookFresh('a')).toBeDefined();
    self.now += 1;
    expect(self.cache.lookFresh('a')).toBeUndefined();
  });

  it('a no is served until invalidTtl, and not as fresh', async () => {
    const self = cacheOf();
    self.says = async () => null;
    await self.cache.get('a', {});
    self.now += 49;
    expect(self.cache.look('a')?.value).toBeNull();
    expect(self.cache.lookFresh('a')).toBeUndefined();
    self.now += 1;
    expect(self.cache.look('a')).toBeUndefined();
    expect(self.cache.lastAsked('a')).toBe(self.now - 50);
  });
});

describe('the sizes', () => {
  it('a yes pushes out the oldest yes, a no the oldest no, and neither the other', async () => {
    const self = cacheOf({ max: 2, maxInvalid: 1 });
    for (const key of ['a', 'b', 'c']) await self.cache.get(key, {});
    self.says = async () => null;
    for (const key of ['x', 'y']) await self.cache.get(key, {});
    const kept = ['a', 'b', 'c', 'x', 'y'].filter((key) => self.cache.look(key) !== undefined);
    expect(kept).toEqual(['b', 'c', 'y']);
  });
});

describe('the last resort', () => {
  it.each([
    ['an error of ours that tells of the caller', new MarketgateError('item_id_invalid', 'x')],
    ['a mistake in the program', new TypeError('x')],
    ['what looks like an outage', Object.assign(new Error('x'), { status: 503 })],
  ])('does not serve for %s', async (_name, error) => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.now += 2000;
    self.says = () => Promise.reject(error);
    await expect(self.cache.get('a', {})).rejects.toBe(error);
  });

  it('serves until staleIfError, and not to who wants it fresh', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.says = () => Promise.reject(down());
    self.now += 4999;
    expect(await self.cache.get('a', {})).toEqual({ n: 1 });
    await expect(self.cache.get('a', { fresh: true })).rejects.toThrow('down');
    self.now += 1;
    await expect(self.cache.get('a', {})).rejects.toThrow('down');
  });

  it('does not serve who has left: it gets the reason it left with', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.now += 2000;
    const leaving = new AbortController();
    const reason = down();
    const answer = later<Thing | null>();
    self.says = () => answer.promise;
    const left = self.cache.get('a', { signal: leaving.signal });
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
    answer.resolve(null);
  });

  it('lets nobody in who left before he asked, and does not ask for him', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    const signal = AbortSignal.abort(new Error('left'));
    await expect(self.cache.get('a', { signal })).rejects.toThrow('left');
    await expect(self.cache.get('b', { signal })).rejects.toThrow('left');
    expect(self.asked).toHaveLength(1);
  });
});

describe('how the service is asked', () => {
  it('gravely, when a no would take a yes away', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    await self.cache.get('a', { fresh: true });
    expect(self.asked.map(({ how }) => how)).toEqual([
      { signal: undefined, isGrave: false, spent: 0 },
      { signal: undefined, isGrave: true, spent: 0 },
    ]);
  });

  it('with a signal, when nobody waits for the answer; close aborts it', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.now += 100;
    self.says = () => new Promise(() => {});
    self.cache.look('a');
    const signal = self.asked[1]?.how.signal;
    expect(signal?.aborted).toBe(false);
    self.cache.close();
    expect(signal?.aborted).toBe(true);
  });

  it('not behind any more once it is closed', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.now += 100;
    self.cache.close();
    expect(self.cache.look('a')).toBeDefined();
    await settle();
    expect(self.cache.look('a')).toBeDefined();
    expect(self.asked).toHaveLength(1);
  });

  it('by sixteen refreshes at once, and by more when those have ended, well or badly', async () => {
    const self = cacheOf({ max: 100 });
    const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`);
    for (const key of keys) await self.cache.get(key, {});
    self.now += 100;
    let answers: ReturnType<typeof later<Thing | null>>[] = [];
    self.says = () => {
      const answer = later<Thing | null>();
      answers.push(answer);
      return answer.promise;
    };
    const refreshed = async (): Promise<number> => {
      answers = [];
      for (const key of keys) self.cache.look(key);
      await settle();
      return answers.length;
    };
    expect(await refreshed()).toBe(16);
    for (const answer of answers) answer.reject(down());
    await settle();
    expect(await refreshed()).toBe(16);
    const [first, ...others] = answers;
    first?.resolve({ n: 0 });
    await settle();
    expect(await refreshed()).toBe(1);
    for (const answer of others) answer.resolve({ n: 0 });
    await settle();
  });

  it('once for one key, however often its old answer is served', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.now += 100;
    self.says = () => new Promise(() => {});
    for (let i = 0; i < 3; i++) self.cache.look('a');
    expect(self.asked).toHaveLength(2);
  });
});

describe('what an answer does to what is kept', () => {
  it('a yes takes the place of a no, and a no that of a yes', async () => {
    const self = cacheOf();
    const yes = self.says;
    self.says = async () => null;
    await self.cache.get('a', {});
    self.says = yes;
    await self.cache.get('a', { fresh: true });
    self.now += 1;
    self.says = async () => null;
    await self.cache.get('a', { fresh: true });
    expect(self.cache.look('a')?.value).toBeNull();
    // It is really gone: no outage brings it back.
    expect(self.cache.lastResort('a', down())).toBeUndefined();
    self.says = yes;
    await self.cache.get('a', { fresh: true });
    self.cache.forget('a');
    expect(self.cache.lastAsked('a')).toBeUndefined();
  });

  it('a no that a yes took the place of does not come back when that is pushed out', async () => {
    const self = cacheOf({ max: 1, invalidTtl: 5000 });
    const yes = self.says;
    self.says = async () => null;
    await self.cache.get('a', {});
    self.says = yes;
    await self.cache.get('a', { fresh: true });
    await self.cache.get('b', {});
    expect(self.cache.look('a')).toBeUndefined();
  });

  it('one that was outdated meanwhile is given to who asked, made ready to be shared, and not kept', async () => {
    const self = cacheOf();
    const answer = later<Thing | null>();
    self.says = () => answer.promise;
    const asked = self.cache.get('a', {});
    self.cache.forget('a');
    answer.resolve({ n: 9 });
    expect(await asked).toEqual({ n: 9 });
    expect(self.settled).toEqual(['a']);
    expect(self.cache.look('a')).toBeUndefined();
  });

  it('one key is forgotten without the others; all, with what is under way', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    await self.cache.get('b', {});
    self.says = async () => null;
    await self.cache.get('c', {});
    await self.cache.get('d', {});
    self.cache.forget('a');
    self.cache.forget('c');
    expect(['a', 'b', 'c', 'd'].map((key) => self.cache.look(key)?.value)).toEqual([
      undefined,
      { n: 2 },
      undefined,
      null,
    ]);
    const answer = later<Thing | null>();
    self.says = () => answer.promise;
    const under = self.cache.get('e', {});
    self.cache.forget();
    answer.resolve({ n: 9 });
    await under;
    expect(['b', 'd', 'e'].map((key) => self.cache.look(key))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('what is told of lookups', () => {
  it('where each answer came from, and what it was', async () => {
    const told = lookups();
    const self = cacheOf();
    await self.cache.get('a', {});
    await self.cache.get('a', {});
    self.now += 100;
    self.cache.peek('a');
    await settle();
    self.now += 2000;
    self.says = () => Promise.reject(down());
    await self.cache.get('a', {});
    self.says = async () => null;
    await self.cache.get('a', { fresh: true });
    self.cache.peek('a');
    expect(told).toEqual([
      { what: 'purchase', source: 'service', outcome: 'yes' },
      { what: 'purchase', source: 'cache', outcome: 'yes' },
      { what: 'purchase', source: 'stale', outcome: 'yes' },
      { what: 'purchase', source: 'service', outcome: 'yes' },
      { what: 'purchase', source: 'service', outcome: 'failed', code: 'service_unavailable' },
      { what: 'purchase', source: 'last-resort', outcome: 'yes' },
      { what: 'purchase', source: 'service', outcome: 'no' },
      { what: 'purchase', source: 'cache', outcome: 'no' },
    ]);
  });

  it('an old no that is told is none that is stale', () => {
    const told = lookups();
    const self = cacheOf();
    self.cache.served({ value: null, at: self.now - 1000 });
    self.cache.served({ value: { n: 1 }, at: self.now - 100 });
    self.cache.served({ value: { n: 1 }, at: self.now - 99 });
    expect(told.map((message) => (message as { source: string }).source)).toEqual([
      'cache',
      'stale',
      'cache',
    ]);
  });

  it('a failure that is not ours has no code, and is passed on as it was', async () => {
    const told = lookups();
    const self = cacheOf();
    const mistake = new TypeError('x');
    self.says = () => Promise.reject(mistake);
    await expect(self.cache.get('a', {})).rejects.toBe(mistake);
    expect(told).toEqual([{ what: 'purchase', source: 'service', outcome: 'failed' }]);
  });

  it('nothing of what is only looked at, and nothing when nobody listens', async () => {
    const self = cacheOf();
    await self.cache.get('a', {});
    self.cache.served({ value: { n: 1 }, at: self.now });
    const told = lookups();
    self.cache.look('a');
    self.cache.lookFresh('a');
    self.cache.lastResort('a', down());
    expect(self.cache.peek('nobody asked')).toBeUndefined();
    expect(told).toEqual([]);
  });
});

describe('with a fleet', () => {
  function fleetOf(answer?: FleetSpace<Thing>['answer']) {
    const calls: unknown[][] = [];
    const fleet: FleetSpace<Thing> = {
      answer: answer ?? ((_key, ask) => ask(40)),
      tell: async (...given) => void calls.push(['tell', ...given]),
      erase: async (...given) => void calls.push(['erase', ...given]),
    };
    return { fleet, calls };
  }

  it('the answer of another process is told as shared, and who wants to know it is called', async () => {
    const told = lookups();
    const { fleet } = fleetOf(async () => ({ value: { n: 5 }, at: 999_990 }));
    const self = cacheOf({}, fleet);
    const onShared = vi.fn();
    expect(await self.cache.get('a', { onShared })).toEqual({ n: 5 });
    expect(onShared).toHaveBeenCalledTimes(1);
    expect(told).toEqual([{ what: 'purchase', source: 'shared', outcome: 'yes' }]);
    // It is as old here as it was there.
    self.now = 1_000_089;
    expect(self.cache.lookFresh('a')).toBeDefined();
    self.now += 1;
    expect(self.cache.lookFresh('a')).toBeUndefined();
    expect(self.asked).toHaveLength(0);
  });

  it('an answer that the service was asked for is not shared, and knows what time is gone', async () => {
    const told = lookups();
    const { fleet } = fleetOf();
    const self = cacheOf({}, fleet);
    const onShared = vi.fn();
    await self.cache.get('a', { onShared });
    expect(onShared).not.toHaveBeenCalled();
    expect(self.asked[0]?.how).toEqual({ signal: undefined, isGrave: false, spent: 40 });
    expect(told).toEqual([{ what: 'purchase', source: 'service', outcome: 'yes' }]);
  });

  it('a failure before the service was asked is told as one of the fleet', async () => {
    const told = lookups();
    const { fleet } = fleetOf(() => Promise.reject(down()));
    await expect(cacheOf({}, fleet).cache.get('a', {})).rejects.toThrow('down');
    expect(told).toMatchObject([{ source: 'shared', outcome: 'failed' }]);
  });

  it('fresh goes past the fleet, and tells it: a yes as it is, a no as one that erases', async () => {
    const answer = vi.fn();
    const { fleet, calls } = fleetOf(answer);
    const self = cacheOf({}, fleet);
    await self.cache.get('a', { fresh: true });
    self.says = async () => null;
    await self.cache.get('b', { fresh: true });
    expect(answer).not.toHaveBeenCalled();
    expect(self.asked.map(({ how }) => how.spent)).toEqual([0, 0]);
    expect(calls).toEqual([
      ['tell', 'a', { value: { n: 1 }, at: self.now }],
      ['erase', 'b', { value: null, at: self.now }],
    ]);
  });

  it('only a no that erases a yes of ours is announced', async () => {
    const { fleet, calls } = fleetOf();
    const self = cacheOf({}, fleet);
    const yes = self.says;
    self.says = async () => null;
    await self.cache.get('b', {});
    self.says = yes;
    await self.cache.get('a', {});
    expect(calls).toEqual([]);
    self.now += 2000;
    self.says = async () => null;
    await self.cache.get('a', {});
    expect(calls).toEqual([['erase', 'a', { value: null, at: self.now }]]);
  });

  it('that cannot be told is nobody’s unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const fails = () => Promise.reject(new Error('x'));
    const { fleet } = fleetOf();
    const self = cacheOf({}, { ...fleet, tell: fails, erase: fails });
    await self.cache.get('a', { fresh: true });
    self.says = async () => null;
    self.now += 2000;
    expect(await self.cache.get('a', {})).toBeNull();
    expect(await self.cache.get('a', { fresh: true })).toBeNull();
    await settle();
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('an old yes of another process serves in an outage, unless ours is younger or it is a no', async () => {
    const others: { value: Thing | null; at: number }[] = [];
    const { fleet } = fleetOf((_key, ask, keep) => {
      for (const other of others) keep(other);
      return ask(0);
    });
    const self = cacheOf({}, fleet);
    self.says = () => Promise.reject(down());
    others.push({ value: { n: 7 }, at: self.now - 2000 });
    expect(await self.cache.get('a', {})).toEqual({ n: 7 });
    expect(self.settled).toEqual(['a']);
    others.splice(0, 1, { value: { n: 6 }, at: self.now - 2001 }, { value: null, at: self.now });
    expect(await self.cache.get('a', {})).toEqual({ n: 7 });
    others.splice(0, 2, { value: { n: 5 }, at: self.now - 2000 });
    expect(await self.cache.get('a', {})).toEqual({ n: 7 });
    others.splice(0, 1, { value: { n: 8 }, at: self.now - 1999 });
    expect(await self.cache.get('a', {})).toEqual({ n: 8 });
  });
});
