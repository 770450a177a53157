import { describe, expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { hear, unhandledRejections } from '../../support/hear.js';
import { begun, keyApiOn, settle } from '../../support/key-api-service.js';
import { CODE, purchase } from '../../support/wire.js';
import { alone, aloneWithAnswer, MINUTE, OTHER } from './support.js';

describe('concurrent identical lookups', () => {
  it.each(['positive', 'negative', 'outage'] as const)('share one request: %s', async (says) => {
    const { service, keyApi } = alone();
    service.says = says;
    service.hold();
    const callers = Array.from({ length: 100 }, () =>
      keyApi.validatePurchase(CODE).then(
        (value) => (value === null ? 'negative' : 'positive'),
        () => 'outage',
      ),
    );
    await settle();
    await service.release();
    expect(new Set(await Promise.all(callers))).toEqual(new Set([says]));
    expect(service.asked()).toBe(1);
  });

  it('are separate for another code, and after the answer', async () => {
    const { service, keyApi } = alone({ ttl: 0, staleWhileRevalidate: 0 });
    await Promise.all([keyApi.validatePurchase(CODE), keyApi.validatePurchase(OTHER)]);
    await keyApi.validatePurchase(CODE);
    service.says = 'outage';
    await keyApi.validatePurchase(CODE);
    await keyApi.validatePurchase(CODE);
    expect(service.asked()).toBe(5);
  });

  it('go on when one caller leaves, also the first', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const leaving = new AbortController();
    const first = keyApi.validatePurchase(CODE, { signal: leaving.signal });
    const others = [1, 2].map(() => keyApi.validatePurchase(CODE));
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    await service.release();
    expect(await Promise.all(others)).toEqual([purchase, purchase]);
    expect(service.asked()).toBe(1);
  });

  it('end on the wire when the last caller has left, and not before', async () => {
    const { service, keyApi } = alone();
    service.says = 'silence';
    const [one, other] = [new AbortController(), new AbortController()];
    const left = [one, other].map(({ signal }) =>
      keyApi.validatePurchase(CODE, { signal }).catch((error: Error) => error.message),
    );
    await settle();
    const [request] = service.dispatcher.requests;
    one.abort(new Error('left first'));
    await settle();
    expect(request?.isAborted).toBe(false);
    other.abort(new Error('left last'));
    await settle();
    expect(request?.isAborted).toBe(true);
    expect(await Promise.all(left)).toEqual(['left first', 'left last']);
    // The next caller does not join what has ended.
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });

  it('end on the wire with close(), and reject at once; so does a refresh in the background', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(6 * MINUTE, 'silence');
    await keyApi.validatePurchase(CODE);
    const [asked] = await begun(rejection(keyApi.validatePurchase(OTHER)));
    await keyApi.close();
    expect((await asked).message).toContain('this client was closed');
    const aborted = service.dispatcher.requests.map(({ isAborted }) => isAborted);
    expect(aborted).toEqual([false, true, true]);
  });

  it('get one frozen answer, also when it was invalidated meanwhile', async () => {
    const { keyApi } = alone();
    const both = Promise.all([keyApi.validatePurchase(CODE), keyApi.validatePurchase(CODE)]);
    await keyApi.invalidate(CODE);
    const [one, other] = await both;
    expect(one).toBe(other);
    expect(Object.isFrozen(one?.item)).toBe(true);
  });

  it('leave no listener on the signal of a caller', async () => {
    const { service, keyApi } = alone();
    const { signal } = new AbortController();
    const open = new Set<unknown>();
    signal.addEventListener = (_type: string, listener: unknown) => void open.add(listener);
    signal.removeEventListener = (_type: string, listener: unknown) => void open.delete(listener);
    const asked = keyApi.validatePurchase(CODE, { signal });
    expect(open.size).toBe(1);
    await asked;
    service.says = 'outage';
    await rejection(keyApi.listItems({ signal }));
    await settle();
    expect(open.size).toBe(0);
  });
});

