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
});
