import type { CacheOptions, LookupMessage } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { begun, cachedPurchase, KeyApiService, settle } from '../../support/key-api-service.js';
import { json, type Reply } from '../../support/service-in-memory.js';
import { collectWarnings } from '../../support/warnings.js';
import { CODE, item, purchase, refusal } from '../../support/wire.js';
import { alone, aloneWithAnswer, HOUR, KINDS, MINUTE, OTHER, SECOND } from './support.js';

// "Past `ttl` the old answer is served and refreshed behind; past `ttl + staleWhileRevalidate` it is awaited; if the
// service cannot answer, the last real *yes* serves up to `staleIfError`, counted from when the service gave it. A real
// *no* erases a stored yes at once. An exception is never cached."

const TTL = 5 * MINUTE;

type Says = KeyApiService['says'];
/** What a lookup gets: the cached object, a new one, a negative answer, or an error. */
type Gets = 'cached' | 'new' | null | 'service_unavailable' | 'unexpected_response';

const failing = (code: string) => Object.assign(new Error('failed'), { code });

describe('the age of an answer', () => {
  const UNTIL_110 = { ttl: 100, staleIfError: 10 };

  it.each<[Says, string, number, Says, Gets, number, CacheOptions?]>([
    ['positive', 'fresh until ttl', TTL - 1, 'negative', 'cached', 1],
    ['positive', 'stale from ttl on, and refreshed', TTL, 'positive', 'cached', 2],
    ['positive', 'stale until staleWhileRevalidate', TTL + HOUR - 1, 'negative', 'cached', 2],
    ['positive', 'awaited after staleWhileRevalidate', TTL + HOUR, 'positive', 'new', 2],
    ['positive', 'in an outage until staleIfError', 24 * HOUR - 1, 'outage', 'cached', 2],
    ['positive', 'not from staleIfError on', 24 * HOUR, 'outage', 'service_unavailable', 2],
    ['positive', 'stale for staleIfError at most', 109, 'positive', 'cached', 2, UNTIL_110],
    ['positive', 'never stale for longer', 110, 'positive', 'new', 2, UNTIL_110],
    ['negative', 'fresh until invalidTtl', 30 * SECOND - 1, 'positive', null, 1],
    ['negative', 'over from invalidTtl on', 30 * SECOND, 'positive', 'new', 2],
    ['negative', 'with an invalidTtl of 0', 0, 'positive', 'new', 2, { invalidTtl: 0 }],
  ])('%s: %s', async (first, _name, age, says, gets, requests, cache = {}) => {
    const { service, keyApi } = alone(cache);
    service.says = first;
    const cached = await keyApi.validatePurchase(CODE);
    service.later(age, says);
    const isServedAtOnce = (await cachedPurchase(keyApi, CODE)) !== undefined;
    const got = await keyApi.validatePurchase(CODE).then(
      (found) => (found === null ? null : found === cached ? 'cached' : 'new'),
      (error) => error.code,
    );
    await settle();
    expect([got, service.asked()]).toEqual([gets, requests]);
    const isAwaited = requests > 1 && (gets !== 'cached' || age > TTL + HOUR);
    expect(isServedAtOnce).toBe(!isAwaited);
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
      for (const [code, age, found] of [
        [OTHER, 30 * SECOND, null],
        [CODE, TTL + HOUR - 30 * SECOND, purchase],
      ] as const) {
        vi.advanceTimersByTime(age - 1);
        expect(await cachedPurchase(keyApi, code)).toEqual(found);
        vi.advanceTimersByTime(1);
        expect(await cachedPurchase(keyApi, code)).toBeUndefined();
      }
    },
  );

  it('counts from the request, however long the answer took', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const [asked] = await begun(keyApi.validatePurchase(CODE));
    service.now += 20 * SECOND;
    await service.release();
    await asked;
    service.now += TTL - 20 * SECOND - 1;
    for (const requests of [1, 2]) {
      await keyApi.validatePurchase(CODE);
      await settle();
      expect(service.asked()).toBe(requests);
      service.now += 1;
    }
  });
});

