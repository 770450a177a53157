import { type AttemptLimiter, type GuessLimitOption, MemoryGuessLimit } from 'marketgate';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it, vi } from 'vitest';
import { guessGate } from '../../../src/check/guess-gate.js';
import { deferred } from '../../support/deferred.js';
import { hear } from '../../support/hear.js';
import { hearWarnings } from '../../support/warnings.js';

const TOO_MANY = expect.objectContaining({ code: 'too_many_attempts' });
const outcome = (answer: Promise<unknown>): Promise<unknown> => answer.catch((e: unknown) => e);

/** Lets all promises go on that wait for nothing else. */
const settle = () => new Promise(setImmediate);

function gateOf(option: GuessLimitOption = {}, api: object = {}) {
  const gate = guessGate('test', option, api);
  if (gate === undefined) throw new Error('no gate');
  /** What becomes of a question with this answer, which can come later. */
  const ask = (answer: unknown = null, client = 'anna', signal?: AbortSignal) =>
    outcome(gate.attempt(client, async () => answer, signal));
  return { gate, ask };
}

/** A limiter of the app. */
const limiterThat = (consume: AttemptLimiter['consume'], reward = vi.fn(async () => {})) => ({
  limiter: { consume, reward, points: 1000, duration: 60 },
  keyGenerator: () => 'anna',
});

describe('attempts of one client', () => {
  it('wait while others in flight can still be given back, and go on in turn', async () => {
    const { ask } = gateOf({ limit: 2 });
    const answers = [1, 2, 3, 4, 5].map(() => deferred<unknown>());
    const asked = answers.map(({ promise }) => ask(promise));
    const last = ask('purchase');
    await settle();
    answers[0]?.resolve('purchase');
    answers[1]?.reject(new Error('down'));
    await settle();
    answers[2]?.resolve(null);
    answers[3]?.resolve('purchase');
    answers[4]?.resolve('purchase');
    const down = new Error('down');
    const ended = ['purchase', down, null, 'purchase', 'purchase'];
    expect(await Promise.all(asked)).toEqual(ended);
    expect(await last).toBe('purchase');
  });

  it('that wait are all refused once the last one in flight has failed, and told how long', async () => {
    const { gate } = gateOf({ limit: 2 });
    const answer = deferred<null>();
    const question = vi.fn(() => answer.promise);
    const asked = Array.from({ length: 50 }, () => outcome(gate.attempt('anna', question)));
    await settle();
    answer.resolve(null);
    const refusal = expect.objectContaining({ code: 'too_many_attempts', retryAfter: 60 });
    expect(await Promise.all(asked)).toEqual([null, null, ...Array(48).fill(refusal)]);
    expect(question).toHaveBeenCalledTimes(2);
  });

  it('stay counted where the visitor left before the answer', async () => {
    const { ask } = gateOf({ limit: 3 });
    for (let n = 0; n < 3; n++) {
      const leaving = new AbortController();
      const answer = deferred<unknown>();
      const asked = ask(answer.promise, 'anna', leaving.signal);
      await settle();
      leaving.abort();
      answer.reject(new Error('left'));
      await asked;
    }
    expect(await ask()).toEqual(TOO_MANY);
  });

  it('are given back where the answer was cached, or was that of a request that they joined', async () => {
    const { ask, gate } = gateOf({ limit: 1 });
    const cached = async (onCached: () => void) => {
      onCached();
      return null;
    };
    for (let n = 0; n < 3; n++) expect(await gate.attempt('anna', cached)).toBeNull();
    expect([await ask(), await ask()]).toEqual([null, TOO_MANY]);
  });

  it('are allowed again when the window has ended, and a late answer begins no other', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const { ask } = gateOf({ limit: 2 });
    const late = deferred<unknown>();
    const first = ask(late.promise);
    expect(await ask()).toBeNull();
    vi.advanceTimersByTime(60_000);
    late.resolve('purchase');
    await first;
    await settle();
    expect([await ask(), await ask(), await ask()]).toEqual([null, null, TOO_MANY]);
  });
});

describe('the attempts of all clients', () => {
  it('beyond the total are those of clients without a failed attempt', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const { ask } = gateOf({ total: 5, windowMs: 3_600_000 });
    for (const client of ['a', 'a', 'b', 'b', 'c']) expect(await ask(null, client)).toBeNull();
    for (const client of ['a', 'b', 'c']) expect(await ask(null, client)).toEqual(TOO_MANY);
    expect(await ask('purchase', 'fresh')).toBe('purchase');
    expect(await ask('purchase', 'fresh')).toBe('purchase');
    expect([await ask(null, 'new'), await ask(null, 'new')]).toEqual([null, TOO_MANY]);
    // The total is of a minute, whatever the window of a client.
    vi.advanceTimersByTime(60_000);
    expect(await ask(null, 'a')).toBeNull();
  });

  it('do not refuse a burst of one client that is larger than the total', async () => {
    const { ask } = gateOf({ limit: 100, total: 5 });
    const burst = Array.from({ length: 40 }, () => ask(settle().then(() => 'purchase')));
    expect(await Promise.all(burst)).toEqual(Array(40).fill('purchase'));
  });
});

