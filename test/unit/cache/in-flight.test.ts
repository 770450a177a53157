import { describe, expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { begun, settle } from '../../support/key-api-service.js';
import { CODE, purchase } from '../../support/wire.js';
import { alone, aloneWithAnswer, MINUTE, OTHER } from './support.js';

// "Concurrent lookups of one key make one upstream call; one caller's abort does not fail the others. A call ends on the
// wire when its last caller has left (`signal`), and at `close()`." (contract, section 2)

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

  it('end on the wire when the last caller has left, and not before; the next one asks again', async () => {
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

  it('are one refresh in the background, however often the stale answer is served', async () => {
    const { service, keyApi } = alone();
    const first = await keyApi.validatePurchase(CODE);
    service.now += 6 * MINUTE;
    service.hold();
    for (let i = 0; i < 3; i++) expect(await keyApi.validatePurchase(CODE)).toBe(first);
    await service.release();
    expect(service.asked()).toBe(2);
    expect(keyApi.peekPurchase(CODE)).not.toBe(first);
  });
});

describe('answers count in the order of their requests', () => {
  // Each answer says the number of its request, from 0.
  it.each([
    { order: [0, 1, 2], cached: 2 },
    { order: [2, 1, 0], cached: 2 },
    { order: [1, 0, 2], cached: 2 },
    { order: [1, 0], cached: 1 },
    { order: [0], cached: 0 },
  ])('of three, those that arrive are $order: $cached is cached', async ({ order, cached }) => {
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
      // Of its own request, or of a later one that was answered first.
      latest = Math.max(latest, n);
      expect((await asked[n])?.item.name).toBe(`item ${latest}`);
    }
    expect(keyApi.peekPurchase(CODE)?.item.name).toBe(`item ${cached}`);
    await service.release();
    await Promise.all(asked);
  });

  // Both requests are made in the same moment.
  it.each<[string, 'positive' | 'negative', 'negative' | 'positive' | 'outage', number[], unknown]>(
    [
      ['a late positive answer does not undo a negative one', 'positive', 'negative', [1, 0], null],
      ['a negative one does not undo a later one', 'negative', 'positive', [0, 1], purchase],
      ['a late negative one does not undo a later one', 'negative', 'positive', [1, 0], purchase],
      ['a failure undoes nothing', 'positive', 'outage', [1, 0], purchase],
    ],
  )('%s', async (_name, first, second, order, cached) => {
    const { service, keyApi } = alone();
    await keyApi.getAccount();
    vi.useFakeTimers({ toFake: ['performance'] });
    service.hold();
    const calls: Promise<unknown>[] = [];
    for (const says of [first, second]) {
      service.says = says;
      calls.push(keyApi.validatePurchase(CODE, { fresh: true }).catch(() => 'failed'));
      await settle();
    }
    for (const n of order) await service.release(n);
    await service.release();
    const early = order[0] === 0 ? null : cached;
    expect(await Promise.all(calls)).toEqual([early, second === 'outage' ? 'failed' : cached]);
    expect(keyApi.peekPurchase(CODE)).toEqual(cached);
  });

  it('a negative answer that has expired counts all the same', async () => {
    const { service, keyApi } = alone({ invalidTtl: 0 });
    await keyApi.getAccount();
    service.hold();
    const [old] = await begun(keyApi.validatePurchase(CODE));
    service.says = 'negative';
    const newer = keyApi.validatePurchase(CODE, { fresh: true });
    await settle();
    await service.release(1);
    await service.release();
    expect(await Promise.all([old, newer])).toEqual([null, null]);
    expect(keyApi.peekPurchase(CODE)).toBeUndefined();
  });

  it('a caller without fresh joins the newest in-flight request', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const calls = [{}, { fresh: true }, {}].map((each) => keyApi.validatePurchase(CODE, each));
    await settle();
    expect(service.asked()).toBe(2);
    await service.release();
    const [, newest, joined] = await Promise.all(calls);
    expect(joined).toBe(newest);
  });
});

describe('invalidate', () => {
  it.each([
    ['of the code, in any spelling', ` ${CODE.toUpperCase()}\u200b `],
    ['of everything', undefined],
  ])('%s also holds for in-flight requests, all of them', async (_name, code) => {
    const { service, keyApi } = alone();
    service.hold();
    const asked = [
      keyApi.validatePurchase(CODE),
      keyApi.validatePurchase(CODE, { fresh: true }),
      keyApi.validatePurchase(OTHER),
    ];
    await settle();
    await keyApi.invalidate(code);
    // A new request is made, and not joined to one of before.
    asked.push(keyApi.validatePurchase(CODE));
    await settle();
    expect(service.asked()).toBe(4);
    await service.release(0, 1, 2);
    expect(keyApi.peekPurchase(CODE)).toBeUndefined();
    const held = code === undefined ? undefined : OTHER;
    expect(keyApi.peekPurchase(OTHER)?.purchase_code).toBe(held);
    await service.release();
    await Promise.all(asked);
    expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
  });

  it.each(['', '  ', 7])('of %j is a TypeError and forgets nothing', async (code) => {
    const { keyApi } = await aloneWithAnswer();
    await expect(keyApi.invalidate(code as string)).rejects.toThrow(TypeError);
    expect(keyApi.peekPurchase(CODE)).toEqual(purchase);
  });
});