it.each<[string, () => Reply, string | undefined]>([
  ['not for a refusal in other words', () => json(refusal('Wrong format'), 400), 'service_refused'],
  ['not where no file is left', () => failing('EMFILE'), 'service_unavailable'],
  ['where the name of the service cannot be looked up', () => failing('EAI_AGAIN'), undefined],
])('past staleWhileRevalidate the stale answer is served %s', async (_why, reply, code) => {
  const { service, keyApi } = await aloneWithAnswer();
  service.later(TTL + HOUR);
  service.override = reply;
  const end = await keyApi.validatePurchase(CODE).catch((error) => error.code);
  expect(end).toEqual(code ?? purchase);
});

describe.each(KINDS)('each kind of answer: %s', (kind, ask, value) => {
  // An item past its list's ttl is not served stale: the list is asked for.
  const isStaleServed = kind !== 'item';

  it('is cached, stale, refreshed, and stale in an outage; an error is not cached', async () => {
    const { service, keyApi } = alone();
    const lookups = hear<LookupMessage>('lookup');
    const at = async (age: number, says: Says): Promise<unknown> => {
      service.later(age, says);
      const found = await ask(keyApi);
      await settle();
      return found;
    };
    const first = await at(0, 'positive');
    expect(first).toEqual(value);
    expect(await at(TTL - 1, 'positive')).toBe(first);
    const past = await at(1, 'positive');
    expect(past === first).toBe(isStaleServed);
    expect(await at(24 * HOUR - 1, 'outage')).toEqual(value);
    await expectError(at(10 * SECOND, 'outage'), 'service_unavailable');
    expect(await at(10 * SECOND, 'positive')).toEqual(value);
    await ask(keyApi, { fresh: true });
    const failed = {
      source: 'service',
      outcome: 'failed',
      code: 'service_unavailable',
      reason: expect.any(String),
    };
    const sources = isStaleServed
      ? ['service', 'cache', 'stale', 'service', failed, 'stale-if-error', failed]
      : ['cache', 'cache', 'cache', failed, 'stale-if-error', failed];
    sources.push('service', 'service');
    expect(lookups.filter(({ what }) => what === kind)).toEqual(
      sources.map((source) => ({
        what: kind,
        ...(typeof source === 'string' ? { source, outcome: 'positive' } : source),
      })),
    );
  });

  it('is frozen with all that is in it; with cache: false it belongs to the caller, and the next one asks again', async () => {
    const isFrozen = (part: unknown): boolean =>
      Object(part) !== part ||
      (Object.isFrozen(part) && Object.values(part as object).every(isFrozen));
    const service = new KeyApiService();
    const odd = { ...item, tags: 'a,b', trace: { deep: [{}] } };
    Object.assign(service, { item: odd, items: [item, { ...odd, id: 7 }] });
    expect(isFrozen(await ask(service.client()))).toBe(true);
    const keyApi = service.client({ cache: false });
    const before = service.asked('all');
    const own = await ask(keyApi);
    const parts = [own, ...Object.values(own as object)];
    expect(parts.some((part) => typeof part === 'object' && Object.isFrozen(part))).toBe(false);
    await keyApi.invalidate();
    await ask(keyApi);
    expect(service.asked('all')).toBe(before + 2);
  });

  it('costs a caller that has left no request, and is served to it where it is cached, until close()', async () => {
    const { service, keyApi } = alone();
    const signal = AbortSignal.abort(new Error('left'));
    await expect(ask(keyApi, { signal })).rejects.toThrow('left');
    expect(service.asked('all')).toBe(0);
    const first = await ask(keyApi);
    const before = service.asked('all');
    await expect(ask(keyApi, { signal, fresh: true })).rejects.toThrow('left');
    expect(await ask(keyApi, { signal })).toBe(first);
    await keyApi.close();
    for (const call of [ask(keyApi), keyApi.invalidate(CODE)]) {
      await expectError(call, 'service_unavailable', 'this client was closed');
    }
    expect(service.asked('all')).toBe(before);
  });
});

