import type { CacheOptions } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ACCOUNT, begun, KeyApiService, keyApiOn, settle } from '../../support/key-api-service.js';
import { CODE, item, KEY, purchase } from '../../support/wire.js';
import {
  alone,
  aloneWithAnswer,
  HOUR,
  KINDS,
  MINUTE,
  OTHER,
  OTHER_KEY,
  SECOND,
} from './support.js';

const TTL = 5 * MINUTE;

type Says = KeyApiService['says'];
/** What a lookup gets: the cached object, a new one, a negative answer, or an error. */
type Gets = 'cached' | 'new' | null | 'service_unavailable' | 'unexpected_response';

/** Looks a code up; then again at an age, with the service as it is then. */
async function lookUpAt(age: number, says: Says, first: Says, cache: CacheOptions) {
  const { service, keyApi } = alone(cache);
  service.says = first;
  const cached = await keyApi.validatePurchase(CODE);
  service.now += age;
  service.says = says;
  const peeked = keyApi.peekPurchase(CODE);
  const gets: Gets = await keyApi.validatePurchase(CODE).then(
    (found) => (found === null ? null : found === cached ? 'cached' : 'new'),
    (error) => error.code,
  );
  await settle();
  return { gets, isServedAtOnce: peeked !== undefined, requests: service.asked() };
}

describe('onCached', () => {
  it.each(KINDS)('%s: is called for a cached answer, not for a request', async (_kind, ask) => {
    const { service, keyApi } = alone();
    const onCached = vi.fn();
    await ask(keyApi, { onCached });
    await ask(keyApi, { onCached, fresh: true });
    expect(onCached).not.toHaveBeenCalled();
    await ask(keyApi, { onCached });
    expect(onCached).toHaveBeenCalledTimes(1);
    service.later(2 * HOUR, 'outage');
    await ask(keyApi, { onCached });
    expect(onCached).toHaveBeenCalledTimes(2);
  });
});

describe('the age of a positive answer', () => {
  const UNTIL_110 = { ttl: 100, staleIfError: 10 };

  it.each<[string, number, Says, Gets, number, CacheOptions?]>([
    ['in the millisecond of its request', 0, 'negative', 'cached', 1],
    ['fresh until ttl', TTL - 1, 'negative', 'cached', 1],
    ['stale from ttl on: served, and refreshed in the background', TTL, 'positive', 'cached', 2],
    ['stale until staleWhileRevalidate', TTL + HOUR - 1, 'negative', 'cached', 2],
    ['awaited after staleWhileRevalidate', TTL + HOUR, 'positive', 'new', 2],
    ['awaited after staleWhileRevalidate: refused', TTL + HOUR, 'negative', null, 2],
    ['in an outage served until staleIfError', 24 * HOUR - 1, 'outage', 'cached', 2],
    ['in an outage not served from staleIfError on', 24 * HOUR, 'outage', 'service_unavailable', 2],
    ['while a page is all that comes', 24 * HOUR - 1, 'page', 'cached', 2],
    ['while a page is all that comes, too old', 24 * HOUR, 'page', 'unexpected_response', 2],
    ['stale for staleIfError at most', 109, 'positive', 'cached', 2, UNTIL_110],
    ['never stale for longer', 110, 'positive', 'new', 2, UNTIL_110],
    ['with a ttl of 0', 0, 'positive', 'cached', 2, { ttl: 0 }],
  ])('%s', async (_name, age, says, gets, requests, cache = {}) => {
    const isServedAtOnce = gets === 'cached' && !(age > TTL + HOUR);
    const found = await lookUpAt(age, says, 'positive', cache);
    expect(found).toEqual({ gets, isServedAtOnce, requests });
  });

  it.each<[string, number, Says, Gets, number, CacheOptions?]>([
    ['in the millisecond of its request', 0, 'positive', null, 1],
    ['fresh until invalidTtl', 30 * SECOND - 1, 'positive', null, 1],
    ['over from invalidTtl on', 30 * SECOND, 'positive', 'new', 2],
    ['over, in an outage', 30 * SECOND, 'outage', 'service_unavailable', 2],
    ['with an invalidTtl of 0', 0, 'positive', 'new', 2, { invalidTtl: 0 }],
  ])('the age of a negative answer: %s', async (_name, age, says, gets, requests, cache = {}) => {
    const { isServedAtOnce, ...found } = await lookUpAt(age, says, 'negative', cache);
    expect(found).toEqual({ gets, requests });
    expect(isServedAtOnce).toBe(requests === 1);
  });

  it.each([-7 * 24 * HOUR, 7 * 24 * HOUR])(
    'is neither shortened nor lengthened by a system clock that steps: %d ms',
    async (step) => {
      const service = new KeyApiService();
      const keyApi = service.client({ clock: undefined });
      await keyApi.getAccount();
      vi.useFakeTimers({ toFake: ['Date', 'performance'] });
      await keyApi.validatePurchase(CODE);
      service.says = 'negative';
      await keyApi.validatePurchase(OTHER);
      vi.setSystemTime(Date.now() + step);
      vi.advanceTimersByTime(30 * SECOND - 1);
      expect(keyApi.peekPurchase(OTHER)).toBeNull();
      vi.advanceTimersByTime(1);
      expect(keyApi.peekPurchase(OTHER)).toBeUndefined();
      service.says = 'positive';
      vi.advanceTimersByTime(TTL + HOUR - 30 * SECOND - 1);
      expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
      await settle();
      const asked = service.asked();
      expect(asked).toBe(3);
    },
  );

  it.each([
    ['positive', TTL],
    ['negative', 30 * SECOND],
  ] as const)('counts from the request, however long the %s answer took', async (says, life) => {
    const { service, keyApi } = keyApiOn({ says });
    await keyApi.validatePurchase('another-code');
    service.hold();
    const [asked] = await begun(keyApi.validatePurchase(CODE));
    service.now += 20 * SECOND;
    await service.release();
    await asked;
    service.now += life - 20 * SECOND - 1;
    await keyApi.validatePurchase(CODE);
    expect(service.asked()).toBe(2);
    service.now += 1;
    await keyApi.validatePurchase(CODE);
    await settle();
    expect(service.asked()).toBe(3);
  });

  it('does not start again when a stale answer is served', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.says = 'outage';
    for (let hour = 0; hour < 23; hour++) {
      service.now += HOUR;
      expect(await keyApi.validatePurchase(CODE)).not.toBeNull();
    }
    service.now += HOUR;
    await rejection(keyApi.validatePurchase(CODE));
  });
});

