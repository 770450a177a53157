import type { KeyApi } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { Link } from '../../model/fleet-model.js';
import { expectError } from '../../support/errors.js';
import { settle } from '../../support/key-api-service.js';
import { CODE } from '../../support/wire.js';
import {
  expectRefused,
  expectUnavailable,
  fleet,
  MINUTE,
  moveTimeByHand,
  OTHER,
  refund,
} from './support.js';

// Wrong codes, of which a visitor can send many, next to real refunds, which must not be forgotten.

moveTimeByHand();

const LIMITS = { max: 20, maxInvalid: 10, invalidTtl: 0 };

/** Twice as many as a process of these tests remembers of anything. */
const WRONG = Array.from({ length: 60 }, (_, n) => `wrong-code-${n}`);

/** What a call resolves to, while timers run: it can wait for the lock of another process. */
async function passing<T>(call: Promise<T>): Promise<T> {
  let isDone = false;
  void Promise.allSettled([call]).then(() => {
    isDone = true;
  });
  for (await settle(); !isDone; await settle()) await vi.advanceTimersByTimeAsync(25);
  return call;
}

/** A fleet with a link for each process, and as many processes as are asked for. */
function linkedFleet(size: number) {
  const { service, shared, join } = fleet();
  const links = Array.from({ length: size }, () => new Link(shared, false));
  const processes = links.map((link) => join({ ...LIMITS, shared: link }));
  const guess = async (by: KeyApi): Promise<void> => {
    service.says = 'negative';
    for (const code of WRONG) expect(await passing(by.validatePurchase(code))).toBeNull();
  };
  /** The shared cache has lost everything, and a process that was cut off is back. */
  const flushAndReconnect = async (link: Link): Promise<void> => {
    shared.rows.clear();
    service.says = 'outage';
    link.setState('up');
    await vi.advanceTimersByTimeAsync(10_000);
    await settle();
  };
  type Some<T> = [T, T, T];
  return {
    service,
    shared,
    links: links as unknown as Some<Link>,
    processes: processes as unknown as Some<KeyApi>,
    guess,
    flushAndReconnect,
  };
}

