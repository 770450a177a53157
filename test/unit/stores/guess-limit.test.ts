import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  CodeAttemptLog,
  clientKey,
  GuessLimitSettings,
  MemoryGuessLimit,
  type Reservation,
} from '../../../src/stores/guess-limit.js';

const NOON = 1_900_000_000_000;
const MINUTE = 60_000;

describe('a log of attempts', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }));

  const three = { limit: 3, windowMs: MINUTE };
  /** Whether the client may try, or else the seconds to wait. */
  const take = (log: CodeAttemptLog, client: string, settings = three): true | number => {
    const reservation = log.reserve(client, settings);
    return reservation.isAllowed || reservation.retryAfter;
  };

  it('allows so many, and says when there will be another', () => {
    const log = new CodeAttemptLog();
    expect(take(log, 'a')).toBe(true);
    vi.setSystemTime(NOON + 500);
    expect([take(log, 'a'), take(log, 'a')]).toEqual([true, true]);
    expect(take(log, 'a')).toBe(60);
    expect(take(log, 'b')).toBe(true);
    vi.setSystemTime(NOON + 59_999);
    expect(take(log, 'a')).toBe(1);
    // Only the first of the three is a minute old.
    vi.setSystemTime(NOON + MINUTE);
    expect([take(log, 'a'), take(log, 'a')]).toEqual([true, 1]);
  });

  it('does not count what was refused, nor what was given back', async () => {
    const log = new CodeAttemptLog();
    const first = log.reserve('a', three);
    expect([take(log, 'a'), take(log, 'a')]).toEqual([true, true]);
    for (let i = 0; i < 5; i++) expect(take(log, 'a')).toBe(60);
    // The second time gives nothing back.
    for (const _ of [1, 2]) if (first.isAllowed) await first.release();
    expect([take(log, 'a'), take(log, 'a')]).toEqual([true, 60]);
  });

  it('gives back nothing of a later minute', async () => {
    const log = new CodeAttemptLog();
    const late = log.reserve('a', three);
    vi.setSystemTime(NOON + MINUTE);
    for (let i = 0; i < 3; i++) expect(take(log, 'a')).toBe(true);
    if (late.isAllowed) await late.release();
    expect(take(log, 'a')).toBe(60);
  });

  it('is one count for guards of different limits and windows', () => {
    const log = new CodeAttemptLog();
    const hour = { limit: 4, windowMs: 60 * MINUTE };
    for (let i = 0; i < 3; i++) expect(take(log, 'a')).toBe(true);
    expect([take(log, 'a', hour), take(log, 'a', hour)]).toEqual([true, 3600]);
    expect(take(log, 'a')).toBe(60);
    vi.setSystemTime(NOON + MINUTE);
    expect(take(log, 'a')).toBe(true);
    expect(take(log, 'a', hour)).toBe(3540);
  });

  it('is not extended by a clock that steps back', async () => {
    const log = new CodeAttemptLog();
    const one = { limit: 1, windowMs: MINUTE };
    const early = log.reserve('a', one);
    vi.setSystemTime(NOON - 1000);
    expect(take(log, 'a', one)).toBe(true);
    if (early.isAllowed) await early.release();
    expect(take(log, 'a', one)).toBe(60);
    vi.setSystemTime(NOON - 60 * MINUTE);
    expect(take(log, 'a')).toBe(true);
    vi.setSystemTime(NOON - 59 * MINUTE);
    for (let i = 0; i < 3; i++) expect(take(log, 'a')).toBe(true);
    expect(take(log, 'a')).toBe(60);
  });

  it('leaves a client without a failed attempt its turn when all others together had too many', () => {
    const log = new CodeAttemptLog();
    const isIn = (client: string) => take(log, client) === true;
    const attackers = Array.from({ length: 40 }, (_, i) => `attacker ${i}`);
    const tries = [1, 2, 3].flatMap(() => attackers.map(isIn));
    // Of 120 that they have by their own counts.
    expect(tries.filter(Boolean)).toHaveLength(100);
    expect(isIn('a customer')).toBe(true);
    // Who mistypes waits as everybody does, and not for ever.
    expect(take(log, 'a customer')).toBe(60);
    vi.setSystemTime(NOON + MINUTE);
    expect(isIn('a customer')).toBe(true);
  });

  it('does not refuse who mistyped once because a handful of others guess', () => {
    const log = new CodeAttemptLog();
    expect(take(log, 'a customer')).toBe(true);
    for (let i = 0; i < 9; i++) {
      for (let n = 0; n < 4; n++) take(log, `attacker ${i}`);
    }
    expect(take(log, 'a customer')).toBe(true);
  });

  it.each([
    ['a limit of three an hour', { limit: 3, windowMs: 60 * MINUTE }, 99],
    ['a limit of thirty', { limit: 30, windowMs: MINUTE }, 299],
  ])(
    '%s: others can mistype often, and block a client for a minute at most',
    (_what, settings, n) => {
      const log = new CodeAttemptLog();
      expect(take(log, 'a customer', settings)).toBe(true);
      for (let i = 1; i < n; i++) expect(take(log, `other ${i}`, settings)).toBe(true);
      expect(take(log, 'a customer', settings)).toBe(true);
      expect(take(log, 'a customer', settings)).toBe(60);
      vi.setSystemTime(NOON + MINUTE);
      expect(take(log, 'a customer', settings)).toBe(true);
    },
  );

  it('waits for the later of the two limits', () => {
    const log = new CodeAttemptLog();
    for (let i = 0; i < 3; i++) take(log, 'a');
    vi.setSystemTime(NOON + 10_000);
    expect(take(log, 'a')).toBe(50);
    for (let i = 0; i < 100; i++) take(log, `customer ${i}`);
    expect(take(log, 'a')).toBe(60);
  });

  it.each([
    ['its own', 3, () => 'a'],
    ['its own, not of others,', 3, (i: number) => (i === 0 ? 'another' : 'a')],
    ['all', 101, (i: number) => `${i}`],
  ])('says whether one of %s attempts that count is pending', async (_which, count, clientOf) => {
    const log = new CodeAttemptLog();
    const wide = { limit: 100, windowMs: MINUTE };
    const attempts = Array.from({ length: count }, (_, i) => log.reserve(clientOf(i), wide));
    const settle = async (attempt?: Reservation) => attempt?.isAllowed && attempt.settle?.();
    const again = () => log.reserve(clientOf(count - 1), { ...wide, limit: 2 });
    for (const attempt of attempts.slice(2)) await settle(attempt);
    expect(again()).toMatchObject({ isAllowed: false, isPending: true });
    await settle(attempts[1]);
    // The first one is pending, but does not count with this limit.
    expect(again()).toMatchObject({ isAllowed: false, isPending: false });
  });

  it('remembers twice as many attempts as count, and no more', () => {
    const log = new CodeAttemptLog();
    const day = 1440 * MINUTE;
    take(log, 'b', { limit: 1, windowMs: day });
    for (let i = 0; i < 300; i++) {
      vi.setSystemTime(NOON + i * MINUTE);
      take(log, 'a', { limit: 1, windowMs: MINUTE });
    }
    expect(take(log, 'a', { limit: 200, windowMs: day })).not.toBe(true);
    expect(take(log, 'a', { limit: 201, windowMs: day })).toBe(true);
  });

  it('does not grow with the clients that come and go', () => {
    const log = new CodeAttemptLog();
    for (let i = 0; i < 15_000; i++) take(log, `many ${i}`);
    expect(log.size.clients).toBe(10_000);
    expect(take(log, 'many 14999')).not.toBe(true);
  });

  it('forgets attempts that no window in use can count, and only those', () => {
    const log = new CodeAttemptLog();
    const hour = 60 * MINUTE;
    const wide = { limit: 50_000, windowMs: 1 };
    for (let i = 0; i < 2000; i++) take(log, `${i % 100}`, wide);
    expect(log.size).toEqual({ clients: 100, attempts: 2000 });
    vi.setSystemTime(NOON + 1);
    take(log, 'a', wide);
    expect(log.size).toEqual({ clients: 1, attempts: 1 });
    vi.setSystemTime(NOON + 2);
    take(log, 'b', { limit: 9, windowMs: hour });
    take(log, 'b', wide);
    expect(log.size).toEqual({ clients: 2, attempts: 3 });
    vi.setSystemTime(NOON + hour + 1);
    take(log, 'c', wide);
    expect(log.size).toEqual({ clients: 2, attempts: 3 });
    vi.setSystemTime(NOON + hour + 2);
    take(log, 'c', wide);
    expect(log.size).toEqual({ clients: 1, attempts: 2 });
  });

  it('forgets old attempts of a client that goes on, also where others come and go', () => {
    const log = new CodeAttemptLog();
    const wide = { limit: 50_000, windowMs: 10 };
    for (let i = 0; i < 100; i++) {
      vi.setSystemTime(NOON + i);
      for (const client of ['a', `other ${i}`]) take(log, client, wide);
    }
    expect(log.size).toEqual({ clients: 11, attempts: 20 });
  });

  it('forgets a client whose attempts were all given back', async () => {
    const log = new CodeAttemptLog();
    const one = log.reserve('a', three);
    if (one.isAllowed) await one.release();
    expect(log.size).toEqual({ clients: 0, attempts: 0 });
  });
});

