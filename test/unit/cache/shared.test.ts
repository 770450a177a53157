import type { CacheOptions, KeyApi } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear, unhandledRejections } from '../../support/hear.js';
import { ACCOUNT, begun, type KeyApiService, settle } from '../../support/key-api-service.js';
import { CODE, item, KEY, purchase } from '../../support/wire.js';
import {
  expectRefused,
  expectUnavailable,
  fleet,
  HOUR,
  KINDS,
  MINUTE,
  OTHER,
  OTHER_KEY,
  pairOf,
  SECOND,
} from './support.js';

type Says = KeyApiService['says'];

const SECRET = 'ours alone, and long enough for a secret';

/** What a process would serve from its own cache. */
const cachedBy = (processes: KeyApi[], code = CODE) =>
  processes.map((each) => each.peekPurchase(code)?.purchase_code);

describe('an answer of another process', () => {
  it.each(KINDS)('%s: is served without a request, and reported as shared', async (what, ask) => {
    const { service, join } = fleet();
    const onCached = vi.fn();
    const found = await ask(join(), { onCached });
    expect(onCached).not.toHaveBeenCalled();
    await settle();
    const lookups = hear('lookup');
    expect(await ask(join(), { onCached })).toEqual(found);
    expect(service.asked('all')).toBe(1);
    expect(lookups).toEqual([{ what, source: 'shared', outcome: 'positive' }]);
    expect(onCached).toHaveBeenCalledTimes(1);
  });

  // How old it is when another process looks, and what that process makes of it.
  const LONG_TTL = { ttl: HOUR, staleIfError: 0 };
  it.each<[Says, string, number, Says, string | null, CacheOptions?]>([
    ['positive', 'fresh until ttl', 5 * MINUTE - 1, 'negative', 'version 1'],
    ['positive', 'no longer fresh from ttl on', 5 * MINUTE, 'positive', 'version 2'],
    ['positive', 'stale in an outage', 24 * HOUR - 1, 'outage', 'version 1'],
    ['positive', 'too old from staleIfError on', 24 * HOUR, 'outage', 'service_unavailable'],
    ['positive', 'fresh until a longer ttl', HOUR - 1, 'outage', 'version 1', LONG_TTL],
    ['negative', 'fresh until invalidTtl', 30 * SECOND - 1, 'positive', null],
    ['negative', 'over from invalidTtl on', 30 * SECOND, 'positive', 'version 2'],
    ['negative', 'over, and not served in an outage', 30 * SECOND, 'outage', 'service_unavailable'],
  ])('a %s one: %s', async (first, _name, age, says, gets, cache = {}) => {
    const { service, join, joinAndAsk } = fleet();
    service.says = first;
    service.item = { ...item, version: 'version 1' };
    await joinAndAsk(cache);
    service.item = { ...item, version: 'version 2' };
    service.now += age;
    service.says = says;
    const found = await join(cache)
      .validatePurchase(CODE)
      .then(
        (value) => (value === null ? null : value.item.version),
        (error) => error.code,
      );
    expect(found).toBe(gets);
  });

  it('is as old here as it is there', async () => {
    const { service, joinAndAsk } = fleet();
    await joinAndAsk();
    service.now += 4 * MINUTE;
    const two = await joinAndAsk();
    service.now += MINUTE - 1;
    await two.validatePurchase(CODE);
    await settle();
    expect(service.asked()).toBe(1);
    service.now += 1;
    await two.validatePurchase(CODE);
    await settle();
    expect(service.asked()).toBe(2);
  });

  it.each<[string, number, number]>([
    ['the process that asks is hours behind', -3 * HOUR, 0],
    ['the process that asks is hours ahead', 3 * HOUR, 0],
    ['the others are hours behind', 0, -30 * HOUR],
    ['the others are hours ahead', 0, 30 * HOUR],
  ])(
    'has the same age in every process, whatever their clocks say: %s',
    async (_name, ...skews) => {
      const { service, join, joinAndAsk } = fleet();
      const [asking, other] = skews.map((skew) => ({ clock: () => service.now + skew }));
      await joinAndAsk({}, asking);
      service.now += 5 * MINUTE - 1;
      await joinAndAsk({}, other);
      expect(service.asked()).toBe(1);
      service.now += 1;
      await joinAndAsk({}, other);
      expect(service.asked()).toBe(2);
      service.later(24 * HOUR - 1, 'outage');
      const late = join({}, other);
      expect(await late.validatePurchase(CODE)).toEqual(purchase);
      service.now += 1;
      await expectUnavailable(service, late, join({}, other));
    },
  );

  it.each<[string, number, string]>([
    ['the own one is younger', -1, 'own'],
    ['the own one is as old', 0, 'own'],
    ['the own one is older', 1, 'shared'],
  ])('is served in an outage, or not: %s', async (_name, later, gets) => {
    const { service, shared, join } = fleet();
    const at = service.now;
    const write = async (keyApi: KeyApi, version: string): Promise<void> => {
      service.item = { ...item, version };
      await keyApi.validatePurchase(CODE, { fresh: true });
      await settle();
    };
    const [one, two] = [join(), join()];
    if (later > 0) await write(one, 'own');
    service.now = at + later;
    await write(two, 'shared');
    const rows = [...shared.rows];
    service.now = at;
    if (later <= 0) await write(one, 'own');
    for (const row of rows) shared.rows.set(...row);
    service.now = at + 2 * HOUR;
    service.says = 'outage';
    expect((await one.validatePurchase(CODE))?.item.version).toBe(gets);
  });

  it('that is stale makes a negative answer grave: the key is checked anew', async () => {
    const { service, join, joinAndAsk } = fleet();
    await joinAndAsk();
    service.now += 2 * HOUR;
    const two = join();
    service.says = 'negative';
    await two.validatePurchase(OTHER);
    service.now += 6 * SECOND;
    expect(await two.validatePurchase(CODE)).toBeNull();
    expect(service.asked(ACCOUNT)).toBe(2);
  });
});

