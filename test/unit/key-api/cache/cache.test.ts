import { KeyApi, type KeyApiOptions } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { rejection } from '../../../support/errors.js';
import { json, page, startUpstream, type Upstream } from '../../../support/upstream.js';
import { account, CODE, item, KEY, purchase, refusal, success } from '../../../support/wire.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const VALIDATION = '/api/purchases/validation';

interface Service {
  readonly upstream: Upstream;
  readonly keyApi: KeyApi;
  now: number;
  /** What the service says of every code. */
  says: 'yes' | 'no' | 'down' | 'html';
  /** While true, answers wait until {@link release}. */
  holds: boolean;
  release(): void;
  asked(): number;
}

async function service(options: Partial<KeyApiOptions> = {}): Promise<Service> {
  const held: (() => void)[] = [];
  const upstream = await startUpstream((request, res) => {
    const answer = (): void => {
      if (self.says === 'down') page(res, 503);
      else if (self.says === 'html') page(res, 200);
      else if (request.path === '/api/account/details') json(res, success({ data: account }));
      else if (request.path === '/api/items/all') {
        json(res, success({ items: [item, { ...item, id: 1043 }] }));
      } else if (request.path === '/api/items/item') {
        const id = Number(request.query.get('item_id'));
        json(
          res,
          self.says === 'yes' ? success({ item: { ...item, id } }) : refusal('Item Not Found'),
        );
      } else {
        const purchase_code = new URLSearchParams(request.body).get('purchase_code') ?? '';
        json(
          res,
          self.says === 'yes'
            ? success({ data: { purchase: { ...purchase, purchase_code } } })
            : refusal('Invalid purchase code'),
        );
      }
    };
    if (self.holds) held.push(answer);
    else answer();
  });
  const self: Service = {
    upstream,
    now: 1_800_000_000_000,
    says: 'yes',
    holds: false,
    release() {
      self.holds = false;
      for (const answer of held.splice(0)) answer();
    },
    asked: () => upstream.count(VALIDATION),
    keyApi: new KeyApi({
      baseUrl: upstream.url,
      apiKey: KEY,
      retries: 0,
      clock: () => self.now,
      ...options,
    }),
  };
  onTestFinished(() => self.keyApi.close());
  return self;
}

describe('options of the cache', () => {
  it.each<[string, unknown]>([
    ['"cache"', 'on'],
    ['"cache"', true],
    ['"cache"', null],
    ['"ttL"', { ttL: 5 }],
    ['"cache.max"', { max: 0 }],
    ['"cache.maxInvalid"', { maxInvalid: 0 }],
    ['"cache.ttl"', { ttl: -1 }],
    ['"cache.ttl"', { ttl: '5m' }],
    ['"cache.staleIfError"', { staleIfError: Number.NaN }],
    ['"cache.invalidTtl"', { invalidTtl: 1.5 }],
  ])('a wrong one is a TypeError that names %s', (name, cache) => {
    const make = () =>
      new KeyApi({ baseUrl: 'https://m.example', apiKey: KEY, cache: cache as false });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(name);
  });
});

