import { RedisGuessLimit } from 'marketgate/redis';
import { expect, it } from 'vitest';
import { FakeNodeRedis } from './redis-fakes.js';

it.each<[string, unknown[], number]>([
  ['of a client without a guess', [0, -2, 99, 500], 0],
  ['of a client below the limit', [9, 5000, 29, 500], 0],
  ['of a client over the limit', [10, 5000, 10, 500], 5],
  ['of all, for a client with a guess', [1, 5000, 30, 500], 0.5],
  ['as text', ['10', '5000', '10', '500'], 5],
  ['without an end', [10, -1, 30, -1], 0],
])('RedisGuessLimit tells how long to wait by the counts %s', async (_what, reply, seconds) => {
  const client = new FakeNodeRedis();
  client.eval.mockResolvedValue(reply);
  const limit = new RedisGuessLimit({ client: client.asClient });
  expect(await limit.check('anna', 'shop')).toBe(seconds);
});
