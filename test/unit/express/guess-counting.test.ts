import {
  type GuessLimit,
  MarketgateError,
  MemoryGuessLimit,
  type Reservation,
  requirePurchase,
} from 'marketgate';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ClientAttempts } from '../../../src/express/guess-limit/client-attempts.js';
import { AttemptLog } from '../../../src/stores/guess-limit/attempt-log.js';
import { checkGuessLimitOptions } from '../../../src/stores/guess-limit/guess-limit.js';
import { fakeResponse } from '../../support/fake-response.js';

const NOON = 1_900_000_000_000;
const MINUTE = 60_000;
const guess = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

/** Lets all promises go on that wait for nothing else. */
const settle = () => new Promise(setImmediate);

describe('a log of attempts', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }));
  afterEach(() => void vi.useRealTimers());

  const three = { limit: 3, windowMs: MINUTE };
  /** Whether the client may try, or else the seconds to wait. */
  const take = (log: AttemptLog, client: string, settings = three): true | number => {
    const reservation = log.reserve(client, settings);
    return reservation.isAllowed || reservation.retryAfter;
  };

  it('allows so many, and says when there will be another', () => {
    const log = new AttemptLog();
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
    const log = new AttemptLog();
    const first = log.reserve('a', three);
    expect([take(log, 'a'), take(log, 'a')]).toEqual([true, true]);
    for (let i = 0; i < 5; i++) expect(take(log, 'a')).toBe(60);
    if (first.isAllowed) await first.refund();
    expect([take(log, 'a'), take(log, 'a')]).toEqual([true, 60]);
  });

  it('gives back nothing of a later minute', async () => {
    const log = new AttemptLog();
    const late = log.reserve('a', three);
    vi.setSystemTime(NOON + MINUTE);
    for (let i = 0; i < 3; i++) expect(take(log, 'a')).toBe(true);
    if (late.isAllowed) await late.refund();
    expect(take(log, 'a')).toBe(60);
  });

  it('is one count for guards of different limits and windows', () => {
    const log = new AttemptLog();
    const hour = { limit: 4, windowMs: 60 * MINUTE };
    for (let i = 0; i < 3; i++) expect(take(log, 'a')).toBe(true);
    expect([take(log, 'a', hour), take(log, 'a', hour)]).toEqual([true, 3600]);
    expect(take(log, 'a')).toBe(60);
    vi.setSystemTime(NOON + MINUTE);
    expect(take(log, 'a')).toBe(true);
    expect(take(log, 'a', hour)).toBe(3540);
  });

  it('is not extended by a clock that steps back', () => {
    const log = new AttemptLog();
    for (let i = 0; i < 3; i++) take(log, 'a');
    vi.setSystemTime(NOON - 60 * MINUTE);
    expect(take(log, 'a')).toBe(60);
    vi.setSystemTime(NOON - 59 * MINUTE);
    expect(take(log, 'a')).toBe(true);
  });

  it('leaves a client without a failed attempt its turn when all others together had too many', () => {
    const log = new AttemptLog();
    const isIn = (client: string) => take(log, client) === true;
    const attackers = Array.from({ length: 7 }, (_, i) => `attacker ${i}`);
    const tries = [1, 2, 3].flatMap(() => attackers.map(isIn));
    // Three times the limit, of 21 that they have by their own counts.
    expect(tries.filter(Boolean)).toHaveLength(9);
    expect(isIn('a customer')).toBe(true);
    // Who mistypes waits as everybody does, and not for ever.
    expect(take(log, 'a customer')).toBe(60);
    vi.setSystemTime(NOON + MINUTE);
    expect(isIn('a customer')).toBe(true);
  });

  it('does not grow with the clients that come and go', () => {
    const log = new AttemptLog();
    for (let i = 0; i < 5000; i++) take(log, `old ${i}`);
    vi.setSystemTime(NOON + MINUTE);
    for (let i = 0; i < 6000; i++) take(log, `new ${i}`);
    expect(log.size).toBeLessThanOrEqual(6000);
    for (let i = 0; i < 150_000; i++) take(log, `many ${i}`);
    expect(log.size).toBeLessThanOrEqual(100_000);
    expect(take(log, 'many 149999')).not.toBe(true);
  });

  it('forgets a client whose attempts were all given back', async () => {
    const log = new AttemptLog();
    const one = log.reserve('a', three);
    if (one.isAllowed) await one.refund();
    expect(log.size).toBe(0);
  });
});

describe('the settings', () => {
  it('are ten a minute when nothing is said, by address', () => {
    const settings = checkGuessLimitOptions('x', {});
    expect(settings).toMatchObject({ limit: 10, windowMs: MINUTE });
    const headers = {};
    expect(settings.keyGenerator({ headers, ip: '::ffff:10.0.0.1' } as never)).toBe('10.0.0.1');
    const socket = { remoteAddress: '10.0.0.2' };
    expect(settings.keyGenerator({ headers, socket } as never)).toBe('10.0.0.2');
  });
});

