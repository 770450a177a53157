import { checkPurchase } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ITEM, ITEMS, type KeyApiService, settle } from '../../support/key-api-service.js';
import { json, page, text } from '../../support/service-in-memory.js';
import { CODE, item, KEY, purchase, success } from '../../support/wire.js';
import {
  type Fault,
  fleet,
  HOUR,
  KINDS,
  MINUTE,
  moveTimeByHand,
  OTHER,
  OTHER_KEY,
  SECOND,
} from './support.js';

// "Processes share answers: a code asked in every process of a fleet costs one upstream call, also when their clocks are
// hours apart." (contract, section 2)

moveTimeByHand();

const SECRET = 'ours alone, and long enough for a secret';

describe('an answer of another process', () => {
  it.each(KINDS)('%s: is served without a request, and reported as shared', async (what, ask) => {
    const { service, join } = fleet();
    const found = await ask(join());
    const lookups = hear('lookup');
    expect(await ask(join())).toEqual(found);
    expect(service.asked('all')).toBe(1);
    expect(lookups).toEqual([{ what, source: 'shared', outcome: 'positive' }]);
  });

  it('is served also while the service asks this one to leave it alone', async () => {
    const { service, join, joinAndAsk } = fleet();
    await joinAndAsk();
    const two = join();
    service.override = () => page(503, { 'retry-after': '60' });
    for (const code of [OTHER, OTHER, CODE]) {
      const found = two.validatePurchase(code);
      if (code === CODE) expect(await found).toEqual(purchase);
      else expect((await rejection(found)).retryAfter).toBe(60);
    }
    expect(service.asked()).toBe(2);
  });

  it('is served also where it is a negative one that a message has told of', async () => {
    const { service, join, joinAndAsk, refund } = fleet();
    const [one, other] = [await joinAndAsk(), await joinAndAsk()];
    await refund(one);
    const asked = service.asked();
    for (const each of [other, join()]) expect(await each.validatePurchase(CODE)).toBeNull();
    expect(service.asked()).toBe(asked);
  });

  it('is not needed where this process has got one while the shared cache hangs: that is reported as cached', async () => {
    const { service, join, pass } = fleet();
    const one = join();
    await one.getAccount();
    service.hold();
    const first = one.validatePurchase(CODE);
    await settle();
    const lookups = hear('lookup');
    one.link.break('frozen');
    const second = one.validatePurchase(CODE.toUpperCase());
    await service.release();
    await pass(SECOND);
    expect(await Promise.all([first, second])).toEqual([purchase, purchase]);
    expect(service.asked()).toBe(1);
    expect(lookups.map((each) => Object(each).source).sort()).toEqual(['cache', 'service']);
  });

  it('is served in place of an own one that was invalidated before it arrived, and reported as shared', async () => {
    const { service, join, pass } = fleet();
    const [one, two] = [join(), join()];
    service.hold();
    const first = one.validatePurchase(CODE);
    await settle();
    await one.invalidate(CODE);
    await pass(1);
    const second = two.validatePurchase(CODE, { fresh: true });
    await settle();
    const lookups = hear('lookup');
    await service.release(1);
    await service.release(0);
    expect(await Promise.all([first, second])).toEqual([purchase, purchase]);
    expect(service.asked()).toBe(2);
    expect(lookups).toMatchObject([{ source: 'service' }, { source: 'shared' }]);
  });

  // How old it is when another process looks, how the service is then, and what that process gets.
  it.each<[string, KeyApiService['says'], number, KeyApiService['says'], string | null]>([
    ['serves until ttl', 'positive', 5 * MINUTE - 1, 'negative', '1'],
    ['does not from ttl on', 'positive', 5 * MINUTE, 'positive', '2'],
    ['serves in an outage', 'positive', 24 * HOUR - 1, 'outage', '1'],
    ['does not after staleIfError', 'positive', 24 * HOUR, 'outage', 'service_unavailable'],
    ['serves until invalidTtl', 'negative', 30 * SECOND - 1, 'positive', null],
    ['does not from invalidTtl on', 'negative', 30 * SECOND, 'positive', '2'],
    ['does not in an outage', 'negative', 30 * SECOND, 'outage', 'service_unavailable'],
  ])('%s, by the shared clock alone: a %s one', async (_name, first, age, says, gets) => {
    for (const hours of [0, -3, 3]) {
      const { service, clock, join, joinAndAsk } = fleet();
      service.says = first;
      service.item = { ...item, version: '1' };
      await joinAndAsk();
      service.item = { ...item, version: '2' };
      service.later(age, says);
      const other = join({}, { clock: () => clock() + hours * HOUR });
      const found = other.validatePurchase(CODE).then(
        (value) => (value === null ? null : value.item.version),
        (error) => error.code,
      );
      expect(await found).toBe(gets);
    }
  });

  it('counts as known: before a negative one withdraws it, the key is checked again', async () => {
    const { service, join, joinAndAsk } = fleet();
    const two = join();
    service.says = 'negative';
    await two.validatePurchase(OTHER);
    service.says = 'positive';
    await joinAndAsk();
    service.keys = new Set();
    service.later(10 * SECOND);
    expect((await rejection(two.validatePurchase(CODE, { fresh: true }))).code).toBe(
      'api_key_rejected',
    );
  });
});

