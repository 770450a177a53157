import { RedisGuessLimit } from 'marketgate/redis';
import { describe, expect, it } from 'vitest';
import { guessGate } from '../../../src/check/guess-gate.js';
import { deferred } from '../../support/deferred.js';
import { hear } from '../../support/hear.js';
import { hearWarnings } from '../../support/warnings.js';
import { FakeNodeRedis } from './redis-fakes.js';

const settle = (): Promise<void> => new Promise(setImmediate);

describe('a limit of guesses', () => {
  const limitOf = (...replies: unknown[]) => {
    const warnings = hearWarnings();
    const client = new FakeNodeRedis();
    for (const reply of replies) client.eval.mockResolvedValueOnce(reply);
    const limit = new RedisGuessLimit({ client: client.asClient, limit: 10 });
    const gate = guessGate('test', limit, {});
    const attempt = (code: string) =>
      gate?.attempt('anna', code, async () => null).catch((error: unknown) => error);
    return { client, limit, attempt, warnings };
  };
  const TOO_MANY = expect.objectContaining({ code: 'too_many_attempts' });

  it.each<[string, unknown[], unknown[] | undefined, object]>([
    ['one of the fleet', [3, 59_001], [9, 100], { isAllowed: true }],
    ['numbers in words', ['3', '500'], ['9', '500'], { isAllowed: true }],
    ['none left for the client', [0, 59_001], undefined, { isAllowed: false, retryAfter: 60 }],
    ['none left for all', [2, 30_000], [0, 500], { isAllowed: false, retryAfter: 1 }],
    ['some in flight', [0, 59_001, 3], undefined, { isAllowed: false, isPending: true }],
    ['none in flight', [0, 59_001, 0], undefined, { isAllowed: false, isPending: false }],
    ['some in flight of all', [2, 500, 1], [0, 500, 4], { isAllowed: false, isPending: true }],
    // When its other attempt is released, this client has none, and is admitted whatever others have.
    ['one more of the client', [2, 500, 2], [0, 500, 0], { isAllowed: false, isPending: true }],
    ['none but its own', [2, 500, 1], [0, 500, 0], { isAllowed: false, isPending: false }],
  ])('by a reply of %s', async (_name, ofClient, ofAll, expected) => {
    const { limit, warnings } = limitOf(ofClient, ofAll);
    expect(await limit.reserve('anna')).toMatchObject(expected);
    expect(warnings).toEqual([]);
  });

  it.each<[string, unknown[]]>([
    ['a count alone', [[3]]],
    ['nothing', [[]]],
    ['no list', [3]],
    ['no numbers', [['x', 5]]],
    ['a count for the client, and nothing for all', [[3, 60_000], []]],
  ])('by a reply of %s it counts in the process, and says so', async (_name, replies) => {
    const messages = hear('drift');
    const { attempt, warnings, client } = limitOf(...replies);
    client.eval.mockResolvedValue(undefined);
    const attempts = [];
    for (let i = 0; i < 12; i++) attempts.push(await attempt(`${i}`));
    expect(attempts).toEqual([...Array(10).fill(null), TOO_MANY, TOO_MANY]);
    expect(warnings).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
    expect(messages).toEqual([
      {
        endpoint: 'RedisGuessLimit.reserve',
        kind: 'not-counted',
        path: 'count',
        expected: 'a Redis that can be written to and runs scripts (EVAL)',
      },
    ]);
  });

  it('gives back what it took, and nothing else', async () => {
    const { client, limit } = limitOf([1, 60_000], [5, 60_000]);
    const reservation = await limit.reserve('anna');
    const keys = () =>
      client.eval.mock.calls.map(([, options]) => (options as { keys: string[] }).keys[0]);
    const [mine, all] = keys();
    if (reservation.isAllowed) await reservation.release();
    expect(keys()).toEqual([mine, all, mine, all]);
    // What all others took too much of, this client has not used.
    client.eval.mockClear();
    client.eval.mockResolvedValueOnce([2, 60_000]).mockResolvedValueOnce([0, 60_000]);
    await limit.reserve('anna');
    expect(keys()).toEqual([mine, all, mine]);
  });

  it('gives back what was taken too late, for nobody knows of it', async () => {
    const { client, limit } = limitOf();
    const reply = deferred<number[]>();
    client.eval.mockReturnValueOnce(reply.promise);
    const reservation = await limit.reserve('anna');
    expect(reservation).toMatchObject({ isAllowed: true });
    reply.resolve([1, 60_000]);
    await settle();
    if (reservation.isAllowed) await reservation.release();
    expect(client.eval).toHaveBeenCalledTimes(2);
    expect(String(client.eval.mock.calls[1]?.[0])).toContain("'ZREM'");
  });

  it('asks Redis no more about who is over the limit by the count of this process', async () => {
    const { client, attempt } = limitOf();
    client.eval.mockResolvedValue([1, 60_000]);
    for (let i = 0; i < 10; i++) await attempt(`${i}`);
    client.eval.mockClear();
    expect(await attempt('another')).toEqual(TOO_MANY);
    expect(client.eval).not.toHaveBeenCalled();
  });

  it('shows Redis a short hash of who is counted, and no more', async () => {
    const { client, limit } = limitOf([1, 60_000], [1, 60_000]);
    await limit.reserve('198.51.100.7');
    const calls = client.eval.mock.calls as [string, { keys: string[]; arguments: string[] }][];
    expect(calls.map(([, options]) => options)).toEqual([
      {
        keys: [expect.stringMatching(/^marketgate:guess:60000:[\w-]{22}$/)],
        arguments: ['60000', '10', expect.any(String), '10000'],
      },
      {
        keys: ['marketgate:guess:60000:all'],
        arguments: ['60000', expect.any(String), expect.any(String), '10000'],
      },
    ]);
  });
});
