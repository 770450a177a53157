import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisIsMissing, TROUBLES } from '../../support/redis-server.js';
import { Bench, until } from './support/bench.js';
import { TestFleet } from './support/fleet.js';

// Contract, section 2: "A process that has heard a real no serves no yes that was asked for before it … This holds under
// any one fault at a time". Real processes, a real Redis, and clocks that are hours apart.

const HOUR = 3_600_000;
const SKEWS = [-3 * HOUR, 0, 5 * HOUR];

interface Fault {
  readonly begin: (bench: Bench) => unknown;
  readonly end: (bench: Bench) => unknown;
  /** Who refuses while it lasts: the process that heard the no, or all that are connected. */
  readonly refuses: 'the hearer' | 'the connected';
}

const of = (trouble: keyof typeof TROUBLES, refuses: Fault['refuses']): Fault => ({
  begin: ({ redis }) => TROUBLES[trouble].begin(redis),
  end: ({ redis }) => TROUBLES[trouble].end(redis),
  refuses,
});

const FAULTS: Readonly<Record<string, Fault>> = {
  'full, and refuses writes': of('full', 'the connected'),
  'read-only, as after a failover': of('read-only', 'the connected'),
  frozen: of('frozen', 'the hearer'),
  'gone, and restarts empty': of('killed', 'the hearer'),
  'closed to scripts and writes for this user': {
    begin: ({ redis }) => redis.command('ACL', 'SETUSER', 'default', '-eval', '-set'),
    end: ({ redis }) => redis.command('ACL', 'SETUSER', 'default', '+@all'),
    refuses: 'the hearer',
  },
  'cut off from the process that hears it': {
    begin: ({ proxies }) => proxies[0]?.cut(),
    end: ({ proxies }) => proxies[0]?.mend(),
    refuses: 'the hearer',
  },
  'cut off from another process': {
    begin: ({ proxies }) => proxies[1]?.cut(),
    end: ({ proxies }) => proxies[1]?.mend(),
    refuses: 'the hearer',
  },
};

describe.skipIf(redisIsMissing())('a refund that is heard while Redis is', () => {
  let bench: Bench;

  beforeAll(async () => {
    // With real deadlines: a Redis that is frozen must not hold anybody up.
    bench = await Bench.start(SKEWS);
  });
  beforeEach(async () => {
    bench.service.isOut = false;
    await bench.allShare();
  });
  afterAll(() => bench?.stop());

  const answersOf = async (code: string, processes: readonly number[]) => {
    const asked = processes.map((n) => bench.ask(n, code).catch(() => undefined));
    return (await Promise.all(asked)).map((yes) => yes === 1);
  };

  it.each(Object.entries(FAULTS))('%s lets nobody in afterwards', async (name, fault) => {
    const { fleet, service } = bench;
    const code = `refunded-${name.replaceAll(/\W/g, '-')}`;
    expect((await fleet.ask(code)).yes).toBe(3);
    service.refunded.add(code);
    await fault.begin(bench);
    try {
      const heard = await fleet.workers[0]?.do('ask', { code, fresh: true });
      expect(heard?.no).toBe(1);
      // From now on the service cannot be asked: what is served comes out of a cache.
      service.isOut = true;
      for (let look = 0; look < 3; look++) expect(await answersOf(code, [0])).toEqual([false]);
      if (fault.refuses !== 'the hearer') {
        await until(
          'the others have heard',
          async () => !(await answersOf(code, [1, 2])).includes(true),
        );
      }
    } finally {
      await fault.end(bench);
    }
    await until('all have heard', async () => {
      await fleet.all('pass', { milliseconds: 5000 });
      return !(await answersOf(code, [0, 1, 2])).includes(true);
    });
    // And it stays so.
    for (let look = 0; look < 5; look++) {
      expect(await answersOf(code, [0, 1, 2])).toEqual([false, false, false]);
    }
  });

  // The last one, because it ends a process.
  it('up lets nobody in after the process that heard it was killed', async () => {
    const { fleet, service } = bench;
    const code = 'refunded-and-killed';
    expect((await fleet.ask(code)).yes).toBe(3);
    service.refunded.add(code);
    await fleet.workers[0]?.do('ask', { code, fresh: true });
    await fleet.workers[0]?.kill();
    service.isOut = true;
    await until(
      'the others have heard',
      async () => !(await answersOf(code, [1, 2])).includes(true),
    );
    const late = await TestFleet.start(service.url, [bench.redis.url]);
    expect((await late.ask(code)).yes).toBe(0);
    await late.stop();
  });
});
