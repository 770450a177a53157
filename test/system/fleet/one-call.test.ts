import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import { Bench, until } from './support/bench.js';

const LOCK_FACTOR = 60;
const HOUR = 3_600_000;
/** Milliseconds by which the clocks of the processes are wrong. */
const SKEWS = [-3 * HOUR, 0, 5 * HOUR, 30 * HOUR];

describe.skipIf(redisIsMissing())('four processes whose clocks are hours apart, one Redis', () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ isPatient: true, lockFactor: LOCK_FACTOR, skews: SKEWS });
  });
  afterAll(() => bench?.stop());

  it('100 lookups in each of one cold code cost one call', async () => {
    const { fleet, service } = bench;
    // Several times: a race that is lost one time in ten would not be seen otherwise.
    for (let n = 0; n < 5; n++) {
      const code = `cold-${n}`;
      expect(await fleet.ask(code, 100)).toEqual({ yes: 400, no: 0, why: [] });
      expect(service.calls(code)).toBe(1);
    }
  });

  it('an invalidation in one is obeyed by all', async () => {
    const { fleet, service } = bench;
    for (const [n, worker] of fleet.workers.entries()) {
      const code = `invalidated-${n}`;
      await fleet.ask(code);
      expect(await fleet.all('peek', { code })).toEqual(['yes', 'yes', 'yes', 'yes']);
      await worker.do('invalidate', { code });
      const hasAny = async () => (await fleet.all('peek', { code })).includes('yes');
      await until('all have forgotten', async () => !(await hasAny()));
      await fleet.ask(code);
      expect(service.calls(code)).toBe(2);
    }
  });
});
