import { MemoryGuessLimit } from 'marketgate';
import { RedisGuessLimit } from 'marketgate/redis';
import { describe, expect, it } from 'vitest';
import { clientKey } from '../../../src/stores/guess-limit.js';
import { hearWarnings } from '../../support/warnings.js';
import { FakeNodeRedis } from './redis-fakes.js';

describe('a count in memory', () => {
  const open = () => new MemoryGuessLimit({ limit: 20_000, total: 1 }).limiter;

  it('is of 10,000 clients at most, those with the latest attempts', async () => {
    const limiter = open();
    for (let i = 0; i <= 10_000; i++) await limiter.consume(`${i}`);
    expect(await limiter.consume('10000')).toMatchObject({ consumedPoints: 2 });
    expect(await limiter.consume('0')).toMatchObject({ consumedPoints: 1 });
  });

  it('of a client is not pushed out by those whose attempts were all given back', async () => {
    const limiter = open();
    await limiter.consume('a');
    for (let i = 0; i <= 10_000; i++) {
      await limiter.consume(`${i}`);
      await limiter.reward(`${i}`);
      await limiter.reward(`${i}`);
    }
    expect(await limiter.consume('a')).toMatchObject({ consumedPoints: 2 });
    expect(await limiter.consume('0')).toMatchObject({ consumedPoints: 1 });
  });
});

describe('MemoryGuessLimit', () => {
  it('is ten a minute and thirty for all by default, by address', () => {
    const warnings = hearWarnings();
    const limit = new MemoryGuessLimit();
    expect(limit).toMatchObject({ limit: 10, windowMs: 60_000, total: 30 });
    const headers = {};
    const socket = { remoteAddress: '10.0.0.2' };
    const keyOf = (req: object) => limit.keyGenerator({ headers, ...req } as never);
    expect(keyOf({ ip: '::ffff:10.0.0.1', socket })).toBe('10.0.0.1');
    expect(keyOf({ socket, app: {} })).toBe('10.0.0.2');
    expect(warnings).toEqual([]);
    // As behind a Unix socket: all visitors are one client.
    expect(keyOf({ socket: {} })).toBe('unknown');
    expect(warnings).toEqual(['MARKETGATE_NO_CLIENT_ADDRESS']);
  });
});

it('RedisGuessLimit shows Redis a hash of the client, and reads numbers that are sent as text', async () => {
  const client = new FakeNodeRedis();
  const { limiter, totalLimiter } = new RedisGuessLimit({ client: client.asClient, limit: 3 });
  client.eval.mockResolvedValue(['4', '500']);
  const over = { consumedPoints: 4, msBeforeNext: 500 };
  await expect(limiter.consume('198.51.100.7')).rejects.toEqual(over);
  expect(await totalLimiter.consume('all')).toEqual(over);
  const calls = client.eval.mock.calls as [string, { keys: string[] }][];
  expect(calls.flatMap(([, { keys }]) => keys)).toEqual([
    expect.stringMatching(/^marketgate:guess:client:60000:[\w-]{22}$/),
    expect.stringMatching(/^marketgate:guess:total:60000:[\w-]{22}$/),
  ]);
});

describe('the key of a client', () => {
  const keyOf = (client: unknown) => clientKey('checkPurchase', 'client', client);

  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2ff::1', '20010db8000102/56'],
    ['2001:db8:1:200:ffff::9', '20010db8000102/56'],
    ['2001:db8:1:300::1', '20010db8000103/56'],
    ['203.0.113.9:50001', '203.0.113.9'],
    ['[2001:db8:1:2ff::1]:443', '20010db8000102/56'],
    // The zone is the name of an interface.
    ['fe80::1%br-lan', 'fe800000000000/56'],
    ['user:7', 'user:7'],
    ['012', '012'],
    ['', 'unknown'],
    [undefined, 'unknown'],
    [null, 'unknown'],
    [7, '7'],
  ])('%j is %j', (client, name) => {
    expect(keyOf(client)).toBe(name);
  });

  it('has no more than 128 characters, whatever a header says', () => {
    const long = 'x'.repeat(1_000_000);
    expect(keyOf(long)).toHaveLength(43);
    expect(keyOf(long)).not.toBe(keyOf(`${long}y`));
  });

  it.each([[Promise.resolve('anna')], [{}], [true], [2 ** 53], [Number.NaN]])(
    '%j is none',
    (client) => {
      expect(() => keyOf(client)).toThrow('option "client" must give text');
    },
  );
});