describe('a refresh that has failed', () => {
  it('is not made again for ten seconds, which an outage is no warning for', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    const warnings = collectWarnings();
    service.later(6 * MINUTE, 'outage');
    const visit = async (after: number) => {
      service.now += after;
      expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
      await settle();
      return service.asked();
    };
    expect([await visit(0), await visit(10 * SECOND - 1), await visit(1)]).toEqual([2, 2, 3]);
    service.says = 'positive';
    expect([await visit(1), await visit(10 * SECOND - 1)]).toEqual([3, 4]);
    expect(warnings).toEqual([]);
  });

  it.each<[string, Partial<KeyApiService>, string]>([
    ['a page', { says: 'page' }, 'unexpected_response'],
    ['a revoked key', { keys: new Set() }, 'api_key_rejected'],
  ])('is said as a warning, with the reason: %s', async (_what, state, code) => {
    const { service, keyApi } = await aloneWithAnswer();
    const warnings = collectWarnings();
    service.later(6 * MINUTE);
    Object.assign(service, state);
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    for (let n = 0; n < 2; n++) await settle();
    expect(warnings.map(({ code }) => code)).toEqual(['MARKETGATE_REFRESH_FAILED']);
    expect(warnings[0]?.message).toContain(`explain ${code}`);
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
    expect(await cachedPurchase(keyApi, CODE)).toBeNull();
    service.later(MINUTE, 'outage');
    await expectError(keyApi.validatePurchase(CODE), 'service_unavailable');
  });

  it('gives way to a positive one, and does not come back when that is pushed out', async () => {
    const { service, keyApi } = alone({ max: 1, invalidTtl: HOUR });
    service.says = 'negative';
    await keyApi.validatePurchase(CODE);
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE, { fresh: true })).toEqual(purchase);
    await keyApi.validatePurchase(OTHER);
    expect(await cachedPurchase(keyApi, CODE)).toBeUndefined();
  });

  it('takes no room from positive ones, nor they from it', async () => {
    const { service, keyApi } = alone({ max: 2, maxInvalid: 1 });
    const codes = ['code-a', 'code-b', 'code-c', 'code-x', 'code-y', 'code-z'];
    for (const [n, code] of codes.entries()) {
      service.says = n < 3 ? 'positive' : 'negative';
      await keyApi.validatePurchase(code);
    }
    const lookups = hear('lookup');
    const cached = await Promise.all(codes.map((code) => cachedPurchase(keyApi, code)));
    expect(codes.filter((_, n) => cached[n] !== undefined)).toEqual(['code-b', 'code-c', 'code-z']);
    expect(lookups.at(-1)).toEqual({ what: 'purchase', source: 'cache', outcome: 'negative' });
  });

  it('is about one spelling, and a positive one about all; a negative one ends it in all', async () => {
    const { service, keyApi } = alone();
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE.toUpperCase())).toBeNull();
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    expect(await cachedPurchase(keyApi, CODE.toUpperCase())).toEqual(purchase);
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE.toUpperCase(), { fresh: true })).toBeNull();
    expect(await cachedPurchase(keyApi, CODE)).toBeUndefined();
  });
});

describe('the last positive answer', () => {
  it('serves until staleIfError where the api_key is rejected: nothing was said about the code', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.keys = new Set();
    service.later(24 * HOUR - 1);
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    service.later(1);
    await expectError(keyApi.validatePurchase(CODE), 'api_key_rejected');
  });

  it('serves no caller that passes fresh, and none that leaves with an outage for its reason', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(2 * HOUR, 'outage');
    const reason = await rejection(keyApi.validatePurchase(CODE, { fresh: true }));
    service.says = 'silence';
    const leaving = new AbortController();
    const left = keyApi.validatePurchase(CODE, { signal: leaving.signal });
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
  });
});