describe('ages of a yes', () => {
  it('is served without asking until ttl', async () => {
    const self = await service();
    const first = await self.keyApi.validatePurchase(CODE);
    self.now += 5 * MINUTE - 1;
    expect(await self.keyApi.validatePurchase(CODE)).toBe(first);
    expect(self.asked()).toBe(1);
  });

  it('past ttl is served at once, and refreshed behind', async () => {
    const self = await service();
    const first = await self.keyApi.validatePurchase(CODE);
    self.now += 5 * MINUTE;
    self.holds = true;
    expect(await self.keyApi.validatePurchase(CODE)).toBe(first);
    expect(await self.keyApi.validatePurchase(CODE)).toBe(first);
    await vi.waitFor(() => expect(self.asked()).toBe(2));
    self.release();
    await vi.waitFor(() => expect(self.keyApi.peekPurchase(CODE)).not.toBe(first));
    expect(self.asked()).toBe(2);
  });

  it('past ttl and staleWhileRevalidate is awaited', async () => {
    const self = await service();
    const first = await self.keyApi.validatePurchase(CODE);
    self.now += 65 * MINUTE;
    expect(self.keyApi.peekPurchase(CODE)).toBeUndefined();
    const next = await self.keyApi.validatePurchase(CODE);
    expect(next).toEqual(first);
    expect(next).not.toBe(first);
  });

  it.each(['down', 'html'] as const)(
    'serves until staleIfError while the service is %s, and not a moment longer',
    async (says) => {
      const self = await service();
      const first = await self.keyApi.validatePurchase(CODE);
      self.says = says;
      self.now += 24 * HOUR - 1;
      expect(await self.keyApi.validatePurchase(CODE)).toBe(first);
      self.now += 1;
      expect((await rejection(self.keyApi.validatePurchase(CODE))).status).toBeGreaterThan(500);
    },
  );

  it('is counted from when the service gave it, not from when it was last served', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.says = 'down';
    for (let hour = 0; hour < 23; hour++) {
      self.now += HOUR;
      expect(await self.keyApi.validatePurchase(CODE)).not.toBeNull();
    }
    self.now += HOUR;
    await rejection(self.keyApi.validatePurchase(CODE));
  });

  it('of a clock that was set back is not trusted', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.now -= HOUR;
    await self.keyApi.validatePurchase(CODE);
    expect(self.asked()).toBe(2);
  });

  it('a rejected key is no answer about a code: the last yes serves', async () => {
    let key = KEY;
    const upstream = await startUpstream((request, res) => {
      const isKnown = `${request.query}${request.body}`.includes(KEY);
      if (request.path === '/api/account/details') {
        json(
          res,
          isKnown ? success({ data: account }) : refusal('Invalid request'),
          isKnown ? 200 : 401,
        );
      } else {
        json(
          res,
          isKnown ? success({ data: { purchase } }) : refusal('Invalid purchase code'),
          isKnown ? 200 : 404,
        );
      }
    });
    let now = 0;
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: () => key, clock: () => now });
    onTestFinished(() => keyApi.close());
    await keyApi.validatePurchase(CODE);
    key = 'b2'.repeat(32);
    now = 2 * HOUR;
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    now = 25 * HOUR;
    expect((await rejection(keyApi.validatePurchase(CODE))).code).toBe('api_key_rejected');
  });
});

describe('a no', () => {
  it('is served until invalidTtl, and then asked for again', async () => {
    const self = await service();
    self.says = 'no';
    expect(await self.keyApi.validatePurchase(CODE)).toBeNull();
    self.now += 30_000 - 1;
    expect(await self.keyApi.validatePurchase(CODE)).toBeNull();
    expect(self.asked()).toBe(1);
    self.now += 1;
    self.says = 'yes';
    expect(await self.keyApi.validatePurchase(CODE)).not.toBeNull();
  });

  it('erases a yes at once, also when it was found out behind', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.says = 'no';
    self.now += 6 * MINUTE;
    expect(await self.keyApi.validatePurchase(CODE)).not.toBeNull();
    await vi.waitFor(() => expect(self.keyApi.peekPurchase(CODE)).toBeNull());
    self.says = 'down';
    self.now += MINUTE;
    expect((await rejection(self.keyApi.validatePurchase(CODE))).code).toBe('service_unavailable');
  });

  it('that would erase a yes is not believed of a key that was revoked meanwhile', async () => {
    let isKnown = true;
    const upstream = await startUpstream((request, res) => {
      if (request.path === '/api/account/details') {
        json(
          res,
          isKnown ? success({ data: account }) : refusal('Invalid request'),
          isKnown ? 200 : 401,
        );
      } else {
        const isValid = isKnown && request.body.includes(CODE);
        json(res, isValid ? success({ data: { purchase } }) : refusal('Invalid purchase code'));
      }
    });
    let now = 0;
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY, clock: () => now });
    onTestFinished(() => keyApi.close());
    await keyApi.validatePurchase(CODE);
    now = 100_000;
    // The key is known to be good for some minutes now.
    expect(await keyApi.validatePurchase('a-wrong-code')).toBeNull();
    isKnown = false;
    now = 301_000;
    await keyApi.validatePurchase(CODE);
    await vi.waitFor(() => expect(upstream.count('/api/account/details')).toBe(2));
    now = 302_000;
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });

  it('does not outlive an outage: an old no is no reason to call a code invalid', async () => {
    const self = await service();
    self.says = 'no';
    await self.keyApi.validatePurchase(CODE);
    self.says = 'down';
    self.now += MINUTE;
    expect((await rejection(self.keyApi.validatePurchase(CODE))).code).toBe('service_unavailable');
  });

  it('of 10,000 guesses pushes out no customer', async () => {
    const self = await service({ cache: { max: 10, maxInvalid: 100 } });
    await self.keyApi.validatePurchase(CODE);
    self.says = 'no';
    for (let i = 0; i < 100; i++) {
      await Promise.all(
        Array.from({ length: 100 }, (_, j) => self.keyApi.validatePurchase(`guess-${i}-${j}`)),
      );
    }
    expect(self.asked()).toBe(10_001);
    expect((await self.keyApi.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    expect(self.asked()).toBe(10_001);
  });
});

