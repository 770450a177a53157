import {
  type AttemptCount,
  type AttemptLimiter,
  checkPurchase,
  type GuessLimitOption,
  MarketgateError,
  MemoryGuessLimit,
  type Purchase,
} from 'marketgate';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { hear } from '../../support/hear.js';
import { hearWarnings } from '../../support/warnings.js';
import { guess, purchase } from '../../support/wire.js';

const TOO_MANY = expect.objectContaining({ code: 'too_many_attempts' });

/** Lets all promises go on that wait for nothing else. */
const settle = () => new Promise(setImmediate);

/** A service with another code for each answer, which can come later. */
function serviceWithAnswers() {
  const answers: unknown[] = [];
  return {
    asked: 0,
    codeFor: (answer: unknown) => guess(answers.push(answer) - 1),
    async validatePurchase(code: string) {
      this.asked++;
      return answers[Number(code.slice(-12))] as Purchase | null;
    },
  };
}

/** Checks a code with this answer, by default a wrong one. Gives the verdict or the error. */
function checkWithin(guessLimit: GuessLimitOption, service = serviceWithAnswers()) {
  return async (answer: unknown = null, client = 'anna', signal?: AbortSignal) => {
    const code = service.codeFor(answer);
    const decision = await checkPurchase(service, code, { client, guessLimit, signal });
    return decision.verdict === 'unknown' ? decision.error : decision.verdict;
  };
}

/** A limiter of the app. */
const limiterThat = (consume: AttemptLimiter['consume'], reward = vi.fn(async () => {})) => ({
  limiter: { consume, reward, points: 2, duration: 60 },
});

describe('attempts of one client', () => {
  it('wait while others in flight can still be given back, and go on in turn', async () => {
    const check = checkWithin({ limit: 2 });
    const answers = [1, 2, 3, 4, 5].map(() => deferred<unknown>());
    const asked = answers.map(({ promise }) => check(promise));
    const last = check(purchase);
    await settle();
    const down = new MarketgateError('service_unavailable', 'down');
    answers[0]?.resolve(purchase);
    answers[1]?.reject(down);
    await settle();
    answers[2]?.resolve(null);
    for (const answer of answers.slice(3)) answer.resolve(purchase);
    expect(await Promise.all(asked)).toEqual(['valid', down, 'invalid', 'valid', 'valid']);
    expect(await last).toBe('valid');
  });

  it('that wait are all refused once the last one in flight has failed, and told how long', async () => {
    const service = serviceWithAnswers();
    const check = checkWithin({ limit: 2 }, service);
    const answer = deferred<null>();
    const asked = Array.from({ length: 50 }, () => check(answer.promise));
    await settle();
    answer.resolve(null);
    const refusal = expect.objectContaining({ code: 'too_many_attempts', retryAfter: 60 });
    expect(await Promise.all(asked)).toEqual(['invalid', 'invalid', ...Array(48).fill(refusal)]);
    expect(service.asked).toBe(2);
  });

  it('stay counted where the visitor left before the answer', async () => {
    const check = checkWithin({ limit: 3 });
    for (let n = 0; n < 3; n++) {
      const leaving = new AbortController();
      const answer = deferred<unknown>();
      const asked = check(answer.promise, 'anna', leaving.signal);
      await settle();
      leaving.abort();
      answer.reject(new Error('left'));
      await expect(asked).rejects.toThrow('left');
    }
    expect(await check()).toEqual(TOO_MANY);
  });

  it('are allowed again when the window has ended, and a late answer begins no other', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const check = checkWithin({ limit: 2 });
    const late = deferred<unknown>();
    const first = check(late.promise);
    expect(await check()).toBe('invalid');
    vi.advanceTimersByTime(60_000);
    late.resolve(purchase);
    await first;
    await settle();
    expect([await check(), await check(), await check()]).toEqual(['invalid', 'invalid', TOO_MANY]);
  });

  it('of a window that has ended are not given back to the next one', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const check = checkWithin({ limit: 2 });
    const late = deferred<unknown>();
    const first = check(late.promise);
    vi.advanceTimersByTime(60_000);
    expect([await check(), await check()]).toEqual(['invalid', 'invalid']);
    late.resolve(purchase);
    await first;
    await settle();
    expect(await check()).toEqual(TOO_MANY);
  });

  it('that waited, and whose visitor has left meanwhile, are neither made nor counted', async () => {
    const service = serviceWithAnswers();
    const check = checkWithin({ limit: 2 }, service);
    const answer = deferred<unknown>();
    const two = [check(answer.promise), check(answer.promise)];
    const leaving = new AbortController();
    const left = [1, 2].map(() => check(purchase, 'anna', leaving.signal));
    await settle();
    leaving.abort(new Error('left'));
    answer.resolve(purchase);
    await Promise.all(two);
    for (const each of left) await expect(each).rejects.toThrow('left');
    await settle();
    expect([service.asked, await check(), await check()]).toEqual([2, 'invalid', 'invalid']);
  });
});