describe('a refund that is followed by many wrong codes', () => {
  it('is sent again to a process that missed it, when the shared cache has lost it', async () => {
    const { service, links, processes, guess, flushAndReconnect } = linkedFleet(2);
    const [one, two] = processes;
    for (const each of [one, two]) await each.validatePurchase(CODE);
    links[1].setState('cut');
    await refund(service, one);
    await guess(one);
    await flushAndReconnect(links[1]);
    await expectUnavailable(service, two);
  });

  it('is sent again with all others, up to as many as answers are cached', async () => {
    const { service, links, processes, flushAndReconnect } = linkedFleet(2);
    const [one, two] = processes;
    const codes = WRONG.slice(0, 20);
    for (const each of [one, two]) for (const code of codes) await each.validatePurchase(code);
    links[1].setState('cut');
    service.says = 'negative';
    for (const code of codes) await one.validatePurchase(code, { fresh: true });
    await flushAndReconnect(links[1]);
    for (const code of codes) await expectError(two.validatePurchase(code), 'service_unavailable');
  });

  it('holds in the process that heard it, when the shared cache is restored from before', async () => {
    const { service, shared, processes, guess } = linkedFleet(1);
    const [one] = processes;
    await one.validatePurchase(CODE);
    const dump = [...shared.rows];
    await refund(service, one);
    // A second negative answer does not make it a guess.
    expect(await one.validatePurchase(CODE, { fresh: true })).toBeNull();
    await guess(one);
    shared.rows.clear();
    for (const [name, row] of dump) shared.rows.set(name, row);
    await expectUnavailable(service, one);
  });

  it.each([
    ['a lookup', false],
    ['a fresh lookup', true],
  ])('counts where only the shared cache knew of the purchase: %s', async (_name, fresh) => {
    const { service, links, processes, guess, flushAndReconnect } = linkedFleet(2);
    const [one, two] = processes;
    await one.getAccount();
    await two.validatePurchase(CODE);
    service.now += 6 * MINUTE;
    links[1].setState('cut');
    service.says = 'negative';
    expect(await one.validatePurchase(CODE, { fresh })).toBeNull();
    await guess(one);
    await flushAndReconnect(links[1]);
    await expectUnavailable(service, two);
  });

  it('counts where it was itself dropped as a wrong code: all answers need a lookup', async () => {
    const { service, links, processes, guess } = linkedFleet(2);
    const [one, two] = processes;
    await one.getAccount();
    for (const code of [CODE, OTHER]) await two.validatePurchase(code);
    links[0].setState('cut');
    service.says = 'negative';
    expect(await passing(one.validatePurchase(CODE))).toBeNull();
    await guess(one);
    links[0].setState('up');
    await vi.advanceTimersByTimeAsync(10_000);
    for (const each of [one, two]) expect(await passing(each.validatePurchase(CODE))).toBeNull();
    // In an outage, no customer pays for the wrong codes of others.
    service.says = 'outage';
    expect(await passing(two.validatePurchase(OTHER))).toMatchObject({ purchase_code: OTHER });
  });

  it('counts where it was dropped also in a process that was cut off when the others heard of that', async () => {
    const { service, links, processes, guess } = linkedFleet(3);
    const [one, two, three] = processes;
    for (const each of [one, three]) await each.getAccount();
    await two.validatePurchase(CODE);
    for (const link of [links[0], links[2]]) link.setState('cut');
    service.says = 'negative';
    expect(await passing(one.validatePurchase(CODE))).toBeNull();
    await guess(one);
    for (const link of [links[0], links[2]]) {
      link.setState('up');
      await vi.advanceTimersByTimeAsync(10_000);
    }
    // The shared cache still has the answer that the second process got.
    expect(await passing(three.validatePurchase(CODE))).toBeNull();
  });

  it('counts where it was dropped also in a process that starts later', async () => {
    const { service, links, processes, guess } = linkedFleet(3);
    const [one, two, later] = processes;
    await one.getAccount();
    await two.validatePurchase(CODE);
    links[0].setState('cut');
    service.says = 'negative';
    expect(await passing(one.validatePurchase(CODE))).toBeNull();
    await guess(one);
    links[0].setState('up');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await passing(later.validatePurchase(CODE))).toBeNull();
  });

  it('counts where it was dropped also in a process that has dropped some itself and cannot write', async () => {
    const { links, processes, guess } = linkedFleet(2);
    const [one, two] = processes;
    await one.getAccount();
    await two.validatePurchase(CODE);
    links[1].setState('full');
    await guess(two);
    links[0].setState('cut');
    expect(await passing(one.validatePurchase(CODE))).toBeNull();
    await guess(one);
    links[0].setState('up');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await passing(two.validatePurchase(CODE))).toBeNull();
  });

  it('costs the fleet one generation a second, not one for each wrong code', async () => {
    const { shared, processes, guess } = linkedFleet(1);
    const [one] = processes;
    await one.getAccount();
    const { write } = shared;
    const begun: string[] = [];
    // A server of a cluster is down: all but the row of the generation, which is kept for a year.
    shared.write = async (...given) => {
      if (given[2] < 1e10) throw new Error('down');
      begun.push(given[0]);
      return write.apply(shared, given);
    };
    await guess(one);
    await vi.advanceTimersByTimeAsync(1000);
    expect([1, 2, 3]).toContain(begun.length);
  });

  it('counts where it waits to be sent while earlier wrong codes are sent again', async () => {
    const { service, links, processes } = linkedFleet(2);
    const [one, two] = processes;
    await one.getAccount();
    await two.validatePurchase(CODE);
    service.says = 'negative';
    const [sent, unsent] = [WRONG.slice(0, 15), [CODE, ...WRONG.slice(15, 35)]];
    for (const code of sent) expect(await passing(one.validatePurchase(code))).toBeNull();
    links[0].setState('cut');
    for (const code of unsent) expect(await passing(one.validatePurchase(code))).toBeNull();
    links[0].setState('up');
    await vi.advanceTimersByTimeAsync(10_000);
    await settle();
    expect(await passing(two.validatePurchase(CODE))).toBeNull();
  });

  it('costs no process the answers of others for ever, when wrong codes come while some are sent', async () => {
    const { service, shared, links, processes } = linkedFleet(2);
    const [one, two] = processes;
    await one.getAccount();
    // Writes fail, and no message is missed: only the scheduled retry sends them.
    links[0].setState('full');
    service.says = 'negative';
    for (const code of WRONG.slice(0, 30))
      expect(await passing(one.validatePurchase(code))).toBeNull();
    const { write } = shared;
    let late: Promise<unknown> | undefined;
    // Those that waited; the late one overtakes them.
    let slow = 30;
    shared.write = async (...given) => {
      late ??= one.validatePurchase('wrong-code-of-then');
      if (slow-- > 0) await new Promise((resolve) => setTimeout(resolve, 90));
      return write.apply(shared, given);
    };
    links[0].setState('up');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await passing(late as Promise<unknown>)).toBeNull();
    shared.write = write;
    await vi.advanceTimersByTimeAsync(20_000);
    service.says = 'positive';
    service.now += 1;
    await passing(two.validatePurchase(OTHER));
    service.says = 'outage';
    expect(await passing(one.validatePurchase(OTHER))).toMatchObject({ purchase_code: OTHER });
  });

  it('counts where only the row that it replaces later tells of the purchase', async () => {
    const { service, shared, links, processes, guess, flushAndReconnect } = linkedFleet(2);
    const [one, two] = processes;
    await one.getAccount();
    await two.validatePurchase(CODE);
    links[1].setState('cut');
    shared.broken.add('read');
    await expectRefused(service, one);
    shared.broken.clear();
    await vi.advanceTimersByTimeAsync(10_000);
    await guess(one);
    await flushAndReconnect(links[1]);
    await expectUnavailable(service, two);
  });

  it('counts where only a process that hears of it knew of the purchase', async () => {
    const { service, shared, links, processes, guess, flushAndReconnect } = linkedFleet(3);
    const [one, two, three] = processes;
    await one.getAccount();
    for (const each of [two, three]) await each.validatePurchase(CODE);
    links[2].setState('cut');
    shared.rows.clear();
    await expectRefused(service, one);
    await guess(one);
    await flushAndReconnect(links[2]);
    await expectUnavailable(service, two, three);
  });

  it('holds where the wrong codes are sent to two processes at once', async () => {
    const { service, shared, processes, guess } = linkedFleet(2);
    const [one, two] = processes;
    await one.validatePurchase(CODE);
    const dump = [...shared.rows];
    await refund(service, one);
    await Promise.all([guess(two), guess(one)]);
    shared.rows.clear();
    for (const [name, row] of dump) shared.rows.set(name, row);
    await expectUnavailable(service, one);
  });

  it.each([
    ['sends it', 0],
    ['hears of it', 1],
  ])('counts for an item of a list that the process holds that %s', async (_name, holder) => {
    const { service, links, processes, flushAndReconnect } = linkedFleet(3);
    const [one, two, three] = processes;
    for (const each of processes) await each.getAccount();
    for (const each of [processes[holder], three]) await each?.listItems();
    links[2].setState('cut');
    service.says = 'negative';
    expect(await one.getItem(1043, { fresh: true })).toBeNull();
    for (const n of WRONG.keys()) await one.getItem(5000 + n);
    await flushAndReconnect(links[2]);
    for (const each of [two, three]) await expectError(each.getItem(1043), 'service_unavailable');
  });
});

it.each<[string, 'write' | 'publish' | 'read']>([
  ['written', 'write'],
  ['published', 'publish'],
  ['told at all', 'read'],
])(
  'wrong codes that are not %s cost no customer the last positive answer',
  async (_name, method) => {
    const { service, shared, links, processes, guess } = linkedFleet(2);
    const [one, two] = processes;
    for (const code of [CODE, OTHER]) {
      for (const each of [one, two]) await each.validatePurchase(code);
    }
    shared.broken.add(method);
    service.says = 'negative';
    // A refund waits before them.
    expect(await one.validatePurchase(OTHER, { fresh: true })).toBeNull();
    await guess(one);
    service.later(6 * MINUTE, 'outage');
    for (const by of [one, two]) expect(await passing(by.validatePurchase(CODE))).not.toBeNull();
    shared.broken.clear();
    for (const each of links) each.reconnect();
    await vi.advanceTimersByTimeAsync(20_000);
    await settle();
    for (const by of [one, two]) expect(await passing(by.validatePurchase(CODE))).not.toBeNull();
    for (const each of [one, two]) {
      const outcome = await passing(each.validatePurchase(OTHER)).catch((error) => error.code);
      expect([null, 'service_unavailable']).toContain(outcome);
    }
  },
);