describe('an exception', () => {
  it('is never kept', async () => {
    const self = await service();
    self.says = 'down';
    await rejection(self.keyApi.validatePurchase(CODE));
    self.says = 'yes';
    expect(await self.keyApi.validatePurchase(CODE)).not.toBeNull();
  });
});

describe('callers at the same time', () => {
  it.each([
    ['a yes', 'yes'],
    ['a no', 'no'],
    ['a failure', 'down'],
  ] as const)('1,000 of one code make one call, and all get %s', async (_name, says) => {
    const self = await service();
    self.says = says;
    self.holds = true;
    const callers = Array.from({ length: 1000 }, () =>
      self.keyApi.validatePurchase(CODE).then(
        (value) => (value === null ? 'no' : 'yes'),
        () => 'down',
      ),
    );
    await vi.waitFor(() => expect(self.asked()).toBe(1));
    self.release();
    expect(new Set(await Promise.all(callers))).toEqual(new Set([says]));
    expect(self.asked()).toBe(1);
  });

  it('one who leaves harms nobody, not even when it was the first', async () => {
    const self = await service();
    self.holds = true;
    const leaving = new AbortController();
    const first = self.keyApi.validatePurchase(CODE, { signal: leaving.signal });
    const others = [1, 2].map(() => self.keyApi.validatePurchase(CODE));
    leaving.abort();
    await expect(first).rejects.toThrow(/abort/i);
    await vi.waitFor(() => expect(self.asked()).toBe(1));
    self.release();
    expect((await Promise.all(others)).map((each) => each?.purchase_code)).toEqual([CODE, CODE]);
    expect(self.asked()).toBe(1);
  });

  it('all may leave, and the answer is kept for the next', async () => {
    const self = await service();
    self.holds = true;
    const leaving = new AbortController();
    const first = self.keyApi.validatePurchase(CODE, { signal: leaving.signal });
    await vi.waitFor(() => expect(self.asked()).toBe(1));
    leaving.abort();
    await expect(first).rejects.toThrow(/abort/i);
    self.release();
    await vi.waitFor(() => expect(self.keyApi.peekPurchase(CODE)).toBeTruthy());
  });

  it('refreshes behind are bounded in number', async () => {
    const self = await service();
    const codes = Array.from({ length: 100 }, (_, i) => `code-number-${i}`);
    await Promise.all(codes.map((code) => self.keyApi.validatePurchase(code)));
    self.now += 6 * MINUTE;
    self.holds = true;
    await Promise.all(codes.map((code) => self.keyApi.validatePurchase(code)));
    await vi.waitFor(() => expect(self.asked()).toBe(116));
    self.release();
  });

  it('a refresh behind that fails is nobody’s unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.says = 'down';
    self.now += 6 * MINUTE;
    await self.keyApi.validatePurchase(CODE);
    await vi.waitFor(() => expect(self.asked()).toBe(2));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('close ends refreshes that nobody waits for', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.now += 6 * MINUTE;
    self.holds = true;
    await self.keyApi.validatePurchase(CODE);
    await vi.waitFor(() => expect(self.asked()).toBe(2));
    await self.keyApi.close();
    expect(self.keyApi.peekPurchase(CODE)).toBeTruthy();
  });
});

