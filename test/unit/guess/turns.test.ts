import { expect, it } from 'vitest';
import { settle } from '../../support/key-api-service.js';
import { shopOf } from './support.js';

// "What one client has in flight counts until it is answered, and waits for its turn beyond the limit: a burst of valid codes
// from one office is refused nothing."

/** A shop whose service holds its answers from now on. */
async function held(limit: number) {
  const shop = shopOf(limit);
  await shop.ask('valid', 'first');
  const before = shop.asked();
  shop.service.hold();
  /** Begins to ask, and waits until what may be sent is sent. */
  const begin = async (kind: string, client?: string, call?: object) => {
    const end = shop.ask(kind, client, call);
    await settle();
    return { end };
  };
  return { ...shop, begin, inFlight: () => shop.asked() - before };
}

it('questions beyond the limit wait for others in flight, and go on in turn', async () => {
  const { ask, service, inFlight } = await held(2);
  const kinds = ['valid', 'html', 'wrong', 'valid', 'valid', 'valid'];
  const asking = kinds.map((kind) => ask(kind));
  await settle();
  expect(inFlight()).toBe(2);
  await service.release(0);
  await service.release(1);
  await service.release();
  const refused = Array(3).fill('too_many_attempts');
  expect(await Promise.all(asking)).toEqual([
    'valid',
    'unexpected_response',
    'invalid',
    ...refused,
  ]);
});

it('a visitor who leaves before the turn comes is neither asked for nor counted, and holds nobody up', async () => {
  const { ask, service, begin, inFlight } = await held(1);
  const first = await begin('valid');
  const leaving = new AbortController();
  const left = await begin('wrong', 'anna', { signal: leaving.signal });
  const last = await begin('valid');
  leaving.abort(new Error('left'));
  expect(await left.end).toBe('left');
  await service.release();
  const ends = [await first.end, await last.end, await ask('wrong')];
  expect(ends).toEqual(['valid', 'valid', 'invalid']);
  expect(inFlight()).toBe(3);
});

it('a question whose turn is refused is sent for another client who has joined it', async () => {
  const { service, begin, inFlight } = await held(1);
  const first = await begin('wrong');
  const waiting = await begin('valid-7');
  const joined = await begin('valid-7', 'ben');
  await service.release();
  const ends = await Promise.all([first.end, waiting.end, joined.end]);
  expect(ends).toEqual(['invalid', 'too_many_attempts', 'valid']);
  expect(inFlight()).toBe(2);
});