describe('the settings', () => {
  it('are ten a minute when nothing is said, by address', () => {
    const settings = new GuessLimitSettings('x', {});
    expect(settings).toMatchObject({ limit: 10, windowMs: MINUTE });
    const headers = {};
    expect(settings.keyGenerator({ headers, ip: '::ffff:10.0.0.1' } as never)).toBe('10.0.0.1');
    const socket = { remoteAddress: '10.0.0.2' };
    expect(settings.keyGenerator({ headers, socket, app: {} } as never)).toBe('10.0.0.2');
    expect(settings.keyGenerator({ headers } as never)).toBe('unknown');
    expect(() => new MemoryGuessLimit({ limit: 0 })).toThrow('MemoryGuessLimit: option "limit"');
  });
});

describe('the key of a client', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2ff::1', '20010db8000102/56'],
    ['2001:db8:1:200:ffff::9', '20010db8000102/56'],
    ['2001:db8:1:300::1', '20010db8000103/56'],
    ['203.0.113.9:50001', '203.0.113.9'],
    ['[2001:db8:1:2ff::1]:443', '20010db8000102/56'],
    ['[::ffff:10.1.2.3]:80', '10.1.2.3'],
    ['[2001:db8:1:2ff::1]', '20010db8000102/56'],
    ['1:2:3:4:5:6:7:8', '00010002000300/56'],
    // The zone is the name of an interface.
    ['fe80::1%br-lan', 'fe800000000000/56'],
    ['[2001:db8::1]7', '[2001:db8::1]7'],
    ['user:7', 'user:7'],
    ['1.2.3:7', '1.2.3:7'],
    ['[user]:7', '[user]:7'],
    ['customer-7', 'customer-7'],
    ['012', '012'],
    ['0xa', '0xa'],
    ['', 'unknown'],
    [undefined, 'unknown'],
    [null, 'unknown'],
    [7, '7'],
  ])('%j is %j', (client, name) => {
    expect(clientKey(client)).toBe(name);
  });

  it.each([[Promise.resolve('anna')], [{}], [true]])('%j is none', (client) => {
    expect(() => clientKey(client)).toThrow('"keyGenerator" must return a string');
  });
});