it('before a negative answer is believed where the shared cache cannot be read, the key is checked again, because another process can have a positive one', async () => {
  const { service, join, joinAndAsk, during, pass } = fleet();
  const one = await joinAndAsk();
  const two = join();
  service.says = 'negative';
  await two.validatePurchase(OTHER);
  two.link.break('cut');
  await pass(10 * SECOND);
  service.keys = new Set();
  const found = during(two.validatePurchase(CODE));
  expect((await rejection(found)).code).toBe('api_key_rejected');
  two.link.mend();
  await pass(10 * SECOND);
  expect(await during(one.validatePurchase(CODE))).toEqual(purchase);
});

describe('what is shared', () => {
  it('is a purchase with fields that could not be read, and that they could not', async () => {
    const { service, join, joinAndAsk } = fleet();
    const sold = { ...purchase, supported_until: 'never' };
    service.override = () => json(success({ data: { purchase: sold } }));
    await joinAndAsk();
    const found = await checkPurchase(join(), CODE, { supported: true, client: false });
    expect(found).toMatchObject({ verdict: 'unknown', error: { code: 'unexpected_response' } });
    expect(service.asked()).toBe(1);
  });

  it('is a list with broken items, which says nothing about an item that is not in it', async () => {
    const { service, join } = fleet();
    service.items = [item, { ...item, id: 'seven' }];
    await join().listItems();
    const two = join();
    expect(await two.listItems()).toEqual([item]);
    expect((await two.getItem(7))?.id).toBe(7);
    expect([service.asked(ITEMS), service.asked(ITEM)]).toEqual([1, 1]);
  });

  it.each([
    ['a list of more than 512 KiB', JSON.stringify('x'.repeat(600_000))],
    ['an item that is nested too deeply for JSON', `${'['.repeat(1e5)}${']'.repeat(1e5)}`],
  ])('is not %s', async (_name, odd) => {
    const { service, shared, join } = fleet();
    const body = JSON.stringify(success({ items: [{ ...item, odd: 0 }] }));
    service.override = () => text(body.replace('"odd":0', `"odd":${odd}`));
    for (const each of [join(), join()]) expect(await each.listItems()).toHaveLength(1);
    expect(service.asked(ITEMS)).toBe(2);
    expect(shared.rows.size).toBe(0);
  });

  it.each<Fault>(['without messages', 'full'])(
    'is not a list of more than 512 KiB, which each process asks for once, however often it must look (%s)',
    async (fault) => {
      const { service, join, during } = fleet();
      service.items = [{ ...item, description: 'x'.repeat(600_000) }];
      const keyApi = join();
      keyApi.link.break(fault);
      for (let n = 0; n < 3; n++) {
        expect(await during(keyApi.listItems())).toHaveLength(1);
        expect((await during(keyApi.getItem(item.id)))?.id).toBe(item.id);
        if (fault === 'full') keyApi.link.shared.reconnect();
      }
      expect([service.asked(ITEMS), service.asked(ITEM)]).toEqual([1, 0]);
      await keyApi.invalidate().catch(() => {});
      await during(keyApi.listItems());
      expect(service.asked(ITEMS)).toBe(2);
    },
  );

  it.each(KINDS.filter(([kind]) => kind !== 'purchase'))(
    '%s: is shared by ttl alone: a negative answer withdraws nothing in another process',
    async (_kind, ask, value) => {
      const { service, shared, clock, join } = fleet();
      const [one, two] = [join(), join()];
      for (const each of [one, two]) await ask(each);
      service.says = 'negative';
      await ask(one, { fresh: true });
      expect(shared.messages).toEqual([]);
      const before = service.asked('all');
      expect(await ask(two)).toEqual(value);
      expect(service.asked('all')).toBe(before);
      for (const { expiresAt } of shared.rows.values()) {
        expect(expiresAt - clock()).toBeLessThanOrEqual(5 * MINUTE);
      }
    },
  );

  it('is nothing between two api_keys, and everything with one secret; each process listens once', async () => {
    const { service, shared, join } = fleet();
    let key = KEY;
    await join({}, { apiKey: () => key }).validatePurchase(CODE);
    await join({}, { apiKey: OTHER_KEY }).validatePurchase(CODE);
    expect(service.asked()).toBe(2);
    const ours = { secret: SECRET, scope: 'shop' };
    await join(ours).validatePurchase(CODE);
    expect(service.asked()).toBe(3);
    const last = join(ours, { apiKey: () => key });
    await last.getAccount();
    key = OTHER_KEY;
    await last.validatePurchase(CODE);
    expect(service.asked()).toBe(3);
    expect(shared.listeners).toBe(4);
  });
});

