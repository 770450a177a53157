import { RedisGuessLimit } from 'marketgate/redis';
import { describe, expect, it } from 'vitest';
import { guessGate } from '../../../src/check/guess-gate.js';
import { hear } from '../../support/hear.js';
import { FakeNodeRedis } from './redis-fakes.js';

const TOO_MANY = expect.objectContaining({ code: 'too_many_attempts' });

/** A guard's limit of ten, on a Redis that replies like this. */
function limitOn(...replies: unknown[]) {
  const client = new FakeNodeRedis();
  for (const reply of replies) client.eval.mockResolvedValueOnce(reply);
  const gate = guessGate('test', new RedisGuessLimit({ client: client.asClient }), {});
  const attempt = (answer: unknown = null, who = 'anna') =>
    gate?.attempt(who, async () => answer).catch((error: unknown) => error);
  return { client, attempt };
}

describe('RedisGuessLimit', () => {
  it.each<[string, unknown[], unknown]>([
    [
      'some are left',
      [
        [10, 59_001],
        [9, 100],
      ],
      null,
    ],
    [
      'the numbers are words',
      [
        ['3', '500'],
        ['9', '500'],
      ],
      null,
    ],
    ['the client has none left', [[11, 59_001]], expect.objectContaining({ retryAfter: 60 })],
    [
      'all have none left',
      [
        [2, 5],
        [31, 7500],
      ],
      expect.objectContaining({ retryAfter: 8 }),
    ],
    [
      'all have none left, and the client has had none',
      [
        [1, 500],
        [31, 500],
      ],
      null,
    ],
  ])('goes by the counts of the fleet, where %s', async (_what, replies, expected) => {
    expect(await limitOn(...replies).attempt()).toEqual(expected);
  });

  it('leaves it to the process where Redis replies no count, and reports that', async () => {
    const drift = hear('drift');
    const { attempt, client } = limitOn();
    client.eval.mockResolvedValue(3);
    const ended = [];
    for (let i = 0; i < 11; i++) ended.push(await attempt());
    expect(ended).toEqual([...Array(10).fill(null), TOO_MANY]);
    expect(drift[0]).toMatchObject({ endpoint: 'guessLimit.consume', kind: 'not-counted' });
  });

  it('gives back what it has counted, and shows Redis nothing but a hash of the client', async () => {
    const { attempt, client } = limitOn([1, 60_000], [1, 60_000]);
    await attempt('purchase', '198.51.100.7');
    await new Promise(setImmediate);
    const calls = client.eval.mock.calls as [string, { keys: string[] }][];
    const [own, all, ...rewarded] = calls.map(([, { keys }]) => keys[0]);
    expect(own).toMatch(/^marketgate:guess:client:60000:[\w-]{22}$/);
    expect(all).toMatch(/^marketgate:guess:total:60000:[\w-]{22}$/);
    expect(rewarded).toEqual([own, all]);
  });

  it('is not asked about a client that the process refuses', async () => {
    const { attempt, client } = limitOn();
    client.eval.mockResolvedValue([1, 60_000]);
    for (let i = 0; i < 10; i++) await attempt();
    client.eval.mockClear();
    expect(await attempt()).toEqual(TOO_MANY);
    expect(client.eval).not.toHaveBeenCalled();
  });
});