describe('one request for the whole fleet', () => {
  it('is made when all ask at once', async () => {
    const { service, shared, join } = fleet();
    const processes = Array.from({ length: 8 }, () => join());
    const found = await Promise.all(
      processes.flatMap((each) => [each.validatePurchase(CODE), each.validatePurchase(CODE)]),
    );
    expect(found.map((each) => each?.purchase_code)).toEqual(Array(16).fill(CODE));
    expect(service.asked()).toBe(1);
    await settle();
    expect(shared.locks.size).toBe(0);
  });

  it('is made anew by the next process when it fails', async () => {
    const { service, shared, join } = fleet();
    service.says = 'outage';
    await rejection(join().validatePurchase(CODE));
    expect(shared.locks.size).toBe(0);
    // The generation.
    expect(shared.rows.size).toBe(1);
    service.says = 'positive';
    expect(await join().validatePurchase(CODE)).toEqual(purchase);
  });

  it('is not enough with another secret, or after the api_key was rotated', async () => {
    const { service, join, joinAndAsk } = fleet();
    await joinAndAsk();
    let key = KEY;
    await join({ secret: SECRET, scope: 'shop' }).validatePurchase(CODE);
    const two = await joinAndAsk({}, { apiKey: () => key });
    expect(service.asked()).toBe(2);
    key = OTHER_KEY;
    await two.validatePurchase(OTHER);
    await join().validatePurchase(OTHER);
    expect(service.asked()).toBe(4);
  });

  it('is enough with one secret, whatever the api_keys; each listens once', async () => {
    const { service, shared, join } = fleet();
    const secret = SECRET;
    let key = KEY;
    const one = join({ secret, scope: 'shop' });
    const two = join({ secret, scope: 'shop' }, { apiKey: () => key });
    await one.validatePurchase(CODE);
    await settle();
    key = OTHER_KEY;
    await two.validatePurchase(CODE);
    expect(service.asked()).toBe(1);
    expect(shared.listeners).toBe(2);
  });
});