describe('each kind of answer', () => {
  it.each(KINDS)('%s: cached, stale, refreshed, stale in an outage', async (kind, ask, value) => {
    const { service, keyApi } = alone();
    const lookups = hear('lookup');
    const at = async (age: number, says: Says): Promise<unknown> => {
      service.now += age;
      service.says = says;
      const found = await ask(keyApi);
      await settle();
      return found;
    };
    const first = await at(0, 'positive');
    expect(first).toEqual(value);
    expect(await at(TTL - 1, 'positive')).toBe(first);
    expect(await at(1, 'positive')).toBe(first);
    expect(await at(24 * HOUR - 1, 'outage')).toEqual(value);
    await expectError(at(1, 'outage'), 'service_unavailable');
    // The error is not cached.
    expect(await at(0, 'positive')).toEqual(value);
    const failed = { outcome: 'failed', code: 'service_unavailable' };
    expect(lookups).toEqual(
      [
        { source: 'service', outcome: 'positive' },
        { source: 'cache', outcome: 'positive' },
        { source: 'stale', outcome: 'positive' },
        { source: 'service', outcome: 'positive' },
        { source: 'service', ...failed },
        { source: 'stale-if-error', outcome: 'positive' },
        { source: 'service', ...failed },
        { source: 'service', outcome: 'positive' },
      ].map((message) => ({ what: kind, ...message })),
    );
  });

  it.each(KINDS)('%s: frozen with all that is in it', async (_kind, ask) => {
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    const service = new KeyApiService();
    const odd = { tags: 'a,b', trace: { deep: [{}] } };
    service.item = { ...item, ...odd };
    service.items = [item, { ...item, ...odd, id: 7 }];
    expect(isFrozen(await ask(service.client()))).toBe(true);
    // Without a cache the answer belongs to the caller.
    const own = await ask(service.client({ cache: false }));
    const parts = [own, ...Object.values(own as object)];
    expect(parts.some((part) => typeof part === 'object' && Object.isFrozen(part))).toBe(false);
  });

  it.each(KINDS)('%s: not cached with cache: false', async (_kind, ask) => {
    const { service, keyApi } = alone(false);
    await ask(keyApi);
    await ask(keyApi);
    expect(service.asked('all')).toBe(2);
    expect(keyApi.peekPurchase(CODE)).toBeUndefined();
    await expect(keyApi.invalidate(CODE)).resolves.toBeUndefined();
    await expect(keyApi.invalidate()).resolves.toBeUndefined();
  });

  it.each(KINDS)('%s: forgotten by invalidate()', async (_kind, ask) => {
    const { service, keyApi } = alone();
    await ask(keyApi);
    await keyApi.invalidate();
    await ask(keyApi);
    expect(service.asked('all')).toBe(2);
    service.says = 'outage';
    await keyApi.invalidate();
    await rejection(ask(keyApi));
  });

  it.each(KINDS)('%s: no refresh in the background after close()', async (_kind, ask) => {
    const { service, keyApi } = alone();
    const first = await ask(keyApi);
    const before = service.asked('all');
    service.now += 6 * MINUTE;
    await keyApi.close();
    expect(await ask(keyApi)).toBe(first);
    await settle();
    expect(service.asked('all')).toBe(before);
  });

  it.each(KINDS)('%s: a caller that has left makes no request', async (_kind, ask) => {
    const { service, keyApi } = alone();
    await ask(keyApi);
    const before = service.asked('all');
    const signal = AbortSignal.abort(new Error('left'));
    for (const fresh of [false, true]) {
      await expect(ask(keyApi, { signal, fresh })).rejects.toThrow('left');
    }
    expect(service.asked('all')).toBe(before);
  });
});