/** A counter of so many, whose refunds are told. */
function counter(limit: number) {
  let count = 0;
  let refunds = 0;
  const reserve = async (): Promise<Reservation> => {
    if (count >= limit) return { isAllowed: false, retryAfter: 0 };
    count++;
    return {
      isAllowed: true,
      refund: async () => {
        count--;
        refunds++;
      },
    };
  };
  return {
    reserve: vi.fn(reserve),
    get refunds() {
      return refunds;
    },
  };
}

/** A question to the service that is answered when the test says so. */
function question<T>() {
  let answer = (_value: T | null): void => {};
  let fail = (_error: unknown): void => {};
  const promise = new Promise<T | null>((resolve, reject) => {
    answer = resolve;
    fail = reject;
  });
  const ask = vi.fn((_how: { onShared?: () => void }) => promise);
  return { ask, answer: (value: T | null) => answer(value), fail: (e: unknown) => fail(e) };
}

describe('the attempts of one client', () => {
  const outcome = (answer: Promise<unknown>): Promise<unknown> => answer.catch((e: unknown) => e);

  it('are refused when there is none left, and name a time that is not zero', async () => {
    const idle = vi.fn();
    const ask = vi.fn();
    const error = await outcome(new ClientAttempts(idle).attempt('a', counter(0).reserve, ask));
    expect(error).toBeInstanceOf(MarketgateError);
    expect(error).toMatchObject({
      code: 'too_many_attempts',
      retryAfter: 1,
      message: expect.stringContaining('too many'),
    });
    expect(ask).not.toHaveBeenCalled();
    expect(idle).toHaveBeenCalledTimes(1);
  });

  it('wait while one in progress can still be given back, and go on when it is', async () => {
    const client = new ClientAttempts(() => {});
    const two = counter(2);
    const questions = [1, 2, 3, 4].map(() => question<string>());
    const answers = questions.map(({ ask }, i) => client.attempt(`${i}`, two.reserve, ask));
    await settle();
    expect(questions.map(({ ask }) => ask.mock.calls.length)).toEqual([1, 1, 0, 0]);
    questions[0]?.answer('purchase');
    await settle();
    expect(questions.map(({ ask }) => ask.mock.calls.length)).toEqual([1, 1, 1, 0]);
    questions[2]?.fail(new Error('down'));
    await expect(answers[2]).rejects.toThrow('down');
    await settle();
    expect(questions[3]?.ask).toHaveBeenCalledTimes(1);
    questions[1]?.answer('purchase');
    questions[3]?.answer('purchase');
    expect(await Promise.all([answers[0], answers[1], answers[3]])).toEqual(
      Array(3).fill('purchase'),
    );
    await settle();
    expect(two.refunds).toBe(4);
  });

  it('that wait are all refused with the last real no, and the counter is not asked again', async () => {
    const idle = vi.fn();
    const client = new ClientAttempts(idle);
    const two = counter(2);
    const questions = Array.from({ length: 50 }, () => question<string>());
    const answers = questions.map(({ ask }, i) =>
      outcome(client.attempt(`${i}`, two.reserve, ask)),
    );
    await settle();
    expect(two.reserve).toHaveBeenCalledTimes(50);
    questions[0]?.answer(null);
    await settle();
    expect(idle).not.toHaveBeenCalled();
    questions[1]?.answer(null);
    const [first, second, ...others] = await Promise.all(answers);
    expect([first, second]).toEqual([null, null]);
    for (const other of others) expect(other).toMatchObject({ code: 'too_many_attempts' });
    expect(two.reserve).toHaveBeenCalledTimes(50);
    expect(idle).toHaveBeenCalledTimes(1);
  });

  it('are refused together when nobody is left to wait for', async () => {
    const idle = vi.fn();
    const client = new ClientAttempts(idle);
    const none = counter(0);
    const answers = [1, 2, 3].map((n) => outcome(client.attempt(`${n}`, none.reserve, vi.fn())));
    for (const error of await Promise.all(answers)) {
      expect(error).toMatchObject({ code: 'too_many_attempts' });
    }
    expect(idle).toHaveBeenCalledTimes(1);
  });

  it('are not refused while one that is slower to reserve can still be given back', async () => {
    const client = new ClientAttempts(() => {});
    let allow = (_reservation: Reservation): void => {};
    const slow = () => new Promise<Reservation>((resolve) => (allow = resolve));
    const first = client.attempt('a', slow, async () => 'purchase');
    let isFree = false;
    const second = client.attempt(
      'b',
      async () =>
        isFree ? { isAllowed: true, refund: async () => {} } : await counter(0).reserve(),
      async () => 'purchase',
    );
    await settle();
    isFree = true;
    allow({ isAllowed: true, refund: async () => {} });
    expect(await Promise.all([first, second])).toEqual(['purchase', 'purchase']);
  });

  it('with one code are one attempt and one question', async () => {
    const client = new ClientAttempts(() => {});
    const one = counter(1);
    const { ask, answer } = question<string>();
    const answers = [1, 2, 3].map(() => client.attempt('a', one.reserve, ask));
    await settle();
    answer(null);
    expect(await Promise.all(answers)).toEqual([null, null, null]);
    expect(one.reserve).toHaveBeenCalledTimes(1);
    expect(ask).toHaveBeenCalledTimes(1);
    // The next one is another.
    await outcome(client.attempt('a', one.reserve, ask));
    expect(one.reserve).toHaveBeenCalledTimes(2);
  });

  it('that another process has counted are given back', async () => {
    const one = counter(1);
    const shared = async (how: { onShared?: () => void }) => {
      how.onShared?.();
      return null;
    };
    const client = new ClientAttempts(() => {});
    expect(await client.attempt('a', one.reserve, shared)).toBeNull();
    expect(await client.attempt('b', one.reserve, shared)).toBeNull();
    expect(one.refunds).toBe(2);
  });

  it('go on when the counter throws, rejects, or cannot take one back', async () => {
    const client = new ClientAttempts(() => {});
    const fail = async () => Promise.reject(new Error('down'));
    for (let i = 0; i < 50; i++) expect(await client.attempt('a', fail, async () => 1)).toBe(1);
    const refunds = [
      fail,
      () => {
        throw new Error('down');
      },
      undefined as never,
    ];
    for (const refund of refunds) {
      const reserve = async () => ({ isAllowed: true, refund }) as const;
      expect(await client.attempt('a', reserve, async () => 1)).toBe(1);
      await settle();
    }
  });

  it('do not let a customer wait for the counter to take one back', async () => {
    const idle = vi.fn();
    const reserve = async () =>
      ({ isAllowed: true, refund: () => new Promise<void>(() => {}) }) as const;
    const client = new ClientAttempts(idle);
    expect(await client.attempt('a', reserve, async () => 'purchase')).toBe('purchase');
  });
});