describe('a negative answer in one process', () => {
  it.each(KINDS.filter(([kind]) => kind !== 'account'))(
    '%s: withdraws the positive one of the others, and nothing else',
    async (kind, ask) => {
      const { service, join } = fleet();
      const [one, two] = [join(), join()];
      for (const each of [one, two]) for (const [, askAll] of KINDS) await askAll(each);
      await settle();
      service.later(1, 'negative');
      await ask(one, { fresh: true });
      await settle();
      const before = service.asked('all');
      const lookups = hear('lookup');
      for (const [, askAll] of KINDS) await askAll(two);
      expect(service.asked('all')).toBe(before);
      expect(lookups).toEqual(
        KINDS.map(([what]) => ({
          what,
          source: what === kind ? 'shared' : 'cache',
          outcome: what === kind ? 'negative' : 'positive',
        })),
      );
    },
  );

  it.each([
    ['that had no positive one itself', true],
    ['that had a positive one, found out in the background', false],
  ])('%s reaches the others', async (_name, isFresh) => {
    const { service, join } = fleet();
    const [one, two] = [join(), join()];
    await one.validatePurchase(CODE);
    await settle();
    if (!isFresh) await two.validatePurchase(CODE);
    service.later(6 * MINUTE, 'negative');
    await two.validatePurchase(CODE, { fresh: isFresh });
    await settle();
    expect(cachedBy([one])).toEqual([undefined]);
    expect(await one.validatePurchase(CODE)).toBeNull();
    expect(service.asked()).toBe(2);
  });

  it('is in the shared cache before it is published', async () => {
    const { service, shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    shared.calls.length = 0;
    service.says = 'negative';
    await one.validatePurchase(CODE, { fresh: true });
    expect(shared.calls).toEqual(['read', 'write', 'publish']);
  });
});

describe('invalidate in one process', () => {
  it.each([
    ['one code', CODE, [undefined, OTHER]],
    ['everything', undefined, [undefined, undefined]],
  ])('%s: holds for all of them', async (_name, code, cached) => {
    const { service, one, two, join } = await pairOf(fleet(), (each) =>
      Promise.all([CODE, OTHER].map((sold) => each.validatePurchase(sold))),
    );
    service.says = 'negative';
    await one.invalidate(code);
    for (const each of [one, two]) {
      expect([...cachedBy([each]), ...cachedBy([each], OTHER)]).toEqual(cached);
    }
    // Neither does the shared cache have it any more.
    expect(await two.validatePurchase(CODE)).toBeNull();
    expect(await join().validatePurchase(CODE)).toBeNull();
    expect((await join().validatePurchase(OTHER))?.purchase_code).toBe(cached[1]);
  });

  it.each([
    ['this process', 0, CODE],
    ['another process', 1, CODE],
    ['this process, of everything', 0, undefined],
    ['another process, of everything', 1, undefined],
  ])('makes in-flight lookups ask again: by %s', async (_name, by, code) => {
    const { service, one, two, join } = await pairOf(fleet(), (each) => each.getItem(1));
    service.hold();
    const [call] = await begun(one.validatePurchase(CODE));
    await [one, two][by]?.invalidate(code);
    service.says = 'negative';
    await service.release();
    expect(await call).toBeNull();
    expect(await join().validatePurchase(CODE)).toBeNull();
    expect(service.asked()).toBe(2);
  });

  it('that was sent leaves the code to be shared again', async () => {
    const { service, join, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    await one.invalidate(CODE);
    await one.validatePurchase(CODE);
    await settle();
    await join().validatePurchase(CODE);
    expect(service.asked()).toBe(2);
  });

  it('is about its own code only, also where that reads like something else', async () => {
    const { one, two } = await pairOf(fleet());
    for (const code of ['99999999999999', 'generation 99999999', `a ${CODE}`]) {
      await two.validatePurchase(code);
      await settle();
      await one.invalidate(code);
      expect(cachedBy([two], code)).toEqual([undefined]);
    }
    expect(cachedBy([one, two])).toEqual([CODE, CODE]);
  });

  it('forgets all spellings of a code', async () => {
    const { service, one, two } = await pairOf(fleet());
    await one.invalidate(CODE.toUpperCase());
    expect(cachedBy([one, two])).toEqual([undefined, undefined]);
    await expectRefused(service, two);
  });

  it('works across a rotated api_key, in a process that has only served hits since', async () => {
    const { join } = fleet();
    let key = KEY;
    const [one, two] = [join({}, { apiKey: () => key }), join({}, { apiKey: () => key })];
    for (const each of [one, two]) await each.validatePurchase(CODE);
    key = OTHER_KEY;
    await one.validatePurchase(OTHER);
    await one.invalidate(CODE);
    await settle();
    expect(cachedBy([two])).toEqual([undefined]);
  });
});

describe('a message', () => {
  it.each([
    ['empty', ''],
    ['in clear', `purchase ${CODE}`],
    ['forged', '1.AAAA'],
  ])('that is not sealed by this fleet makes nobody forget: %s', async (_name, message) => {
    const { shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    await shared.publish(message);
    const other = await joinAndAsk({ secret: `${SECRET} of another fleet`, scope: 'shop' });
    await other.invalidate(CODE);
    await other.invalidate();
    expect(cachedBy([one])).toEqual([CODE]);
  });

  it('that is a sealed row of this fleet makes nobody forget', async () => {
    const { shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    for (const { value } of shared.rows.values()) await shared.publish(value);
    expect(cachedBy([one])).toEqual([CODE]);
  });

  it('that comes while the subscription begins breaks nothing', async () => {
    const { service, shared, joinAndAsk } = fleet();
    const subscribe = vi.spyOn(shared, 'subscribe').mockImplementation(async (onInvalidate) => {
      onInvalidate('of another fleet');
      onInvalidate(undefined);
      return async () => {};
    });
    const one = await joinAndAsk();
    await one.validatePurchase(OTHER);
    expect(subscribe).toHaveBeenCalledOnce();
    expect(service.asked()).toBe(2);
  });

  it('does not arrive after close()', async () => {
    const { shared, joinAndAsk } = fleet();
    const one = await joinAndAsk();
    expect(shared.listeners).toBe(1);
    await one.close();
    expect(shared.listeners).toBe(0);
    await one.validatePurchase(CODE);
    await one.close();
    expect(shared.listeners).toBe(0);
  });
});

it('the secret that cannot be had leaves the shared cache alone', async () => {
  const { service, shared, join } = fleet();
  const unhandled = unhandledRejections();
  let isFailing = true;
  const apiKey = async () => (isFailing ? Promise.reject(new Error('vault')) : KEY);
  const one = join({}, { apiKey });
  await expectError(one.validatePurchase(CODE), 'service_unavailable');
  await expectError(one.invalidate(CODE), 'store_unavailable');
  await rejection(one.validatePurchase(CODE, { fresh: true }));
  await settle();
  expect([...shared.calls, ...shared.messages]).toEqual([]);
  isFailing = false;
  expect(await one.validatePurchase(CODE)).toEqual(purchase);
  expect(service.asked()).toBe(1);
  expect(unhandled).not.toHaveBeenCalled();
});