describe('the attempts of all clients', () => {
  it('beyond the total are those of clients without a failed attempt', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const check = checkWithin({ total: 5, windowMs: 3_600_000 });
    for (const client of ['a', 'a', 'b', 'b', 'c'])
      expect(await check(null, client)).toBe('invalid');
    for (const client of ['a', 'b', 'c']) expect(await check(null, client)).toEqual(TOO_MANY);
    for (const _ of [1, 2]) expect(await check(purchase, 'fresh')).toBe('valid');
    expect([await check(null, 'new'), await check(null, 'new')]).toEqual(['invalid', TOO_MANY]);
    // The total is of a minute, whatever the window of a client.
    vi.advanceTimersByTime(60_000);
    expect(await check(null, 'a')).toBe('invalid');
  });

  it('are counted apart from those of a client whose key is "all"', async () => {
    const check = checkWithin({ total: 2 });
    for (const client of ['a', 'b', 'c']) await check(null, client);
    expect(await check(purchase, 'all')).toBe('valid');
  });

  it('do not refuse a burst of one client that is larger than the total', async () => {
    const check = checkWithin({ limit: 100, total: 5 });
    const burst = Array.from({ length: 40 }, () => check(settle().then(() => purchase)));
    expect(await Promise.all(burst)).toEqual(Array(40).fill('valid'));
  });
});

it('a client has one count over all guards of a KeyApi, each with its own limit', async () => {
  const service = serviceWithAnswers();
  const wide = checkWithin({ limit: 5 }, service);
  const narrow = checkWithin({ limit: 2, windowMs: 30_000 }, service);
  const own = checkWithin(new MemoryGuessLimit({ limit: 3 }), service);
  expect(await narrow(purchase)).toBe('valid');
  for (let n = 0; n < 2; n++) expect(await wide()).toBe('invalid');
  expect([await narrow(), await wide(), await own()]).toEqual([TOO_MANY, 'invalid', TOO_MANY]);
  expect(await checkWithin({ limit: 1 })()).toBe('invalid');
});

it('a MemoryGuessLimit is one count for all KeyApis that have it', async () => {
  const limit = new MemoryGuessLimit({ limit: 1 });
  expect([await checkWithin(limit)(), await checkWithin(limit)()]).toEqual(['invalid', TOO_MANY]);
});

it('any limiter of rate-limiter-flexible counts next to the process', async () => {
  const limiter = new RateLimiterMemory({ points: 2, duration: 90 });
  const [here, there] = [checkWithin({ limiter }), checkWithin({ limiter })];
  expect(await here(purchase)).toBe('valid');
  expect([await here(), await there()]).toEqual(['invalid', 'invalid']);
  const refusal = expect.objectContaining({ code: 'too_many_attempts', retryAfter: 90 });
  expect([await here(), await there()]).toEqual([refusal, refusal]);
});

