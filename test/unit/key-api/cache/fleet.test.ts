import { KeyApi, type KeyApiOptions, type SharedCache } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sealer } from '../../../../src/key-api/cache/sealer.js';
import { rejection } from '../../../support/errors.js';
import { MemorySharedCache } from '../../../support/memory-shared-cache.js';
import { json, page, startUpstream, type Upstream } from '../../../support/upstream.js';
import { account, CODE, KEY, purchase, refusal, success } from '../../../support/wire.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const OTHER = 'another-purchase-code';

interface World {
  readonly upstream: Upstream;
  now: number;
  says: 'yes' | 'no' | 'down' | 'silent';
  /** Another process of the fleet. */
  join(shared: SharedCache, options?: Partial<KeyApiOptions>): KeyApi;
  asked(): number;
}

async function world(): Promise<World> {
  const upstream = await startUpstream((request, res) => {
    if (self.says === 'silent') return;
    if (self.says === 'down') return page(res, 503);
    if (request.method === 'GET') return json(res, success({ data: account }));
    const purchase_code = new URLSearchParams(request.body).get('purchase_code') ?? '';
    json(
      res,
      self.says === 'yes'
        ? success({ data: { purchase: { ...purchase, purchase_code } } })
        : refusal('Invalid purchase code'),
    );
  });
  const self: World = {
    upstream,
    now: 1_800_000_000_000,
    says: 'yes',
    asked: () => upstream.count('/api/purchases/validation'),
    join(shared, options = {}) {
      const keyApi = new KeyApi({
        baseUrl: upstream.url,
        apiKey: KEY,
        retries: 0,
        clock: () => self.now,
        cache: { shared },
        ...options,
      });
      onTestFinished(() => keyApi.close());
      return keyApi;
    },
  };
  return self;
}

describe('options', () => {
  it.each<[string, object]>([
    ['"cache.shared"', { shared: 'redis' }],
    ['"get"', { shared: { set() {}, delete() {} } }],
    ['"cache.shared.lock"', { shared: { get() {}, set() {}, delete() {}, lock: true } }],
    ['"cache.secret"', { shared: new MemorySharedCache(), secret: '' }],
  ])('a wrong one is a TypeError that names %s', (name, cache) => {
    const make = () => new KeyApi({ baseUrl: 'https://m.example', apiKey: KEY, cache });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(name);
  });
});