describe('one request for the whole fleet', () => {
  it('is made when all ask at once', async () => {
    const { service, shared, join, during } = fleet();
    const processes = Array.from({ length: 8 }, () => join());
    const asked = processes.flatMap((each) => [1, 2].map(() => each.validatePurchase(CODE)));
    const found = await during(Promise.all(asked));
    expect(found.map((each) => each?.purchase_code)).toEqual(Array(16).fill(CODE));
    expect(service.asked()).toBe(1);
    expect(shared.locks.size).toBe(0);
  });

  it('is made also when the service takes nearly half of the timeout', async () => {
    const { service, join, pass } = fleet();
    const processes = Array.from({ length: 5 }, () => join());
    for (const each of processes) await each.getAccount();
    service.hold();
    const asked = processes.map((each) => each.validatePurchase(CODE));
    await settle();
    await pass(4900);
    await service.release();
    await pass(100);
    expect(await Promise.all(asked)).toEqual(Array(5).fill(purchase));
    expect(service.asked()).toBe(1);
  });

  it('is waited for once: half of the timeout is for the service, also when its answer is invalidated', async () => {
    const { service, shared, join, pass } = fleet();
    const keyApi = join();
    await keyApi.getAccount();
    vi.spyOn(shared, 'lock').mockResolvedValue(undefined);
    service.hold();
    const asked = keyApi.validatePurchase(CODE);
    await settle();
    await pass(5100);
    await keyApi.invalidate(CODE);
    await service.release();
    expect(await asked).toEqual(purchase);
    expect(service.asked()).toBe(2);
  });

  it('is waited for no longer once the last caller has left: neither the shared cache nor the service is asked', async () => {
    const { service, shared, join, pass } = fleet();
    const keyApi = join();
    await keyApi.getAccount();
    vi.spyOn(shared, 'lock').mockResolvedValue(undefined);
    const leaving = new AbortController();
    const asked = keyApi.validatePurchase(CODE, { signal: leaving.signal }).catch(() => {});
    await settle();
    await pass(SECOND);
    leaving.abort();
    await asked;
    await pass(SECOND);
    const reads = shared.calls.length;
    await pass(10 * SECOND);
    expect(shared.calls.length).toBe(reads);
    expect(service.asked()).toBe(0);
  });

  it.each([
    ['that is killed', 5000],
    ['that gets no answer', 0],
  ])('of a process %s delays the others by at most %d ms', async (how, milliseconds) => {
    const { service, join, pass } = fleet();
    const [one, two] = [join(), join()];
    for (const each of [one, two]) await each.getAccount();
    service.says = 'silence';
    const leaving = new AbortController();
    const asked = one.validatePurchase(CODE, { signal: leaving.signal }).catch(() => {});
    await settle();
    if (how === 'that is killed') one.link.break('cut');
    leaving.abort();
    await asked;
    service.says = 'positive';
    const found = two.validatePurchase(CODE);
    await settle();
    if (milliseconds > 0) {
      await pass(milliseconds - 50);
      expect(service.asked()).toBe(1);
      await pass(100);
    }
    expect(await found).toEqual(purchase);
    expect(service.asked()).toBe(2);
  });

  it('does not wait for a lock that comes too late, which is given back', async () => {
    const { join, shared, during, pass } = fleet();
    const lock = shared.lock.bind(shared);
    vi.spyOn(shared, 'lock').mockImplementationOnce(async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, MINUTE));
      return lock(...given);
    });
    expect(await during(join().validatePurchase(CODE))).not.toBeNull();
    await pass(MINUTE);
    expect([shared.calls.includes('lock'), shared.locks.size]).toEqual([true, 0]);
  });

  it('is none when the answer came just before the lock was there', async () => {
    const { service, shared, join } = fleet();
    const [one, other] = [join(), join()];
    const lock = shared.lock.bind(shared);
    vi.spyOn(shared, 'lock').mockImplementationOnce(async (...given) => {
      await other.validatePurchase(CODE, { fresh: true });
      return lock(...given);
    });
    expect(await one.validatePurchase(CODE)).toEqual(purchase);
    expect(service.asked()).toBe(1);
    expect(shared.locks.size).toBe(0);
  });
});