describe('a limiter of the app', () => {
  const down = () => Promise.reject(new Error('down'));
  const ok = async () => ({ consumedPoints: 1, msBeforeNext: 1000 });
  const never = () => new Promise<never>(() => {});

  it.each([
    ['rejects', limiterThat(down)],
    ['cannot take an attempt back', limiterThat(ok, vi.fn(down))],
  ])('that %s refuses no customer, and the process counts', async (_name, option) => {
    const check = checkWithin(option);
    for (let n = 0; n < 3; n++) {
      expect(await check(purchase)).toBe('valid');
      await settle();
    }
    expect([await check(), await check(), await check()]).toEqual(['invalid', 'invalid', TOO_MANY]);
  });

  it.each([
    ['counts', limiterThat(never)],
    ['takes an attempt back', limiterThat(ok, vi.fn(never))],
  ])('that hangs when it %s holds no customer up for more than two seconds', async (...row) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    const asked = checkWithin(row[1])(purchase);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await asked).toBe('valid');
  });

  it('that refuses without counting is given nothing back', async () => {
    const reward = vi.fn(async () => {});
    const blocked = () => Promise.reject({ consumedPoints: 0, msBeforeNext: 1000 });
    expect(await checkWithin(limiterThat(blocked, reward))()).toEqual(TOO_MANY);
    expect(reward).not.toHaveBeenCalled();
  });

  it.each([
    ['a valid code', purchase, 1],
    ['a wrong code', null, 0],
  ])(
    'that counts too late gives that back, unless the attempt has failed: %s',
    async (_what, answer, times) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
      const within = Promise.resolve({ consumedPoints: 1, msBeforeNext: 60_000 });
      const over = Promise.reject({ consumedPoints: 3, msBeforeNext: 60_000 });
      over.catch(() => {});
      for (const count of [within, over]) {
        const reward = vi.fn(async () => {});
        const counted = deferred<AttemptCount>();
        const asked = checkWithin(limiterThat(() => counted.promise, reward))(answer);
        await vi.advanceTimersByTimeAsync(2000);
        expect(await asked).toBe(answer ? 'valid' : 'invalid');
        await vi.advanceTimersByTimeAsync(5000);
        expect(reward).not.toHaveBeenCalled();
        counted.resolve(count as never);
        await settle();
        expect(reward).toHaveBeenCalledTimes(times);
      }
    },
  );

  it('that fails is reported, and warned about once, when it fails again', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const [drift, warnings] = [hear('drift'), hearWarnings()];
    const check = checkWithin(limiterThat(down));
    for (let n = 0; n < 2; n++) await check(purchase);
    expect(drift).toEqual([expect.objectContaining({ kind: 'not-counted' })]);
    expect(warnings).toEqual([]);
    vi.advanceTimersByTime(1000);
    for (let n = 0; n < 2; n++) await check(purchase);
    expect(warnings).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
  });

  it('that refuses while an attempt in flight ends is asked again, because that can be given back', async () => {
    const counted = deferred<never>();
    const consume = vi.fn(ok).mockImplementationOnce(ok).mockReturnValueOnce(counted.promise);
    const check = checkWithin(limiterThat(consume));
    const answer = deferred<unknown>();
    const [first, second] = [check(answer.promise), check(purchase)];
    await settle();
    answer.resolve(purchase);
    expect(await first).toBe('valid');
    await settle();
    counted.reject({ consumedPoints: 2, msBeforeNext: 1000 });
    expect(await second).toBe('valid');
  });

  it.each<[unknown, number]>([
    [undefined, 60],
    [-5, 60],
    [7001, 8],
  ])('that refuses with msBeforeNext %s: Retry-After is %s', async (msBeforeNext, seconds) => {
    const refuse = () => Promise.reject({ consumedPoints: 9, msBeforeNext });
    const refusal = await checkWithin(limiterThat(refuse))();
    expect(refusal).toMatchObject({ retryAfter: seconds });
  });
});