describe('a count', () => {
  it('is one for all gates of an api, each with its own limit', async () => {
    const api = {};
    const [wide, narrow] = [gateOf({ limit: 5 }, api), gateOf({ limit: 2, windowMs: 30_000 }, api)];
    for (let n = 0; n < 2; n++) expect(await wide.ask()).toBeNull();
    expect([await narrow.ask(), await wide.ask()]).toEqual([TOO_MANY, null]);
    expect(await gateOf({ limit: 5 }).ask()).toBeNull();
  });

  it('of a MemoryGuessLimit is one for all apis that have it', async () => {
    const limit = new MemoryGuessLimit({ limit: 1 });
    expect([await gateOf(limit).ask(), await gateOf(limit).ask()]).toEqual([null, TOO_MANY]);
  });

  it('of any limiter of rate-limiter-flexible counts next to that of the process', async () => {
    const limiter = new RateLimiterMemory({ points: 2, duration: 90 });
    const [here, there] = [gateOf({ limiter }), gateOf({ limiter })];
    expect(await here.ask('purchase')).toBe('purchase');
    expect([await here.ask(), await there.ask()]).toEqual([null, null]);
    const refusal = expect.objectContaining({ code: 'too_many_attempts', retryAfter: 90 });
    expect([await here.ask(), await there.ask()]).toEqual([refusal, refusal]);
  });
});

describe('a limiter of the app', () => {
  const down = () => Promise.reject(new Error('down'));
  const ok = async () => ({ consumedPoints: 1, msBeforeNext: 1000 });

  it.each<[string, ReturnType<typeof limiterThat>]>([
    ['rejects', limiterThat(down)],
    ['cannot take an attempt back', limiterThat(ok, vi.fn(down))],
    [
      'never takes an attempt back',
      limiterThat(
        ok,
        vi.fn(() => new Promise<never>(() => {})),
      ),
    ],
  ])('that %s refuses no customer, and the process counts', async (_name, option) => {
    const { ask } = gateOf({ ...option, limiter: { ...option.limiter, points: 2 } as never });
    for (let n = 0; n < 3; n++) {
      expect(await ask('purchase')).toBe('purchase');
      await settle();
    }
    const isStuck = option.limiter.reward.mock.calls.length > 0 && option.limiter.consume === ok;
    if (!isStuck) expect([await ask(), await ask(), await ask()]).toEqual([null, null, TOO_MANY]);
  });

  it('that hangs holds no customer up for more than two seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { ask } = gateOf(limiterThat(() => new Promise(() => {})));
    const asked = ask('purchase');
    await vi.advanceTimersByTimeAsync(2000);
    expect(await asked).toBe('purchase');
  });

  it('that fails is reported, and warned about when it fails again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const [drift, warnings] = [hear('drift'), hearWarnings()];
    const { ask } = gateOf(limiterThat(down));
    for (let n = 0; n < 2; n++) await ask('purchase');
    expect(drift).toEqual([expect.objectContaining({ kind: 'not-counted' })]);
    expect(warnings).toEqual([]);
    vi.advanceTimersByTime(1000);
    for (let n = 0; n < 2; n++) await ask('purchase');
    expect(warnings).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
  });

  it.each<[unknown, number]>([
    [undefined, 60],
    [Number.NaN, 60],
    [-5, 60],
    [7001, 8],
  ])('that refuses with msBeforeNext %s: Retry-After is %s', async (msBeforeNext, seconds) => {
    const { ask } = gateOf(limiterThat(() => Promise.reject({ consumedPoints: 9, msBeforeNext })));
    expect(await ask()).toMatchObject({ headers: { 'Retry-After': `${seconds}` } });
  });
});

it.each<[unknown, string]>([
  ['ten', '"guessLimit" must be { limit'],
  [null, '"guessLimit" must be { limit'],
  [{ limit: 0 }, 'guessLimit: option "limit"'],
  [{ limit: 1.5 }, 'guessLimit: option "limit"'],
  [{ total: -1 }, 'guessLimit: option "total"'],
  [{ windowMs: Number.POSITIVE_INFINITY }, 'guessLimit: option "windowMs"'],
  [{ windowMs: 2 ** 31 }, 'guessLimit: option "windowMs" must be at most'],
  [{ keyGenerator: 'ip' }, 'guessLimit: option "keyGenerator"'],
  [{ max: 10 }, 'guessLimit: unknown option "max"'],
  [{ limiter: undefined }, 'option "limiter" must be a limiter of rate-limiter-flexible'],
  [{ limiter: { consume() {} } }, '"reward" is missing'],
  [{ limiter: limiterThat(vi.fn()).limiter, limit: 5 }, 'unknown option "limit"'],
])('guessLimit: %j is a TypeError that names the option', (option, words) => {
  expect(() => guessGate('test', option as never, {})).toThrow(TypeError);
  expect(() => guessGate('test', option as never, {})).toThrow(words);
});