describe('a counter of the app’s own', () => {
  function guardWith(guessLimit: GuessLimit, validatePurchase = vi.fn(async () => null)) {
    const keyApi = { validatePurchase };
    const guard = requirePurchase(keyApi, { guessLimit });
    const ask = (code: string): Promise<unknown> =>
      new Promise((resolve) => {
        const req = { headers: { 'x-purchase-code': code } };
        guard(req as never, fakeResponse(), resolve as never);
      });
    return { ask, keyApi };
  }

  it('is asked about who it says, and is obeyed', async () => {
    const reserved: string[] = [];
    const { ask, keyApi } = guardWith({
      keyGenerator: () => 'them',
      reserve: async (client) => {
        reserved.push(client);
        if (reserved.length > 2) return { isAllowed: false, retryAfter: 7.5 };
        return { isAllowed: true, refund: async () => {} };
      },
    });
    expect(await ask(guess(1))).toMatchObject({ code: 'purchase_code_invalid' });
    expect(await ask(guess(2))).toMatchObject({ code: 'purchase_code_invalid' });
    expect(await ask(guess(3))).toMatchObject({ code: 'too_many_attempts', retryAfter: 7.5 });
    expect(reserved).toEqual(['them', 'them', 'them']);
    expect(keyApi.validatePurchase).toHaveBeenCalledTimes(2);
  });

  it.each(['keyGenerator', 'reserve'] as const)('must have "%s"', (method) => {
    const whole = { keyGenerator: () => 'x', reserve: vi.fn() };
    const make = (limit: object) => () =>
      requirePurchase({ validatePurchase: vi.fn() }, { guessLimit: limit as GuessLimit });
    expect(make(whole)).not.toThrow();
    expect(make({ ...whole, [method]: undefined })).toThrow(/guessLimit: /);
  });

  it('an outage gives the attempt back', async () => {
    const down = new MarketgateError('service_unavailable', 'x');
    const one = counter(1);
    const limit: GuessLimit = { keyGenerator: () => 'x', reserve: one.reserve };
    const { ask } = guardWith(
      limit,
      vi.fn(async () => Promise.reject(down)),
    );
    for (const i of [1, 2]) expect(await ask(guess(i))).toBe(down);
    expect(one.refunds).toBe(2);
  });

  it('does not take one service’s answer for that of another', async () => {
    const guessLimit = new MemoryGuessLimit({ keyGenerator: () => 'x' });
    const { ask: askOne } = guardWith(guessLimit);
    const other = guardWith(guessLimit);
    await Promise.all([askOne(guess(1)), other.ask(guess(1))]);
    expect(other.keyApi.validatePurchase).toHaveBeenCalledTimes(1);
  });
});
