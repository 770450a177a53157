import { describe, expect, it, onTestFinished } from 'vitest';
import { Attempts } from '../../../src/attempts/attempts.js';
import { MemoryGuessLimit } from '../../../src/attempts/guess-limit.js';
import { Deadline } from '../../../src/deadline.js';
import { settle } from '../../support/key-api-service.js';
import { MINUTE, shopWith } from './support.js';

// "What one client has in flight in a process beyond the limit waits for its turn, so a burst of valid codes from one
// office is refused nothing." (contract, section 2)

/** A shop whose service holds its answers from now on. */
async function held(limit: number) {
  const shop = shopWith({ guessLimit: { limit } });
  await shop.ask('valid', 'first');
  const before = shop.asked();
  shop.service.hold();
  return { ...shop, inFlight: () => shop.asked() - before };
}

describe('attempts of one client', () => {
  it('wait while others in flight can still be given back, and go on in turn', async () => {
    const { ask, service, inFlight } = await held(2);
    const kinds = ['valid', 'html', 'wrong', 'valid', 'valid', 'valid'];
    const asking = kinds.map((kind) => ask(kind));
    await settle();
    expect(inFlight()).toBe(2);
    await service.release(0);
    await service.release(1);
    await service.release();
    const [first, , third, ...rest] = await Promise.all(asking);
    expect([first, third]).toEqual(['valid', 'invalid']);
    expect(rest).toEqual(Array(3).fill('too_many_attempts'));
  });

  it('of fifteen valid codes at once are all answered', async () => {
    const { ask, service, inFlight } = await held(10);
    const office = Array.from({ length: 15 }, () => ask('valid'));
    await settle();
    expect(inFlight()).toBe(10);
    await service.release();
    expect(await Promise.all(office)).toEqual(Array(15).fill('valid'));
  });

  it('that wait are all refused once the last one in flight has failed', async () => {
    const { ask, service, inFlight } = await held(2);
    const burst = Array.from({ length: 50 }, () => ask('wrong'));
    await settle();
    await service.release();
    const ends = await Promise.all(burst);
    expect(ends).toEqual(['invalid', 'invalid', ...Array(48).fill('too_many_attempts')]);
    expect(inFlight()).toBe(2);
  });

  it('that wait, and whose visitor leaves meanwhile, are neither made nor counted, and hold nobody up', async () => {
    const { ask, service, inFlight } = await held(1);
    const first = ask('valid');
    await settle();
    const leaving = new AbortController();
    const left = [1, 2].map(() => ask('wrong', 'anna', { signal: leaving.signal }));
    const last = ask('valid');
    await settle();
    leaving.abort(new Error('left'));
    expect(await Promise.all(left)).toEqual(['left', 'left']);
    await service.release();
    expect([await first, await last, await ask('wrong')]).toEqual(['valid', 'valid', 'invalid']);
    expect(inFlight()).toBe(3);
  });

  it('that wait behind one whose visitor leaves keep their turn', async () => {
    const { ask, service } = await held(1);
    const first = ask('valid');
    await settle();
    const second = ask('valid');
    const leaving = new AbortController();
    const left = ask('valid', 'anna', { signal: leaving.signal });
    await settle();
    leaving.abort(new Error('left'));
    expect(await left).toBe('left');
    await service.release();
    expect([await first, await second]).toEqual(['valid', 'valid']);
  });

  it('wait also where another one has ended meanwhile', async () => {
    const { ask, service } = await held(2);
    const [wrong, valid] = [ask('wrong'), ask('valid')];
    await settle();
    await service.release(0);
    expect(await wrong).toBe('invalid');
    const waiting = ask('valid');
    await settle();
    await service.release();
    expect([await valid, await waiting]).toEqual(['valid', 'valid']);
  });

  it('pass their turn on where it comes while the visitor is leaving', async () => {
    const limits = { limit: 1, windowMs: MINUTE, total: 30 };
    const attempts = new Attempts(limits, () => 0);
    const deadlineOf = () => {
      const deadline = new Deadline(Number.POSITIVE_INFINITY, () => new Error('late'));
      onTestFinished(() => deadline.dispose());
      return deadline;
    };
    const giveBack = await attempts.enter('anna', '', deadlineOf());
    const leaving = deadlineOf();
    const left = attempts.enter('anna', '', leaving);
    const last = attempts.enter('anna', '', deadlineOf());
    await settle();
    leaving.abort(new Error('left'));
    void giveBack();
    attempts.leave('anna');
    await expect(left).rejects.toThrow('left');
    await expect(last).resolves.toBeTypeOf('function');
  });

  it('pass their turn on where the visitor leaves at the moment in which it comes', async () => {
    const { ask, service } = await held(1);
    const first = ask('valid');
    await settle();
    const leaving = new AbortController();
    const left = ask('wrong', 'anna', { signal: leaving.signal });
    const last = ask('valid');
    await settle();
    const released = service.release();
    leaving.abort(new Error('left'));
    await released;
    expect(await Promise.all([first, left, last])).toEqual(['valid', 'left', 'valid']);
    expect(await ask('wrong')).toBe('invalid');
  });

  it('are given back into their own window, and not into the next one', async () => {
    const { ask, service } = await held(2);
    const late = ask('valid');
    await settle();
    service.now += MINUTE;
    const two = [ask('wrong'), ask('wrong')];
    await settle();
    await service.release(1, 2);
    await Promise.all(two);
    await service.release();
    expect([await late, await ask('wrong')]).toEqual(['valid', 'too_many_attempts']);
  });

  it('that joined a request whose client has no attempt left are made by themselves', async () => {
    const { ask, service, inFlight } = await held(1);
    const first = ask('wrong');
    await settle();
    const waiting = ask('valid-7');
    const joined = ask('valid-7', 'ben');
    await settle();
    await service.release();
    expect(await Promise.all([first, waiting, joined])).toEqual([
      'invalid',
      'too_many_attempts',
      'valid',
    ]);
    expect(inFlight()).toBe(2);
  });
});

describe('the count in memory', () => {
  const open = (now = { at: 0 }) =>
    new MemoryGuessLimit({ limit: 2, windowMs: MINUTE, total: 1e9 }, () => now.at);

  it('is of 10,000 clients at most, those with the latest attempts', () => {
    const limit = open();
    for (let n = 0; n <= 10_000; n++) for (const _ of [1, 2]) limit.reserve(`${n}`);
    expect([limit.waitOf('10000'), limit.waitOf('0')]).toEqual([MINUTE, undefined]);
  });

  it('of a client is not pushed out by those whose attempts were all given back', () => {
    const limit = open();
    for (const _ of [1, 2]) limit.reserve('a');
    for (let n = 0; n <= 10_000; n++) limit.reserve(`${n}`)();
    expect(limit.waitOf('a')).toBe(MINUTE);
  });

  it('tells nobody to wait for longer than the window, also when the clock steps back', () => {
    const now = { at: 1e12 };
    const limit = open(now);
    for (const _ of [1, 2]) limit.reserve('a');
    now.at = 0;
    expect(limit.waitOf('a')).toBe(MINUTE);
  });
});
