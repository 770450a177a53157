import { RedisGuessLimit } from 'marketgate/redis';
import { expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { FakeNodeRedis } from './redis-fakes.js';

type Call = [script: string, { keys: string[]; arguments: string[] }];

/** A limit whose Redis answers like this, and what it was asked. */
function limitOn(reply: unknown, options = {}) {
  const client = new FakeNodeRedis();
  client.eval.mockResolvedValue(reply);
  const limit = new RedisGuessLimit({ client: client.asClient, ...options });
  return { client, limit, calls: client.eval.mock.calls as Call[] };
}

it('RedisGuessLimit shows Redis hashes, on two keys of one slot for each service and account', async () => {
  const { limit, calls } = limitOn([1, 60_000, 60_000]);
  for (const scope of ['https://a.example 1', 'https://a.example 2']) {
    await limit.reserve('198.51.100.7', scope);
  }
  const names = calls.map(([, { keys }]) => keys);
  const key = /^marketgate:guess:\{([\w-]{22})\}:60000:(?:[\w-]{22}|all)$/;
  const tags = names.flat().map((name) => key.exec(name)?.[1]);
  expect(new Set(tags).size).toBe(2);
  expect([tags[0], tags[2]]).toEqual([tags[1], tags[3]]);
  expect(calls[0]?.[1].arguments).toEqual(['10', '30', '60000', '60000']);
});

it('RedisGuessLimit reads numbers that are sent as text, and tells how long to wait', async () => {
  const { limit } = limitOn(['0', '59000', '1200']);
  const refused = await rejection(limit.reserve('anna', 'shop'));
  expect(refused).toMatchObject({ code: 'too_many_attempts', retryAfter: 2 });
});

it('RedisGuessLimit gives back into the window that it was counted in', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { limit, calls } = limitOn([1, 5000, 60_000], { prefix: 'shop:' });
  const giveBack = await limit.reserve('anna', 'shop');
  vi.advanceTimersByTime(2000);
  await giveBack();
  expect(calls[1]?.[1]).toEqual({ keys: calls[0]?.[1].keys, arguments: ['3000', '58000'] });
});