describe('fresh and invalidate', () => {
  it('fresh asks the service, and keeps what it says', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.says = 'no';
    expect(await self.keyApi.validatePurchase(CODE, { fresh: true })).toBeNull();
    expect(await self.keyApi.validatePurchase(CODE)).toBeNull();
    expect(self.asked()).toBe(2);
  });

  it('fresh is not answered from the cache when the service is down', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    self.says = 'down';
    await rejection(self.keyApi.validatePurchase(CODE, { fresh: true }));
    expect(await self.keyApi.validatePurchase(CODE)).not.toBeNull();
  });

  it('fresh does not share a question that was asked before', async () => {
    const self = await service();
    self.holds = true;
    const before = self.keyApi.validatePurchase(CODE);
    const fresh = self.keyApi.validatePurchase(CODE, { fresh: true });
    await vi.waitFor(() => expect(self.asked()).toBe(2));
    self.release();
    await Promise.all([before, fresh]);
  });

  it('an answer that comes late does not undo a newer one', async () => {
    const replies: ((body: object) => void)[] = [];
    const upstream = await startUpstream((request, res) => {
      if (request.path === VALIDATION) replies.push((body) => json(res, body));
      else json(res, success({ data: account }));
    });
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    const old = keyApi.validatePurchase(CODE);
    await vi.waitFor(() => expect(replies).toHaveLength(1));
    const newer = keyApi.validatePurchase(CODE, { fresh: true });
    await vi.waitFor(() => expect(replies).toHaveLength(2));
    replies[1]?.(refusal('Invalid purchase code'));
    expect(await newer).toBeNull();
    replies[0]?.(success({ data: { purchase } }));
    await old;
    expect(keyApi.peekPurchase(CODE)).toBeNull();
  });

  it('invalidate forgets one code, however it was written', async () => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    await self.keyApi.validatePurchase('another-code');
    await self.keyApi.invalidate(` ${CODE}\u200b `);
    expect(self.keyApi.peekPurchase(CODE)).toBeUndefined();
    expect(self.keyApi.peekPurchase('another-code')).toBeTruthy();
  });

  it('invalidate without a code forgets everything', async () => {
    const self = await service();
    await Promise.all([
      self.keyApi.validatePurchase(CODE),
      self.keyApi.getAccount(),
      self.keyApi.listItems(),
    ]);
    const before = self.upstream.requests.length;
    await self.keyApi.invalidate();
    await Promise.all([
      self.keyApi.validatePurchase(CODE),
      self.keyApi.getAccount(),
      self.keyApi.listItems(),
    ]);
    expect(self.upstream.requests.length).toBe(2 * before);
  });

  it('invalidate also holds for what is under way', async () => {
    const self = await service();
    self.holds = true;
    const under = self.keyApi.validatePurchase(CODE);
    await vi.waitFor(() => expect(self.asked()).toBe(1));
    await self.keyApi.invalidate(CODE);
    self.release();
    await under;
    expect(self.keyApi.peekPurchase(CODE)).toBeUndefined();
  });

  it.each(['', '  ', 7])('invalidate of %j is a TypeError and forgets nothing', async (code) => {
    const self = await service();
    await self.keyApi.validatePurchase(CODE);
    await expect(self.keyApi.invalidate(code as string)).rejects.toThrow(TypeError);
    expect(self.keyApi.peekPurchase(CODE)).toBeTruthy();
  });
});

