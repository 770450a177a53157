import {
  type CallOptions,
  type GuessLimit,
  type GuessLimitOption,
  MarketgateError,
  MemoryGuessLimit,
  type Reservation,
} from 'marketgate';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { guessGate } from '../../../src/check/guess-gate.js';
import { totalLimit } from '../../../src/stores/guess-limit.js';
import { deferred } from '../../support/deferred.js';

/** A gate whose answers can be anything. */
interface Gate {
  attempt<T>(
    client: string,
    code: string,
    validate: (options: CallOptions) => Promise<T | null>,
    signal?: AbortSignal,
  ): Promise<T | null>;
}
const makeGate = (limit?: GuessLimitOption, keyApi: object = {}) =>
  guessGate('test', limit, keyApi) as unknown as Gate;

/** Lets all promises go on that wait for nothing else. */
const settle = () => new Promise(setImmediate);

/** A gate before a limit of so many, and what was released to it. */
function openGate(most: number) {
  let count = 0;
  const release = vi.fn(async () => void count--);
  const reserve = vi.fn(async (): Promise<Reservation> => {
    if (count >= most) return { isAllowed: false, retryAfter: 0 };
    count++;
    return { isAllowed: true, release };
  });
  return { ...gateOf(reserve), reserve, release };
}

function gateOf(reserve: GuessLimit['reserve']) {
  const limit: GuessLimit = { limit: 1000, windowMs: 1000, keyGenerator: () => 'x', reserve };
  const gate = makeGate(limit);
  const attempt = <T>(code: string, validate: () => Promise<T | null>) =>
    gate.attempt('anna', code, validate);
  return { attempt, gate };
}

/** The gates of two services with one limit. */
function twoGates(limit: GuessLimit): [Gate, Gate] {
  const gateTo = (keyApi: object) => makeGate(limit, keyApi);
  return [gateTo({}), gateTo({})];
}

/** A question that is answered when the test says so. */
function question<T = string | null>() {
  const { promise, resolve: answer, reject: fail } = deferred<T>();
  return { validate: vi.fn(() => promise), answer, fail };
}
const questions = (count: number) => Array.from({ length: count }, () => question());
const outcome = (answer: Promise<unknown>): Promise<unknown> => answer.catch((e: unknown) => e);

/** A visitor who sends a code and leaves before the answer. */
async function leave(gate: Gate, code: string): Promise<void> {
  const leaving = new AbortController();
  const validate = ({ signal }: CallOptions) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const answer = outcome(gate.attempt('anna', code, validate, leaving.signal));
  await settle();
  leaving.abort(new Error('left'));
  await answer;
  await settle();
}

const TOO_MANY = expect.objectContaining({ code: 'too_many_attempts' });

