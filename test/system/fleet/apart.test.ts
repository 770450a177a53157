import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import { Bench } from './support/bench.js';
import { sum } from './support/commands.js';

const LOCK_LIFE = 2000;

describe.skipIf(redisIsMissing())('one process apart from the others', () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ isPatient: true, proxies: 4 });
  });
  afterAll(() => bench?.stop());

  it.each([
    ['node-redis', 0],
    ['ioredis', 1],
  ])(
    'that was away while a code was invalidated forgets all when it is back (%s)',
    async (kind, n) => {
      const { fleet, proxies, service } = bench;
      const code = `missed-${kind}`;
      await fleet.ask(code);
      proxies[n]?.cut();
      await fleet.workers[2]?.do('invalidate', { code });
      await Promise.all([2, 3].map((i) => fleet.workers[i]?.do('forgotten', { code })));
      // It cannot know, and goes on with what it has.
      const calls = service.calls(code);
      expect(await bench.ask(n, code)).toBe(1);
      expect(service.calls(code)).toBe(calls);
      proxies[n]?.mend();
      await fleet.workers[n]?.do('forgotten', { code });
      const before = service.calls(code);
      expect((await fleet.ask(code)).yes).toBe(4);
      expect(service.calls(code)).toBeGreaterThan(before);
      await bench.allShare();
    },
  );

  // The last one, for it ends a process.
  it('that is killed while it asks for all delays them no longer than its lock lives', async () => {
    const { fleet, redis, service } = bench;
    const code = 'asked-by-the-dead';
    const [holder, ...others] = fleet.workers;
    // The service does not answer the first.
    const { answer, open } = await bench.askHeldUp(0, code);
    const waiting = Promise.all(
      others.map((worker) => worker.do('ask', { code, times: 20, via: 'client' })),
    );
    await holder?.kill();
    const [lock = ''] = (await redis.command('KEYS', '*:lock:*')) as string[];
    expect(Number(await redis.command('PTTL', lock))).toBeLessThanOrEqual(LOCK_LIFE);
    await redis.pass(LOCK_LIFE);
    const { yes, why } = sum(await waiting);
    open();
    expect(await answer).toBe('killed');
    expect(why).toEqual([]);
    expect(yes).toBe(60);
    // One of them asks; on a machine so slow that its lock expires too, each at the worst.
    expect(service.calls(code)).toBeLessThanOrEqual(4);
  });
});