describe('items', () => {
  it('a list answers for its items while it is fresh', async () => {
    const self = await service();
    const list = await self.keyApi.listItems();
    expect(await self.keyApi.getItem(1043)).toBe(list[1]);
    expect(await self.keyApi.getItem('1042')).toBe(list[0]);
    expect(self.upstream.count('/api/items/item')).toBe(0);
    self.now += 5 * MINUTE;
    await self.keyApi.getItem(1043);
    expect(self.upstream.count('/api/items/item')).toBe(1);
  });

  it('an item that is not in the list is asked for', async () => {
    const self = await service();
    await self.keyApi.listItems();
    expect((await self.keyApi.getItem(7))?.id).toBe(7);
    expect(self.upstream.count('/api/items/item')).toBe(1);
  });

  it('what the service said of the item itself since the list counts', async () => {
    const self = await service();
    await self.keyApi.listItems();
    self.now += 1000;
    self.says = 'no';
    expect(await self.keyApi.getItem(1042, { fresh: true })).toBeNull();
    expect(await self.keyApi.getItem(1042)).toBeNull();
  });

  it('an item that is gone does not come back from the list when its no is over', async () => {
    const self = await service();
    await self.keyApi.listItems();
    self.now += 10_000;
    self.says = 'no';
    expect(await self.keyApi.getItem(1042, { fresh: true })).toBeNull();
    self.now += 31_000;
    expect(await self.keyApi.getItem(1042)).toBeNull();
  });

  it('a no was overruled by the list of the same millisecond', async () => {
    const self = await service();
    await self.keyApi.listItems();
    self.says = 'no';
    expect(await self.keyApi.getItem(1042, { fresh: true })).toBeNull();
    expect(await self.keyApi.getItem(1042)).toBeNull();
  });

  it('a stale list is not refreshed for one item', async () => {
    const self = await service();
    await self.keyApi.listItems();
    self.now += 6 * MINUTE;
    await self.keyApi.getItem(1042);
    expect(self.upstream.count('/api/items/all')).toBe(1);
  });

  it('a newer list counts more than an older no', async () => {
    const self = await service();
    self.says = 'no';
    expect(await self.keyApi.getItem(1042)).toBeNull();
    self.now += 1000;
    self.says = 'yes';
    await self.keyApi.listItems();
    expect((await self.keyApi.getItem(1042))?.id).toBe(1042);
  });

  it('an item of the list was refused in an outage, while the list was still served', async () => {
    const self = await service();
    const list = await self.keyApi.listItems();
    self.says = 'down';
    self.now += 3 * HOUR;
    expect(await self.keyApi.listItems()).toBe(list);
    expect(await self.keyApi.getItem(1042)).toBe(list[0]);
    self.now += 21 * HOUR;
    expect((await rejection(self.keyApi.getItem(1042))).code).toBe('service_unavailable');
  });

  it('an outage brings back no item that is gone, was never listed, or is wanted fresh', async () => {
    const self = await service();
    await self.keyApi.listItems();
    self.now += HOUR;
    self.says = 'no';
    expect(await self.keyApi.getItem(1042)).toBeNull();
    self.now += HOUR;
    self.says = 'down';
    expect((await rejection(self.keyApi.getItem(1042))).code).toBe('service_unavailable');
    expect((await rejection(self.keyApi.getItem(7))).code).toBe('service_unavailable');
    const fresh = self.keyApi.getItem(1043, { fresh: true });
    expect((await rejection(fresh)).code).toBe('service_unavailable');
  });

  it('a wrong item is remembered for a short while', async () => {
    const self = await service();
    self.says = 'no';
    await self.keyApi.getItem(9);
    await self.keyApi.getItem(9);
    expect(self.upstream.count('/api/items/item')).toBe(1);
  });
});

describe('what is kept', () => {
  it('has no prototype of its own making', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.end(JSON.stringify(success({ item })).replace('"id"', '"__proto__":{"admin":true},"id"'));
    });
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    const found = await keyApi.getItem(1042);
    expect(Object.hasOwn(found ?? {}, '__proto__')).toBe(false);
    expect(Object.assign({}, found)).not.toHaveProperty('admin');
  });

  it('cannot be changed by who holds it', async () => {
    const self = await service();
    const held = await self.keyApi.validatePurchase(CODE);
    expect(() => {
      if (held) held.item.name = 'changed';
    }).toThrow(TypeError);
    expect(() => held?.item.tags?.push('x')).toThrow(TypeError);
    const list = await self.keyApi.listItems();
    expect(() => list.pop()).toThrow(TypeError);
    expect(await self.keyApi.validatePurchase(CODE)).toEqual({ ...purchase, purchase_code: CODE });
  });

  it('the account is kept, and a key that is rejected erases it', async () => {
    let isKnown = true;
    const upstream = await startUpstream((_request, res) =>
      isKnown ? json(res, success({ data: account })) : json(res, refusal('Invalid request'), 401),
    );
    let now = 0;
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY, clock: () => now });
    onTestFinished(() => keyApi.close());
    await keyApi.getAccount();
    expect(await keyApi.getAccount()).toEqual(account);
    expect(upstream.requests).toHaveLength(1);
    isKnown = false;
    now = 2 * HOUR;
    expect((await rejection(keyApi.getAccount())).code).toBe('api_key_rejected');
    expect((await rejection(keyApi.getAccount())).code).toBe('api_key_rejected');
  });

  it('nothing is kept with cache: false', async () => {
    const self = await service({ cache: false });
    const first = await self.keyApi.validatePurchase(CODE);
    if (first) first.item.name = 'mine to change';
    await self.keyApi.validatePurchase(CODE);
    expect(self.asked()).toBe(2);
    expect(self.keyApi.peekPurchase(CODE)).toBeUndefined();
    await self.keyApi.invalidate();
  });
});
