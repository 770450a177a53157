import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, redisIsMissing, startRedis } from '../../support/redis-server.js';
import { Bench } from './support/bench.js';
import type { LoadOutcomes } from './support/commands.js';
import { sum, sumTokens } from './support/outcomes.js';
import { until } from './support/until.js';

const HOT = Array.from({ length: 10 }, (_, n) => `hot-${n}`);
/** Milliseconds: against a call that waits for Redis without a deadline. */
const HANGING = 8000;

type Tokens = LoadOutcomes['tokens'];

/** What happens to Redis, how it ends, and what has to be seen of it. */
interface Fault {
  readonly strike: () => unknown;
  readonly heal?: () => unknown;
  readonly isSeen?: (tokens: Tokens) => boolean;
}

describe.skipIf(redisIsMissing())('under load, Redis is', () => {
  let bench: Bench;
  let other: RedisServer;

  beforeAll(async () => {
    [bench, other] = await Promise.all([Bench.start({ proxies: 1 }), startRedis()]);
  });
  afterAll(async () => {
    await bench?.stop();
    await other?.stop();
  });

  /** Waits until every process has answered that many more requests, and tokens enough. */
  async function requests(more: number, isSeen: (tokens: Tokens) => boolean = () => true) {
    const before = await bench.fleet.all('load', {});
    await until('there was load enough', async () => {
      const now = await bench.fleet.all('load', {});
      return now.every(
        ({ requests, tokens }, n) =>
          requests - (before[n]?.requests ?? 0) >= more && isSeen(tokens),
      );
    });
    return sumTokens(await bench.fleet.all('load', {}));
  }

  /** Lets it happen and end under load; gives how the calls about tokens ended until then. */
  async function under(name: string, { strike, heal, isSeen }: Fault): Promise<Tokens> {
    const { fleet } = bench;
    await fleet.workers[0]?.do('setToken', { user: 'mira', value: 'a-token' });
    await fleet.all('startLoad', { name, hot: HOT, user: 'mira' });
    await requests(10);
    await strike();
    const tokens = await requests(40, isSeen);
    await heal?.();
    await requests(10);
    const all = await fleet.all('stopLoad', {});
    const { why, failed, slowest } = sum(all);
    expect(why).toEqual([]);
    expect(failed).toBe(0);
    expect(slowest).toBeLessThan(HANGING);
    expect(sumTokens(all).other).toBe(0);
    expect(sumTokens(all).slowest).toBeLessThan(HANGING);
    await bench.allShare();
    return tokens;
  }

  const isRefused = ({ refused }: Tokens) => refused > 0;
  const isMissing = ({ missing }: Tokens) => missing > 0;

  it('killed, and comes back empty', async () => {
    const { redis } = bench;
    const tokens = await under('killed', {
      strike: () => redis.kill(),
      heal: () => redis.restart(),
      isSeen: isRefused,
    });
    // Not one "there is no token": that would log everybody out.
    expect(tokens.missing).toBe(0);
  });

  it('frozen', async () => {
    const { redis } = bench;
    const tokens = await under('frozen', {
      strike: () => redis.freeze(),
      heal: () => redis.thaw(),
      isSeen: isRefused,
    });
    expect(tokens.missing).toBe(0);
  });

  it('slow', async () => {
    const late = (delay: number) => () => {
      for (const proxy of bench.proxies) proxy.delay = delay;
    };
    const tokens = await under('slow', { strike: late(100), heal: late(0) });
    // Nobody else knows the tokens, so these calls wait.
    expect([tokens.missing, tokens.refused]).toEqual([0, 0]);
  });

  it('full', async () => {
    const { redis, fleet } = bench;
    const tokens = await under('full', {
      strike: () => redis.configSet('maxmemory', '1'),
      heal: async () => {
        const [answer] = await fleet.all('setToken', { user: 'late', value: 'a-token' });
        expect(answer?.error).toBe('store_unavailable');
        await redis.configSet('maxmemory', '0');
      },
    });
    expect([tokens.missing, tokens.refused]).toEqual([0, 0]);
  });

  it('flushed', async () => {
    const { redis } = bench;
    const tokens = await under('flushed', { strike: () => redis.flush(), isSeen: isMissing });
    expect(tokens.refused).toBe(0);
  });

  it('failing over', async () => {
    const [proxy] = bench.proxies;
    await under('failing over', { strike: () => proxy?.switchTo(other.port), isSeen: isMissing });
  });
});