describe('a fleet', () => {
  it('asks once for a code, one after the other', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const [one, two] = [self.join(shared), self.join(shared)];
    const first = await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    expect(await two.validatePurchase(CODE)).toEqual(first);
    expect(self.asked()).toBe(1);
  });

  it('does not break on what another version of the package has sealed: it asks', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const sealer = new Sealer(KEY);
    const name = sealer.name(`purchase ${CODE}`);
    const of_another_version = JSON.stringify({ at: self.now, value: { code: CODE } });
    shared.values.set(name, sealer.seal(name, of_another_version));
    expect((await self.join(shared).validatePurchase(CODE))?.purchase_code).toBe(CODE);
    expect(self.asked()).toBe(1);
  });

  it('asks once for a code, all at once', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const fleet = Array.from({ length: 8 }, () => self.join(shared));
    const all = await Promise.all(
      fleet.flatMap((each) => [each.validatePurchase(CODE), each.validatePurchase(CODE)]),
    );
    expect(all.every((found) => found?.purchase_code === CODE)).toBe(true);
    expect(self.asked()).toBe(1);
    await vi.waitFor(() => expect(shared.locks.size).toBe(0));
  });

  it('shares a no, for its short life', async () => {
    const self = await world();
    self.says = 'no';
    const shared = new MemorySharedCache();
    const [one, two] = [self.join(shared), self.join(shared)];
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    expect(await two.validatePurchase(CODE)).toBeNull();
    expect(self.asked()).toBe(1);
    self.now += 31_000;
    self.says = 'yes';
    expect(await two.validatePurchase(CODE)).not.toBeNull();
  });

  it('does not take an old answer for a fresh one', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    await self.join(shared).validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    self.now += 5 * MINUTE;
    await self.join(shared).validatePurchase(CODE);
    expect(self.asked()).toBe(2);
  });

  it('has an old yes for a new process while the service is down, until staleIfError', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    await self.join(shared).validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    self.says = 'down';
    self.now += 23 * HOUR;
    expect((await self.join(shared).validatePurchase(CODE))?.purchase_code).toBe(CODE);
    self.now += HOUR;
    await rejection(self.join(shared).validatePurchase(CODE));
  });

  it('hears of invalidate, for one code and for all', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const [one, two] = [self.join(shared), self.join(shared)];
    for (const each of [one, two]) {
      await each.validatePurchase(CODE);
      await each.validatePurchase(OTHER);
    }
    await vi.waitFor(() => expect(shared.listeners).toBe(2));
    await one.invalidate(CODE);
    expect(two.peekPurchase(CODE)).toBeUndefined();
    expect(two.peekPurchase(OTHER)).toBeTruthy();
    const before = self.asked();
    await two.validatePurchase(CODE);
    expect(self.asked()).toBe(before + 1);
    await one.invalidate();
    expect(two.peekPurchase(OTHER)).toBeUndefined();
  });

  it('invalidate of everything holds for what is shared, and for who joins later', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const one = self.join(shared);
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    self.says = 'no';
    await one.invalidate();
    expect(await one.validatePurchase(CODE)).toBeNull();
    self.now += 31_000;
    expect(await self.join(shared).validatePurchase(CODE)).toBeNull();
  });

  it('hears of a refund from a process that held no yes itself', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const [one, two] = [self.join(shared), self.join(shared)];
    await one.validatePurchase(CODE);
    self.says = 'no';
    expect(await two.validatePurchase(CODE, { fresh: true })).toBeNull();
    await vi.waitFor(() => expect(one.peekPurchase(CODE)).toBeUndefined());
    expect(await one.validatePurchase(CODE)).toBeNull();
  });

  it('keeps the timeout: an apiKey function that hangs, a lock that is never free', async () => {
    const self = await world();
    const hanging = self.join(new MemorySharedCache(), {
      apiKey: () => new Promise(() => {}),
      timeout: 300,
    });
    expect((await rejection(hanging.validatePurchase(CODE))).code).toBe('service_unavailable');
    self.says = 'silent';
    const shared = new MemorySharedCache();
    shared.lock = async () => undefined;
    const begun = performance.now();
    await rejection(self.join(shared, { timeout: 400 }).validatePurchase(CODE));
    // Both waits together, the one for the lock and the one for the service, are one timeout.
    expect(performance.now() - begun).toBeLessThan(4 * 400);
  });

  it('hears of a refund that one process found out', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const [one, two] = [self.join(shared), self.join(shared)];
    await one.validatePurchase(CODE);
    await two.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.listeners).toBe(2));
    self.says = 'no';
    expect(await one.validatePurchase(CODE, { fresh: true })).toBeNull();
    await vi.waitFor(() => expect(two.peekPurchase(CODE)).toBeUndefined());
    expect(await two.validatePurchase(CODE)).toBeNull();
  });

  it('with another secret shares nothing', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    await self.join(shared).validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    await self.join(shared, { cache: { shared, secret: 'ours alone' } }).validatePurchase(CODE);
    expect(self.asked()).toBe(2);
  });

  it('stops listening on close', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const one = self.join(shared);
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.listeners).toBe(1));
    await one.close();
    expect(shared.listeners).toBe(0);
  });

  it('whose asker fails lets the next one ask', async () => {
    const self = await world();
    self.says = 'down';
    const shared = new MemorySharedCache();
    await rejection(self.join(shared).validatePurchase(CODE));
    expect(shared.locks.size).toBe(0);
    self.says = 'yes';
    expect(await self.join(shared).validatePurchase(CODE)).not.toBeNull();
  });

  it('whose asker died waits no longer than the lock lives', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    shared.lock = async () => undefined;
    const found = await self.join(shared).validatePurchase(CODE);
    expect(found?.purchase_code).toBe(CODE);
    expect(self.asked()).toBe(1);
  });
});

