import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import { FaultBench, type FaultReport, tableOf } from './support/fault-bench.js';

/**
 * Milliseconds. A lookup makes at most three calls to Redis of 50 ms each, and one to the service of
 * 10 ms; the rest is for a busy machine.
 */
const LONGEST = 1200;
/** A token call waits 1,500 ms for Redis. */
const LONGEST_TOKEN = 1500 + 1000;

describe.skipIf(redisIsMissing())('under load, Redis is', () => {
  let bench: FaultBench;
  const reports: FaultReport[] = [];

  beforeAll(async () => {
    bench = await FaultBench.start();
  }, 30_000);
  afterAll(async () => {
    await bench?.stop();
    console.log(`${tableOf(reports)}\n`);
  }, 10_000);

  /** What holds for every fault. */
  function judge(report: FaultReport): FaultReport {
    reports.push(report);
    expect(report.why).toEqual([]);
    expect(report.failed).toBe(0);
    expect(report.slowest).toBeLessThan(LONGEST);
    expect(report.tokens.other).toBe(0);
    expect(report.tokens.slowest).toBeLessThan(LONGEST_TOKEN);
    expect(report.sharesAfter).toBeDefined();
    return report;
  }
  const refused = ({ refused }: FaultReport['tokens']) => refused > 0;
  const timeout = 25_000;

  it('killed', { timeout }, async () => {
    const { redis } = bench;
    const { tokens } = judge(
      await bench.under(
        'killed',
        () => redis.kill(),
        () => redis.restart(),
        refused,
      ),
    );
    // Not one "there is no token": that would log everybody out, or in a worse design let them in.
    expect(tokens.missing).toBe(0);
  });

  it('frozen', { timeout }, async () => {
    const { redis } = bench;
    const { tokens } = judge(
      await bench.under(
        'frozen',
        () => redis.freeze(),
        () => redis.thaw(),
        refused,
      ),
    );
    expect(tokens.missing).toBe(0);
  });

  it('slow', { timeout }, async () => {
    const { proxy } = bench;
    const late = (delay: number) => () => {
      proxy.delay = delay;
    };
    const { tokens } = judge(await bench.under('slow (100 ms)', late(100), late(0)));
    // For tokens there is no one else to ask, so they wait.
    expect([tokens.missing, tokens.refused]).toEqual([0, 0]);
  });

  it('full', { timeout }, async () => {
    const { redis, fleet } = bench;
    const { tokens } = judge(
      await bench.under(
        'full',
        () => redis.configSet('maxmemory', '1'),
        async () => {
          const [answer] = await fleet.all('setToken', { user: 'late', value: 'a-token' });
          expect(answer?.error).toBe('store_unavailable');
          await redis.configSet('maxmemory', '0');
        },
      ),
    );
    expect([tokens.missing, tokens.refused]).toEqual([0, 0]);
  });

  it('flushed', { timeout }, async () => {
    const { redis } = bench;
    const { tokens } = judge(await bench.under('flushed', () => redis.flush()));
    expect(tokens.refused).toBe(0);
    expect(tokens.missing).toBeGreaterThan(0);
  });

  it('restarted empty', { timeout }, async () => {
    const { redis } = bench;
    judge(
      await bench.under('restarted empty', async () => {
        await redis.kill();
        await redis.restart();
      }),
    );
  });

  it('failing over', { timeout }, async () => {
    const { proxy, other } = bench;
    judge(await bench.under('failing over', () => proxy.switchTo(other.port)));
  });
});