describe('a refresh in the background', () => {
  it('is one for each code, however often the stale answer is served', async () => {
    const { service, keyApi } = alone();
    const first = await keyApi.validatePurchase(CODE);
    service.now += 6 * MINUTE;
    service.hold();
    for (let i = 0; i < 3; i++) expect(await keyApi.validatePurchase(CODE)).toBe(first);
    await service.release();
    expect(service.asked()).toBe(2);
    expect(keyApi.peekPurchase(CODE)).not.toBe(first);
  });

  it('is one of 16 at a time, and of more when those have ended, well or badly', async () => {
    const unhandled = unhandledRejections();
    const { service, keyApi } = alone();
    const codes = Array.from({ length: 40 }, (_, i) => `purchase-code-${i}`);
    for (const code of codes) await keyApi.validatePurchase(code);
    service.now += 6 * MINUTE;
    const refreshes = async (): Promise<number> => {
      const before = service.asked();
      for (const code of codes) keyApi.peekPurchase(code);
      await settle();
      return service.asked() - before;
    };
    service.hold();
    service.says = 'outage';
    expect(await refreshes()).toBe(16);
    await service.release();
    // The breaker has opened; a minute later it lets a request try.
    service.later(MINUTE, 'positive');
    await keyApi.getItem(1);
    service.hold();
    expect(await refreshes()).toBe(16);
    await service.release(0);
    service.hold();
    expect(await refreshes()).toBe(1);
    await service.release();
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('answers count in the order of their requests', () => {
  // Each answer says the number of its request, from 0; fresh requests are separate.
  it.each<[string, number[], number]>([
    ['as they were asked', [0, 1, 2], 2],
    ['the newest first', [2, 1, 0], 2],
    ['the second, the first, the third', [1, 0, 2], 2],
    ['the newest not yet', [1, 0], 1],
    ['only the oldest yet', [0], 0],
  ])('%s', async (_name, order, cached) => {
    const { service, keyApi } = alone();
    service.hold();
    service.override = (_request, n) => {
      service.item = { id: 1042, name: `item ${n}`, media: {} };
      return undefined;
    };
    const asked = [0, 1, 2].map(() => keyApi.validatePurchase(CODE, { fresh: true }));
    await settle();
    let latest = -1;
    for (const n of order) {
      await service.release(n);
      // Of his own request, or of a later one that was answered first.
      latest = Math.max(latest, n);
      expect((await asked[n])?.item.name).toBe(`item ${latest}`);
    }
    expect(keyApi.peekPurchase(CODE)?.item.name).toBe(`item ${cached}`);
    await service.release();
    await Promise.all(asked);
  });

  it.each([
    ['is served', {}, null],
    ['has expired meanwhile', { invalidTtl: 0 }, undefined],
  ])('a late positive answer does not undo a negative one that %s', async (_how, cache, cached) => {
    const { service, keyApi } = alone(cache);
    await keyApi.getAccount();
    service.hold();
    const [old] = await begun(keyApi.validatePurchase(CODE));
    service.says = 'negative';
    const [newer] = await begun(keyApi.validatePurchase(CODE, { fresh: true }));
    await service.release(1);
    expect(await newer).toBeNull();
    await service.release(0);
    await service.release();
    expect(await old).toBeNull();
    expect(keyApi.peekPurchase(CODE)).toBe(cached);
  });

  it.each([
    ['first', [0, 1]],
    ['last', [1, 0]],
  ])(
    'a negative answer does not undo a positive one that was asked for later in the same moment: it arrives %s',
    async (_when, order) => {
      const { service, keyApi } = alone();
      await keyApi.getAccount();
      vi.useFakeTimers({ toFake: ['performance'] });
      service.hold();
      service.says = 'negative';
      const [negative] = await begun(keyApi.validatePurchase(CODE, { fresh: true }));
      service.says = 'positive';
      const [positive] = await begun(keyApi.validatePurchase(CODE, { fresh: true }));
      for (const n of order) await service.release(n);
      await service.release();
      expect(await positive).toEqual(purchase);
      expect(await negative).toEqual(order[0] === 0 ? null : purchase);
      expect(service.asked()).toBe(2);
      expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
    },
  );

  it('a failure undoes nothing', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const [old] = await begun(keyApi.validatePurchase(CODE));
    service.says = 'outage';
    const [newer] = await begun(rejection(keyApi.validatePurchase(CODE, { fresh: true })));
    await service.release(1);
    await newer;
    await service.release(0);
    await old;
    expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
  });

  it('a caller without fresh joins the newest in-flight request', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const calls = [keyApi.validatePurchase(CODE), keyApi.validatePurchase(CODE, { fresh: true })];
    await settle();
    await service.release(0);
    service.hold();
    await keyApi.invalidate(OTHER);
    calls.push(keyApi.validatePurchase(CODE, { fresh: true }), keyApi.validatePurchase(CODE));
    await settle();
    expect(service.asked()).toBe(3);
    await service.release();
    await Promise.all(calls);
  });
});

describe('invalidate', () => {
  it('forgets one code, however it is written', async () => {
    const { service, keyApi } = alone();
    for (const says of ['positive', 'negative'] as const) {
      service.says = says;
      await keyApi.validatePurchase(CODE);
      await keyApi.validatePurchase(OTHER);
      await keyApi.invalidate(` ${CODE}\u200b `);
      expect(keyApi.peekPurchase(CODE)).toBeUndefined();
      expect(keyApi.peekPurchase(OTHER)).not.toBeUndefined();
      await keyApi.invalidate(OTHER);
    }
  });

  it.each([
    ['of the code', CODE],
    ['of everything', undefined],
  ])('%s also holds for in-flight requests, all of them', async (_name, code) => {
    const { service, keyApi } = alone();
    service.hold();
    const before = [
      keyApi.validatePurchase(CODE),
      keyApi.validatePurchase(CODE, { fresh: true }),
      keyApi.validatePurchase(OTHER),
    ];
    await settle();
    await keyApi.invalidate(code);
    // A new request is made, and not joined to one of before.
    before.push(keyApi.validatePurchase(CODE));
    await settle();
    expect(service.asked()).toBe(4);
    await service.release(0, 1, 2);
    expect(keyApi.peekPurchase(CODE)).toBeUndefined();
    expect(keyApi.peekPurchase(OTHER)).toEqual(
      code === undefined ? undefined : expect.objectContaining({ purchase_code: OTHER }),
    );
    await service.release();
    await Promise.all(before);
    expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
  });

  it('again and again keeps a call no longer than its timeout', async () => {
    const { service, keyApi } = keyApiOn({}, { timeout: 1000 });
    await keyApi.getAccount();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    service.hold();
    const found = rejection(keyApi.validatePurchase(CODE));
    for (const [i, waits] of [800, 150, 49].entries()) {
      await settle();
      await keyApi.invalidate(CODE);
      await vi.advanceTimersByTimeAsync(waits);
      if (i < 2) await service.release(i + 1);
    }
    await vi.advanceTimersByTimeAsync(2);
    expect((await found).message).toContain('no answer within 1000 ms');
  });

  it('is outlived by the answer to a later request, which also answers the earlier one', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const [before] = await begun(keyApi.validatePurchase(CODE));
    await keyApi.invalidate(CODE);
    const [after] = await begun(keyApi.validatePurchase(CODE));
    await service.release(1);
    const found = await after;
    await service.release(0);
    expect(await before).toBe(found);
    expect(keyApi.peekPurchase(CODE)).toBe(found);
    expect(service.asked()).toBe(2);
  });

  it.each(['', '  ', 7])('of %j is a TypeError and forgets nothing', async (code) => {
    const { keyApi } = await aloneWithAnswer();
    await expect(keyApi.invalidate(code as string)).rejects.toThrow(TypeError);
    expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
    await expect(alone(false).keyApi.invalidate(code as string)).rejects.toThrow(TypeError);
  });
});

describe('marketgate:lookup', () => {
  it('reports a negative answer, from the service and from the cache', async () => {
    const { service, keyApi } = alone();
    service.says = 'negative';
    const lookups = hear('lookup');
    await keyApi.validatePurchase(CODE);
    keyApi.peekPurchase(CODE);
    keyApi.peekPurchase(OTHER);
    expect(lookups).toEqual([
      { what: 'purchase', source: 'service', outcome: 'negative' },
      { what: 'purchase', source: 'cache', outcome: 'negative' },
    ]);
  });

  it('reports an error that is not of this package without a code', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(6 * MINUTE, 'silence');
    const lookups = hear('lookup');
    const leaving = new AbortController();
    const { signal } = leaving;
    const [left] = await begun(keyApi.validatePurchase(OTHER, { signal }).catch(() => {}));
    leaving.abort(new TypeError('left'));
    await left;
    await settle();
    expect(lookups).toEqual([{ what: 'purchase', source: 'service', outcome: 'failed' }]);
  });
});