describe('a negative answer', () => {
  it.each([
    ['awaited', 2 * HOUR],
    ['in the background', 6 * MINUTE],
  ])('erases the positive one at once, %s', async (_how, age) => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(age, 'negative');
    await keyApi.validatePurchase(CODE);
    await settle();
    expect(keyApi.peekPurchase(CODE)).toBeNull();
    service.later(MINUTE, 'outage');
    await expectError(keyApi.validatePurchase(CODE), 'service_unavailable');
  });

  it('gives way to a positive one, and does not come back when that is pushed out', async () => {
    const { service, keyApi } = alone({ max: 1, invalidTtl: HOUR });
    service.says = 'negative';
    await keyApi.validatePurchase(CODE);
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE, { fresh: true })).toEqual(purchase);
    expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
    await keyApi.validatePurchase('another-code');
    expect(keyApi.peekPurchase(CODE)).toBeUndefined();
  });

  it('takes no room from positive ones, nor they from it', async () => {
    const { service, keyApi } = alone({ max: 2, maxInvalid: 1 });
    const codes = ['code-a', 'code-b', 'code-c', 'code-x', 'code-y', 'code-z'];
    for (const code of codes.slice(0, 3)) await keyApi.validatePurchase(code);
    service.says = 'negative';
    for (const code of codes.slice(3)) await keyApi.validatePurchase(code);
    const cached = codes.filter((code) => keyApi.peekPurchase(code) !== undefined);
    expect(cached).toEqual(['code-b', 'code-c', 'code-z']);
  });
});

describe('the spelling of a code', () => {
  it('does not matter to a positive answer: it is cached for all of them', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    expect(await keyApi.validatePurchase(CODE.toUpperCase())).toEqual(purchase);
    expect(service.asked()).toBe(1);
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE.toUpperCase(), { fresh: true })).toBeNull();
    expect(keyApi.peekPurchase(CODE)).toBeUndefined();
  });

  it('matters to a negative one: another spelling is asked', async () => {
    const { service, keyApi } = alone();
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE.toUpperCase())).toBeNull();
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    expect(keyApi.peekPurchase(CODE.toUpperCase())).toEqual(purchase);
  });
});

describe('the last positive answer', () => {
  it('serves where the api_key is rejected: nothing was said about the code', async () => {
    const service = new KeyApiService({ keys: new Set([KEY]) });
    let key = KEY;
    const keyApi = service.client({ apiKey: () => key });
    await keyApi.validatePurchase(CODE);
    key = OTHER_KEY;
    service.now += 2 * HOUR;
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    service.now += 23 * HOUR;
    await expectError(keyApi.validatePurchase(CODE), 'api_key_rejected');
  });

  it('survives a key that is revoked within minutes of its check', async () => {
    const { service, keyApi } = keyApiOn({ keys: new Set([KEY]) });
    await keyApi.validatePurchase(CODE);
    service.later(100 * SECOND, 'negative');
    // From here on the key is known to be good for some minutes.
    expect(await keyApi.validatePurchase('a-wrong-code')).toBeNull();
    service.says = 'positive';
    service.keys = new Set();
    service.now += 201 * SECOND;
    await keyApi.validatePurchase(CODE);
    await settle();
    expect(service.asked(ACCOUNT)).toBe(2);
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });

  it.each([
    ['a caller that passes fresh', { fresh: true }],
    ['a caller that left', { signal: AbortSignal.abort(new Error('left')) }],
  ])('does not serve %s', async (_who, options) => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(2 * HOUR, 'outage');
    await expect(keyApi.validatePurchase(CODE, options)).rejects.toThrow();
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });

  it('does not serve a caller that leaves with an outage for its reason', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.says = 'outage';
    const reason = await rejection(keyApi.listItems());
    service.later(2 * HOUR, 'silence');
    const leaving = new AbortController();
    const left = keyApi.validatePurchase(CODE, { signal: leaving.signal });
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
  });
});