describe('the attempts of one client', () => {
  it('are refused when none is left, and name a time that is not zero', async () => {
    const { attempt } = openGate(0);
    const { validate } = question();
    const error = await outcome(attempt('a', validate));
    expect(error).toBeInstanceOf(MarketgateError);
    expect(error).toMatchObject({ code: 'too_many_attempts', retryAfter: 1 });
    expect(validate).not.toHaveBeenCalled();
  });

  it('wait while one in progress can still be given back, and go on when it is', async () => {
    const { attempt, release } = openGate(2);
    const asked = questions(4);
    const answers = asked.map(({ validate }, i) => outcome(attempt(`${i}`, validate)));
    const calls = () => asked.map(({ validate }) => validate.mock.calls.length);
    await settle();
    expect(calls()).toEqual([1, 1, 0, 0]);
    asked[0]?.answer('purchase');
    await settle();
    expect(calls()).toEqual([1, 1, 1, 0]);
    asked[2]?.fail(new Error('down'));
    await settle();
    expect(calls()).toEqual([1, 1, 1, 1]);
    for (const { answer } of asked) answer('purchase');
    const down = new Error('down');
    expect(await Promise.all(answers)).toEqual(['purchase', 'purchase', down, 'purchase']);
    await settle();
    expect(release).toHaveBeenCalledTimes(4);
  });

  it('that wait are all refused with the last negative answer, and the limit is asked once more', async () => {
    const { attempt, reserve } = openGate(2);
    const asked = questions(50);
    const answers = asked.map(({ validate }, i) => outcome(attempt(`${i}`, validate)));
    await settle();
    for (const { answer } of asked) answer(null);
    expect(await Promise.all(answers)).toEqual([null, null, ...Array(48).fill(TOO_MANY)]);
    expect(reserve).toHaveBeenCalledTimes(51);
  });

  it('that wait are told how long, when the last one in front has failed', async () => {
    const gate = makeGate(undefined);
    const { validate, answer } = question();
    const answers = Array.from({ length: 14 }, (_, n) =>
      outcome(gate.attempt('anna', `${n}`, validate)),
    );
    await settle();
    answer(null);
    const refused = (await Promise.all(answers)).slice(10);
    expect(refused).toEqual(Array(4).fill(expect.objectContaining({ retryAfter: 60 })));
  });

  it('are refused together when none is in progress', async () => {
    const { attempt } = openGate(0);
    const answers = [1, 2, 3].map((n) => outcome(attempt(`${n}`, vi.fn())));
    expect(await Promise.all(answers)).toEqual(Array(3).fill(TOO_MANY));
  });

  it('are not refused while one that is slower to reserve can still be given back', async () => {
    const allowed: Reservation = { isAllowed: true, release: async () => {} };
    const slow = question<Reservation>();
    const reserve = vi
      .fn<GuessLimit['reserve']>()
      .mockImplementationOnce(slow.validate)
      .mockResolvedValueOnce({ isAllowed: false, retryAfter: 0 })
      .mockResolvedValue(allowed);
    const { attempt } = gateOf(reserve);
    const answers = ['a', 'b'].map((code) => attempt(code, async () => 'purchase'));
    await settle();
    slow.answer(allowed);
    expect(await Promise.all(answers)).toEqual(['purchase', 'purchase']);
  });

  it('with one code are one attempt and one question, until it is answered', async () => {
    const { attempt, reserve } = openGate(1);
    const { validate, answer } = question();
    const answers = [1, 2, 3].map(() => attempt('a', validate));
    await settle();
    answer(null);
    expect(await Promise.all(answers)).toEqual([null, null, null]);
    expect(reserve).toHaveBeenCalledTimes(1);
    expect(validate).toHaveBeenCalledTimes(1);
    expect(await outcome(attempt('a', validate))).toEqual(TOO_MANY);
  });

  it('that another process has counted are given back', async () => {
    const { gate, release } = openGate(1);
    for (const code of ['a', 'b']) {
      const answer = gate.attempt('anna', code, async ({ onCached }) => {
        onCached?.();
        return null;
      });
      expect(await answer).toBeNull();
    }
    expect(release).toHaveBeenCalledTimes(2);
  });

  it('are counted where the visitor left, but the same code goes on with its attempt', async () => {
    const { gate, reserve } = openGate(1);
    for (let reload = 0; reload < 3; reload++) await leave(gate, 'a');
    expect(reserve).toHaveBeenCalledTimes(1);
    expect(await outcome(gate.attempt('anna', 'b', vi.fn()))).toEqual(TOO_MANY);
    expect(await gate.attempt('anna', 'a', async () => 'purchase')).toBe('purchase');
  });

  it('count again for each four requests that a client does not wait for: leaving does not make them free', async () => {
    const { gate, reserve } = openGate(2);
    for (let reload = 0; reload < 8; reload++) await leave(gate, 'a');
    expect(reserve).toHaveBeenCalledTimes(2);
    const validate = vi.fn();
    expect(await outcome(gate.attempt('anna', 'a', validate))).toEqual(TOO_MANY);
    expect(validate).not.toHaveBeenCalled();
  });

  it('of visitors who left count for one window: their codes make no burst later', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const gate = makeGate(new MemoryGuessLimit());
    const codes = Array.from({ length: 20 }, (_, n) => `wrong-${n}`);
    for (const code of codes.slice(0, 10)) await leave(gate, code);
    vi.advanceTimersByTime(40_000);
    // A reload takes over its attempt, and does not begin a new window.
    for (const code of codes.slice(0, 10)) await leave(gate, code);
    vi.advanceTimersByTime(20_000);
    for (const code of codes.slice(10)) await leave(gate, code);
    const { validate, answer } = question();
    const answers = codes.map((code) => outcome(gate.attempt('anna', code, validate)));
    await settle();
    answer(null);
    const tooMany = Array(10).fill(TOO_MANY);
    expect(await Promise.all(answers)).toEqual([...tooMany, ...Array(10).fill(null)]);
    expect(validate).toHaveBeenCalledTimes(10);
  });

  it('are given back where the visitor left before the service was asked', async () => {
    const { attempt, gate, release } = openGate(1);
    const first = question();
    const answer = attempt('a', first.validate);
    await settle();
    const leaving = new AbortController();
    const { validate } = question();
    const waiting = outcome(gate.attempt('anna', 'b', validate, leaving.signal));
    await settle();
    leaving.abort(new Error('left'));
    expect(await waiting).toEqual(new Error('left'));
    first.answer('purchase');
    expect(await answer).toBe('purchase');
    await settle();
    expect(validate).not.toHaveBeenCalled();
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('are given back where the visitor left while they were reserved', async () => {
    const reserving = deferred<Reservation>();
    const { gate } = gateOf(() => reserving.promise);
    const [release, settled] = [vi.fn(async () => {}), vi.fn(async () => {})];
    const leaving = new AbortController();
    const { validate } = question();
    const answer = outcome(gate.attempt('anna', 'a', validate, leaving.signal));
    await settle();
    leaving.abort(new Error('left'));
    reserving.resolve({ isAllowed: true, release, settle: settled });
    expect(await answer).toEqual(new Error('left'));
    await settle();
    expect(validate).not.toHaveBeenCalled();
    expect(release).toHaveBeenCalledTimes(1);
    expect(settled).not.toHaveBeenCalled();
  });

  it('that were sent before stay counted where the visitor comes back and leaves at once', async () => {
    const { gate, release } = openGate(1);
    await leave(gate, 'a');
    const leaving = new AbortController();
    const answer = outcome(gate.attempt('anna', 'a', vi.fn(), leaving.signal));
    leaving.abort(new Error('left'));
    await answer;
    await settle();
    expect(release).not.toHaveBeenCalled();
    expect(await outcome(gate.attempt('anna', 'b', vi.fn()))).toEqual(TOO_MANY);
  });
});

describe('attempts of other clients', () => {
  const LIMIT = 2;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  });

  /** A client that has mistyped once, while valid codes of others use up the total. */
  async function crowd(limit = LIMIT) {
    const gate = makeGate({ limit });
    expect(await gate.attempt('anna', 'wrong', async () => null)).toBeNull();
    const { validate, answer } = question();
    for (let n = 0; n < totalLimit({ limit, windowMs: 60_000 }).limit; n++) {
      void gate.attempt(`other ${n}`, 'valid', validate);
    }
    await settle();
    const signal = new AbortController();
    const settled: unknown[] = [];
    const attempt = (
      code: string,
      of = signal,
      asked = vi.fn(async (): Promise<string | null> => 'purchase'),
    ) => {
      const ended = outcome(gate.attempt('anna', code, asked, of.signal));
      void ended.then((result) => settled.push(result));
      return { ended, asked };
    };
    return { answer, attempt, settled };
  }
  const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

  it('in flight refuse no client that has mistyped: it waits for their answers', async () => {
    const { answer, attempt } = await crowd();
    const [one, another] = [attempt('one'), attempt('another')];
    await pass(3000);
    // No request before there is an attempt left.
    expect(one.asked).not.toHaveBeenCalled();
    answer('purchase');
    await pass(1000);
    expect(await Promise.all([one.ended, another.ended])).toEqual(['purchase', 'purchase']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that have failed refuse it, as soon as the last is answered', async () => {
    const { answer, attempt, settled } = await crowd();
    attempt('one');
    attempt('another');
    await pass(500);
    expect(settled).toEqual([]);
    answer(null);
    await pass(1000);
    expect(settled).toEqual([TOO_MANY, TOO_MANY]);
    const late = attempt('late');
    await settle();
    expect(settled).toHaveLength(3);
    expect(await late.ended).toMatchObject({ retryAfter: 59 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that are answered let all waiting attempts of a client go on at once', async () => {
    const { answer, attempt } = await crowd(3);
    const waiting = ['one', 'two'].map((code) => ({ ...question(), code }));
    const ended = waiting.map(({ code, validate }) => attempt(code, undefined, validate).ended);
    await pass(500);
    answer('purchase');
    await pass(500);
    for (const { validate } of waiting) expect(validate).toHaveBeenCalledTimes(1);
    // Both are active: one more waits for them, and is not refused.
    const third = attempt('three');
    await pass(500);
    expect(third.asked).not.toHaveBeenCalled();
    for (const each of waiting) each.answer('purchase');
    await pass(500);
    expect(await Promise.all([...ended, third.ended])).toEqual([
      'purchase',
      'purchase',
      'purchase',
    ]);
  });

  it('are waited for also when an own attempt in front has failed', async () => {
    const gate = makeGate({ limit: LIMIT });
    const [wrong, others] = [question(), question()];
    for (let n = 0; n < totalLimit({ limit: LIMIT, windowMs: 60_000 }).limit; n++) {
      void gate.attempt(`other ${n}`, 'valid', others.validate);
    }
    void gate.attempt('anna', 'wrong', wrong.validate);
    await settle();
    const waiting = [1, 2].map((n) => gate.attempt('anna', `right ${n}`, async () => 'purchase'));
    await settle();
    wrong.answer(null);
    await pass(3000);
    others.answer('purchase');
    await pass(1000);
    expect(await Promise.all(waiting)).toEqual(['purchase', 'purchase']);
  });

  it('are waited for by each as long, also by who came last', async () => {
    const { answer, attempt, settled } = await crowd();
    attempt('one');
    await pass(9000);
    const late = attempt('late');
    await pass(3000);
    expect(settled).toEqual([expect.objectContaining({ retryAfter: 1 })]);
    answer('purchase');
    await pass(1000);
    expect(await late.ended).toBe('purchase');
  });

  it('are waited for no longer than a call lasts', async () => {
    const { attempt, settled } = await crowd();
    for (const code of ['one', 'two', 'three']) attempt(code);
    await pass(9000);
    expect(settled).toEqual([]);
    await pass(2000);
    expect(settled).toEqual([TOO_MANY, TOO_MANY, TOO_MANY]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are waited for by the next one when the first has left', async () => {
    const { answer, attempt } = await crowd();
    const leaving = new AbortController();
    const gone = attempt('one', leaving);
    const { ended } = attempt('another');
    await pass(100);
    leaving.abort(new Error('left'));
    expect(await gone.ended).toEqual(new Error('left'));
    await pass(2000);
    answer('purchase');
    await pass(2000);
    expect(await ended).toBe('purchase');
    expect(gone.asked).not.toHaveBeenCalled();
  });

  it('whose visitors have left are waited for no more', async () => {
    const [one, other] = twoGates(new MemoryGuessLimit({ limit: 1 }));
    await leave(one, 'a');
    const second = outcome(other.attempt('anna', 'b', vi.fn()));
    await settle();
    expect(vi.getTimerCount()).toBe(0);
    expect(await second).toEqual(TOO_MANY);
  });

  it('at another KeyApi with the same limit are waited for', async () => {
    const [one, other] = twoGates(new MemoryGuessLimit({ limit: 1 }));
    const { validate, answer } = question();
    const first = one.attempt('anna', 'a', validate);
    await settle();
    const second = other.attempt('anna', 'b', async () => 'purchase');
    await pass(500);
    answer('purchase');
    await pass(1000);
    expect(await Promise.all([first, second])).toEqual(['purchase', 'purchase']);
  });
});

describe('a limit', () => {
  const fail = async () => Promise.reject(new Error('down'));
  const throwing = () => {
    throw new Error('down');
  };

  it.each<[string, GuessLimit['reserve']]>([
    ['rejects', fail],
    ['throws', throwing],
    ['cannot take one back', async () => ({ isAllowed: true, release: fail })],
    ['throws when it takes one back', async () => ({ isAllowed: true, release: throwing })],
    ['has no release', async () => ({ isAllowed: true, release: undefined as never })],
    [
      'never takes it back: no customer waits for that',
      async () => ({ isAllowed: true, release: () => new Promise<void>(() => {}) }),
    ],
  ])('that %s refuses no customer', async (_name, reserve) => {
    const { attempt } = gateOf(reserve);
    for (let i = 0; i < 3; i++) expect(await attempt(`${i}`, async () => 1)).toBe(1);
    await settle();
  });

  it('do not wait for ever for a limit that hangs', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const never = () => new Promise<never>(() => {});
    const reserve = vi
      .fn<GuessLimit['reserve']>()
      .mockImplementationOnce(never)
      .mockResolvedValueOnce({ isAllowed: true, release: never })
      .mockResolvedValueOnce({ isAllowed: false, retryAfter: 0 })
      .mockResolvedValue({ isAllowed: true, release: async () => {} });
    const { attempt } = gateOf(reserve);
    const answered = vi.fn();
    for (const code of ['a', 'b', 'c']) void attempt(code, async () => code).then(answered);
    await vi.advanceTimersByTimeAsync(5000);
    await settle();
    expect(answered.mock.calls.flat().sort()).toEqual(['a', 'b', 'c']);
  });

  it.each<[unknown, number, number]>([
    [undefined, 90_000, 90],
    [Number.NaN, 90_000, 90],
    [Number.POSITIVE_INFINITY, 90_000, 90],
    ['soon', 90_000, 90],
    [undefined, Number.POSITIVE_INFINITY, 60],
    [-5, 90_000, 1],
    [7, 90_000, 7],
  ])('that refuses with retryAfter %s, window of %s ms: %s s', async (given, windowMs, seconds) => {
    const retryAfter = given as number;
    const limit: GuessLimit = {
      limit: 5,
      windowMs,
      keyGenerator: () => 'x',
      reserve: async () => ({ isAllowed: false, retryAfter }),
    };
    const gate = makeGate(limit);
    const error = await outcome(gate.attempt('anna', 'a', vi.fn()));
    expect(error).toMatchObject({
      code: 'too_many_attempts',
      retryAfter: seconds,
      headers: { 'Retry-After': `${seconds}` },
    });
  });

  it('that counts for ever refuses with a number of seconds', async () => {
    const reserve = async (): Promise<Reservation> => ({
      isAllowed: true,
      release: async () => {},
    });
    const limit: GuessLimit = { limit: 1, windowMs: Infinity, keyGenerator: () => 'x', reserve };
    const gate = makeGate(limit);
    await gate.attempt('anna', 'a', async () => null);
    const error = await outcome(gate.attempt('anna', 'b', vi.fn()));
    expect(error).toMatchObject({ code: 'too_many_attempts', retryAfter: 60 });
  });

  it('of two services never takes the answer of one for that of the other', async () => {
    const gates = twoGates(new MemoryGuessLimit());
    const answers = gates.map((gate, i) => gate.attempt('anna', 'a', async () => i));
    expect(await Promise.all(answers)).toEqual([0, 1]);
  });

  it('of two services counts for both together', async () => {
    const [one, other] = twoGates(new MemoryGuessLimit({ limit: 1 }));
    expect(await one.attempt('anna', 'a', async () => null)).toBeNull();
    expect(await outcome(other.attempt('anna', 'b', async () => null))).toEqual(TOO_MANY);
  });

  it.each(['keyGenerator', 'reserve', 'limit', 'windowMs'] as const)('must have "%s"', (name) => {
    const whole = { limit: 1, windowMs: 1, keyGenerator: () => 'x', reserve: vi.fn() };
    expect(() => guessGate('test', whole, {})).not.toThrow();
    for (const value of name === 'limit' || name === 'windowMs' ? [undefined, 0] : [undefined]) {
      const broken = { ...whole, [name]: value } as unknown as GuessLimit;
      expect(() => guessGate('test', broken, {})).toThrow(
        /^test: option "guessLimit" must be \{ limit/,
      );
    }
  });
});
