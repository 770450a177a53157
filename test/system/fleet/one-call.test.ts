import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import { Bench } from './support/bench.js';

describe.skipIf(redisIsMissing())('four processes, one Redis', () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ isPatient: true, lockFactor: 60 });
  });
  afterAll(() => bench?.stop());

  it.each(['client', 'guard'] as const)(
    '100 requests in each for one cold code, through the %s: one call',
    async (via) => {
      const { fleet, service } = bench;
      // Several times: a race that is lost one time in ten would not be seen otherwise.
      for (let n = 0; n < 5; n++) {
        const code = `cold-${via}-${n}`;
        expect(await fleet.ask(code, 100, via)).toEqual({ yes: 400, no: 0, why: [] });
        expect(service.calls(code)).toBe(1);
      }
    },
  );

  it('an invalidation in one is obeyed by all', async () => {
    const { fleet, service } = bench;
    for (const [n, worker] of fleet.workers.entries()) {
      const code = `invalidated-${n}`;
      await fleet.ask(code);
      expect(await fleet.all('peek', { code })).toEqual(['yes', 'yes', 'yes', 'yes']);
      await worker.do('invalidate', { code });
      await fleet.all('forgotten', { code });
      await fleet.ask(code);
      expect(service.calls(code)).toBe(2);
    }
  });

  it('an answer requested before an invalidation is not shared after it', async () => {
    const { fleet, service } = bench;
    const [one, two] = fleet.workers;
    const code = 'asked-for-before';
    await bench.ask(0, 'a-later-one');
    const { answer, open } = await bench.askHeldUp(0, code);
    await two?.do('invalidate', { code });
    // Messages come in the order in which they are sent: when this one is heard, the other was.
    await two?.do('invalidate', { code: 'a-later-one' });
    await one?.do('forgotten', { code: 'a-later-one' });
    open();
    expect(await answer).toBe(1);
    await bench.ask(1, code);
    expect(service.calls(code)).toBe(2);
  });

  it('a process that finds the lock free looks once more before it asks', async () => {
    const { fleet, service } = bench;
    // Codes one after the other, in all processes with a little delay between them: the answer comes
    // between another process's look and its turn at the lock.
    service.latency = 0;
    const codes = Array.from({ length: 200 }, (_, n) => `just-now-${n}`);
    await Promise.all(
      fleet.workers.map((worker, n) =>
        worker.do('traffic', { codes: n % 2 ? codes.toReversed() : codes }),
      ),
    );
    await fleet.all('traffic', { codes });
    expect(codes.filter((code) => service.calls(code) !== 1)).toEqual([]);
  });
});
