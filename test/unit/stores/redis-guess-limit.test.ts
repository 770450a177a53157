import { RedisGuessLimit } from 'marketgate/redis';
import { describe, expect, it } from 'vitest';
import { guessGate } from '../../../src/check/guess-gate.js';
import { hear } from '../../support/hear.js';
import { hearWarnings } from '../../support/warnings.js';
import { FakeNodeRedis } from './redis-fakes.js';

const TOO_MANY = expect.objectContaining({ code: 'too_many_attempts' });

/** A guard's limit of ten, on a Redis that replies like this. */
function limitOn(...replies: unknown[]) {
  const [warnings, drift] = [hearWarnings(), hear('drift')];
  const client = new FakeNodeRedis();
  for (const reply of replies) client.eval.mockResolvedValueOnce(reply);
  const limit = new RedisGuessLimit({ client: client.asClient });
  const gate = guessGate('test', limit, {});
  const attempt = (answer: unknown = null, who = 'anna') =>
    gate
      ?.attempt(
        who,
        async () => answer,
        (outcome) => 'value' in outcome && !outcome.value,
      )
      .catch((error: unknown) => error);
  const calls = () =>
    (client.eval.mock.calls as [string, { keys: string[]; arguments: string[] }][]).map(
      ([script, { keys, arguments: args }]) => ({ script, key: keys[0], args }),
    );
  return { client, attempt, warnings, drift, calls };
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
        [2, 500],
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
  ])('by the counts of the fleet, where %s', async (_what, replies, expected) => {
    const { attempt, warnings } = limitOn(...replies);
    expect(await attempt()).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['a count alone', [3]],
    ['nothing', []],
    ['no list', 3],
    ['no numbers', ['x', 5]],
  ])('leaves it to the process where Redis replies %s, and reports that', async (_what, reply) => {
    const { attempt, drift, client } = limitOn();
    client.eval.mockResolvedValue(reply);
    const ended = [];
    for (let i = 0; i < 11; i++) ended.push(await attempt());
    expect(ended).toEqual([...Array(10).fill(null), TOO_MANY]);
    // The count of the client, and that of all.
    expect(drift).toHaveLength(2);
    expect(drift[0]).toMatchObject({ endpoint: 'guessLimit.consume', kind: 'not-counted' });
  });

  it('gives back what it has counted, and shows Redis nothing but a hash of the client', async () => {
    const { attempt, calls } = limitOn([1, 60_000], [1, 60_000]);
    await attempt('purchase', '198.51.100.7');
    await new Promise(setImmediate);
    const [own, all, ...rewards] = calls();
    expect(own?.key).toMatch(/^marketgate:guess:client:60000:[\w-]{22}$/);
    expect(all?.key).toMatch(/^marketgate:guess:total:60000:[\w-]{22}$/);
    expect([own?.args, all?.args]).toEqual([['60000'], ['60000']]);
    expect(rewards.map(({ key }) => key)).toEqual([own?.key, all?.key]);
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
