import { describe, expect, it } from 'vitest';
import { settle } from '../../support/key-api-service.js';
import { shopWith } from './support.js';

// "What one client has in flight counts until it is answered, and waits for its turn beyond the limit: a burst of valid codes
// from one office is refused nothing."

/** A shop whose service holds its answers from now on. */
async function held(limit: number) {
  const shop = shopWith({ guessLimit: { limit } });
  await shop.ask('valid', 'first');
  const before = shop.asked();
  shop.service.hold();
  return { ...shop, inFlight: () => shop.asked() - before };
}

describe('questions of one client beyond its limit', () => {
  it('wait for others in flight, and go on in turn', async () => {
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

  it('are neither sent nor counted where the visitor leaves meanwhile, and hold nobody up', async () => {
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

  it('are sent for another client who has joined them, when their own is refused', async () => {
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

it('a client is told to wait no longer than the window, also when the clock steps back', async () => {
  const { ask, keyApi, service } = shopWith({ guessLimit: { limit: 1 } });
  await ask('wrong');
  service.now -= 1e9;
  const refused = keyApi.validatePurchase('wrong-code', { client: 'anna' });
  await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 60 });
});
