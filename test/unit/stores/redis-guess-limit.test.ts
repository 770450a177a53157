import { RedisGuessLimit } from 'marketgate/redis';
import { expect, it } from 'vitest';
import { FakeNodeRedis } from './redis-fakes.js';

type Call = [script: string, { keys: string[]; arguments: string[] }];

/** A limit whose Redis answers like this, and what it was asked. */
function limitOn(reply: unknown, options = {}) {
  const client = new FakeNodeRedis();
  client.eval.mockResolvedValue(reply);
  const limit = new RedisGuessLimit({ client: client.asClient, ...options });
  return { limit, calls: client.eval.mock.calls as Call[] };
}

it('RedisGuessLimit shows Redis hashes, on two keys of one slot for each service and account', async () => {
  const { limit, calls } = limitOn([0, -2, 0, -2]);
  for (const scope of ['https://a.example 1', 'https://a.example 2']) {
    expect(await limit.check('198.51.100.7', scope)).toBe(0);
    await limit.add('198.51.100.7', scope);
  }
  const names = calls.map(([, { keys }]) => keys);
  const key = /^marketgate:guess:\{([\w-]{22})\}:60000:(?:[\w-]{22}|all)$/;
  const tags = names.flat().map((name) => key.exec(name)?.[1]);
  expect(new Set(tags).size).toBe(2);
  expect(names[1]).toEqual(names[0]);
  expect(calls[1]?.[1].arguments).toEqual(['60000']);
});

it.each<[string, unknown[], number]>([
  ['of a client without a guess', [0, -2, 99, 500], 0],
  ['of a client below the limit', [9, 5000, 29, 500], 0],
  ['of a client over the limit', [10, 5000, 10, 500], 5],
  ['of all, for a client with a guess', [1, 5000, 30, 500], 0.5],
  ['as text', ['10', '5000', '10', '500'], 5],
  ['without an end', [10, -1, 30, -1], 0],
])('RedisGuessLimit tells how long to wait by the counts %s', async (_what, reply, seconds) => {
  const { limit } = limitOn(reply);
  expect(await limit.check('anna', 'shop')).toBe(seconds);
});
