import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import { Bench } from './support/bench.js';
import { INVALID } from './support/service.js';

const LIMIT = 10;

describe.skipIf(redisIsMissing())('failed attempts in four processes', () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ isPatient: true, guessLimit: LIMIT });
  });
  afterAll(() => bench?.stop());

  const visits = (count: number, visitorOf: (n: number) => string, name: string) =>
    Array.from({ length: count }, (_, n) =>
      bench.fleet.workers[n % 4]?.do('visit', {
        code: `${INVALID}${name}-${n}`,
        visitor: visitorOf(n),
      }),
    );
  const times = (statuses: (number | undefined)[], status: number): number =>
    statuses.filter((each) => each === status).length;

  it('40 of one client at once are 10', async () => {
    const statuses = await Promise.all(visits(40, () => 'one', 'burst'));
    expect(times(statuses, 403)).toBe(LIMIT);
    expect(times(statuses, 429)).toBe(30);
  });

  it('and leave a turn to every client that has none yet', async () => {
    await Promise.all(visits(70, (n) => `attacker ${n % 7}`, 'crowd'));
    const [status] = await Promise.all(visits(1, () => 'a customer', 'customer'));
    expect(status).toBe(403);
    // One more of an attacker's is too many, whichever process it comes to.
    for (const late of visits(4, () => 'attacker 0', 'late')) expect(await late).toBe(429);
  });
});