describe('what lies in the shared cache', () => {
  it('shows neither code nor key, nor anything of the purchase', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const one = self.join(shared);
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    await one.invalidate(CODE);
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    const everything = JSON.stringify([[...shared.values], shared.messages]);
    const decoded = everything.replace(/[\w-]{20,}/g, (t) =>
      Buffer.from(t, 'base64url').toString('latin1'),
    );
    for (const secret of [CODE, KEY, 'Quiet Harbour', 'license_type']) {
      expect(everything).not.toContain(secret);
      expect(decoded).not.toContain(secret);
    }
  });

  const tampering: [string, (shared: MemorySharedCache) => void][] = [
    ['corrupt', (shared) => shared.values.forEach((_v, k) => void shared.values.set(k, 'x'))],
    ['empty', (shared) => shared.values.forEach((_v, k) => void shared.values.set(k, ''))],
    [
      'of another version',
      (shared) => shared.values.forEach((v, k) => void shared.values.set(k, v.replace('1.', '2.'))),
    ],
    ['cut', (shared) => shared.values.forEach((v, k) => void shared.values.set(k, v.slice(0, 30)))],
    [
      'changed by one bit',
      (shared) =>
        shared.values.forEach(
          (v, k) => void shared.values.set(k, v.slice(0, -2) + (v.endsWith('AA') ? 'BB' : 'AA')),
        ),
    ],
    [
      'plain',
      (shared) =>
        shared.values.forEach(
          (_v, k) => void shared.values.set(k, JSON.stringify({ at: Date.now(), value: purchase })),
        ),
    ],
  ];
  it.each(tampering)(
    'is not believed when it is %s: the service is asked',
    async (_name, tamper) => {
      const self = await world();
      const shared = new MemorySharedCache();
      await self.join(shared).validatePurchase(CODE);
      await vi.waitFor(() => expect(shared.values.size).toBe(1));
      tamper(shared);
      self.says = 'no';
      expect(await self.join(shared).validatePurchase(CODE)).toBeNull();
      expect(self.asked()).toBe(2);
    },
  );

  it('cannot be moved to another code: nobody grants himself a purchase', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    await self.join(shared).validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    const [valid = ''] = shared.values.values();
    self.says = 'no';
    const one = self.join(shared);
    await one.validatePurchase(OTHER);
    await vi.waitFor(() => expect(shared.values.size).toBe(2));
    for (const name of shared.values.keys()) shared.values.set(name, valid);
    self.now += MINUTE;
    expect(await self.join(shared).validatePurchase(OTHER)).toBeNull();
  });

  it('a forged message makes nobody forget', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const one = self.join(shared);
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.listeners).toBe(1));
    for (const message of ['', CODE, `purchase ${CODE}`, '1.AAAA']) await shared.publish(message);
    expect(one.peekPurchase(CODE)).toBeTruthy();
  });
});

describe('a shared cache that fails', () => {
  const never = (): Promise<never> => new Promise(() => {});
  const broken: [string, () => Partial<SharedCache>][] = [
    [
      'hangs',
      () => ({
        get: never,
        set: never,
        delete: never,
        lock: never,
        publish: never,
        subscribe: never,
      }),
    ],
    [
      'rejects',
      () => ({
        get: async () => Promise.reject(new Error('down')),
        set: async () => Promise.reject(new Error('down')),
        lock: async () => Promise.reject(new Error('down')),
        publish: async () => Promise.reject(new Error('down')),
        subscribe: async () => Promise.reject(new Error('down')),
      }),
    ],
    [
      'throws',
      () => ({
        get: () => {
          throw new Error('down');
        },
        set: () => {
          throw new Error('down');
        },
        lock: () => {
          throw new Error('down');
        },
        subscribe: () => {
          throw new Error('down');
        },
      }),
    ],
    [
      'gives nonsense',
      () => ({ get: async () => 42 as unknown as string, lock: async () => 'x' as never }),
    ],
  ];
  it.each(broken)('and %s is done without', async (_name, parts) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const self = await world();
    const shared = Object.assign(new MemorySharedCache(), parts());
    const one = self.join(shared);
    for (let i = 0; i < 12; i++) {
      expect((await one.validatePurchase(`code-number-${i}`))?.purchase_code).toBe(
        `code-number-${i}`,
      );
    }
    await one.invalidate('code-number-1');
    await one.close();
    expect(self.asked()).toBe(12);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('is left alone after some failures, and used again when it is back', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const down = new Error('down');
    const get = vi.spyOn(shared, 'get').mockRejectedValue(down);
    const others = (['set', 'lock', 'publish'] as const).map((method) =>
      vi.spyOn(shared, method).mockRejectedValue(down),
    );
    const one = self.join(shared);
    for (let i = 0; i < 30; i++) await one.validatePurchase(`code-number-${i}`);
    expect(get.mock.calls.length).toBeLessThan(10);
    for (const each of [get, ...others]) each.mockRestore();
    await vi.waitFor(async () => {
      await one.validatePurchase(`later-${Math.random()}`);
      expect(shared.calls).toContain('get');
    });
  });

  it('is not listened to any more after close, also while it is left alone', async () => {
    const self = await world();
    const shared = new MemorySharedCache();
    const one = self.join(shared);
    await one.validatePurchase(CODE);
    await vi.waitFor(() => expect(shared.listeners).toBe(1));
    for (const method of ['get', 'set', 'lock', 'publish'] as const) {
      vi.spyOn(shared, method).mockRejectedValue(new Error('down'));
    }
    for (let i = 0; i < 12; i++) await one.validatePurchase(`code-number-${i}`);
    await one.close();
    expect(shared.listeners).toBe(0);
  });

  it('answers of the cache never hide that the service could not be asked', async () => {
    const self = await world();
    self.says = 'down';
    const shared = Object.assign(new MemorySharedCache(), { get: never });
    expect((await rejection(self.join(shared).validatePurchase(CODE))).code).toBe(
      'service_unavailable',
    );
  });
});
