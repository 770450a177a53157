import { describe, expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import {
  begun,
  cachedPurchase,
  type KeyApiService,
  settle,
} from '../../support/key-api-service.js';
import { CODE, item, purchase } from '../../support/wire.js';
import { alone, aloneWithAnswer, MINUTE, OTHER } from './support.js';

// "Concurrent lookups of one key make one upstream call; one caller's abort does not fail the others. A call ends on the
// wire when its last caller has left (`signal`), and at `close()`."

type Says = KeyApiService['says'];

describe('concurrent identical lookups', () => {
  it.each<Says>(['positive', 'outage'])('share one request, and its answer: %s', async (says) => {
    const { service, keyApi } = alone();
    service.says = says;
    const call = () => keyApi.validatePurchase(CODE).catch((error: unknown) => error);
    expect(new Set(await Promise.all(Array.from({ length: 100 }, call))).size).toBe(1);
    expect(service.asked()).toBe(1);
  });

  it('are those of one spelling, and ask again when invalidated, though that of another has ended', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const codes = [CODE, CODE.toUpperCase()];
    const calls = await begun(...codes.map((code) => keyApi.validatePurchase(code)));
    expect(service.asked()).toBe(2);
    await service.release(0);
    await keyApi.invalidate(CODE);
    service.says = 'negative';
    await service.release();
    expect(await Promise.all(calls)).toEqual([purchase, null]);
  });

  it('ask three times at most when their code is invalidated each time', async () => {
    const { service, keyApi } = alone();
    service.hold();
    const [call] = await begun(rejection(keyApi.validatePurchase(CODE)));
    for (let n = 0; n < 4; n++) {
      await keyApi.invalidate(CODE);
      await service.release(n);
    }
    expect(await call).toMatchObject({ code: 'service_unavailable' });
    expect(service.asked()).toBe(3);
  });

  it('ask again when their code is invalidated before the negative answer arrives, and are not joined', async () => {
    const { service, keyApi } = alone();
    service.says = 'negative';
    await keyApi.getAccount();
    service.hold();
    const calls = await begun(keyApi.validatePurchase(CODE));
    await keyApi.invalidate(CODE);
    service.says = 'positive';
    calls.push(...(await begun(keyApi.validatePurchase(CODE))));
    expect(service.asked()).toBe(2);
    await service.release();
    expect(await Promise.all(calls)).toEqual([purchase, purchase]);
  });

  it('end on the wire when the last caller has left, and not before; the next one asks again', async () => {
    const { service, keyApi } = alone();
    service.says = 'silence';
    const leaving = [new AbortController(), new AbortController()];
    const left = leaving.map(({ signal }) =>
      keyApi.validatePurchase(CODE, { signal }).catch((reason: unknown) => reason),
    );
    await settle();
    const [request] = service.wire.requests;
    for (const [n, caller] of leaving.entries()) {
      expect(request?.isAborted).toBe(false);
      const reason = new Error('left');
      caller.abort(reason);
      expect(await left[n]).toBe(reason);
    }
    await settle();
    expect(request?.isAborted).toBe(true);
    service.says = 'positive';
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(2);
  });

  it('end on the wire with close(), and reject at once; so does a refresh in the background', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(6 * MINUTE, 'silence');
    await keyApi.validatePurchase(CODE);
    const [asked] = await begun(rejection(keyApi.validatePurchase(OTHER)));
    await keyApi.close();
    expect((await asked).message).toContain('this client was closed');
    const aborted = service.wire.requests.map(({ isAborted }) => isAborted);
    expect(aborted).toEqual([false, true, true]);
  });

  it('are one refresh in the background for all spellings, in that of the answer that is stale', async () => {
    const { service, keyApi } = await aloneWithAnswer();
    service.later(6 * MINUTE);
    for (const code of [CODE.toUpperCase(), CODE]) {
      expect(await keyApi.validatePurchase(code)).toEqual(purchase);
    }
    await settle();
    const sent = service.wire.requests.map(({ parameter }) => parameter('purchase_code'));
    expect(sent).toEqual([CODE, CODE]);
  });
});

describe('answers count in the order of their requests', () => {
  // What the service says of the first and of the second request, which answer arrives first, and what is cached in the end:
  // nothing positive, or the answer of a request.
  it.each<[string, Says, Says, number, null | 0 | 1]>([
    ['a late positive answer does not undo a later one', 'positive', 'positive', 1, 1],
    ['a late positive answer does not undo a negative one', 'positive', 'negative', 1, null],
    ['a negative one does not undo a later one', 'negative', 'positive', 0, 1],
    ['a failure undoes nothing', 'positive', 'outage', 1, 0],
  ])('%s', async (_name, first, second, arrivesFirst, cached) => {
    const { service, keyApi } = alone();
    await keyApi.getAccount();
    service.hold();
    const calls = [];
    for (const [n, says] of [first, second].entries()) {
      service.later(1, says);
      service.item = { ...item, version: `${n}` };
      const call = keyApi.validatePurchase(CODE, { fresh: true });
      calls.push(...(await begun(call.catch(() => undefined))));
    }
    await service.release(arrivesFirst);
    await service.release();
    const versions = (await Promise.all(calls)).map((found) => found?.item.version);
    expect(versions[1]).toBe(second === 'positive' ? '1' : undefined);
    const last = cached === null ? undefined : `${cached}`;
    if (arrivesFirst === 1) expect(versions[0]).toBe(last);
    expect((await cachedPurchase(keyApi, CODE))?.item.version).toBe(last);
  });
});

// A code that got lost must not forget everything.
it.each(['', '  ', 7, undefined])(
  'invalidate of %j is a TypeError and forgets nothing',
  async (code) => {
    const { keyApi } = await aloneWithAnswer();
    await expect(keyApi.invalidate(code as string)).rejects.toThrow(TypeError);
    expect(await cachedPurchase(keyApi, CODE)).toEqual(purchase);
  },
);
