import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing, TROUBLES } from '../../support/redis-server.js';
import { Bench, until } from './support/bench.js';
import { TestFleet } from './support/fleet.js';

// "Once any process has heard a real no, no yes asked for before it is served again" (contract, section 2):
// real processes, a real Redis, and clocks that are hours apart.

const HOUR = 3_600_000;
const SKEWS = [-3 * HOUR, 0, 5 * HOUR];

interface Fault {
  readonly begin: (bench: Bench) => unknown;
  readonly end: (bench: Bench) => unknown;
  /** Whether the other processes are in touch meanwhile: they are told by a message. */
  readonly isHeard: boolean;
}

const of = (trouble: keyof typeof TROUBLES, isHeard: boolean): Fault => ({
  begin: ({ redis }) => TROUBLES[trouble].begin(redis),
  end: ({ redis }) => TROUBLES[trouble].end(redis),
  isHeard,
});

const FAULTS: Readonly<Record<string, Fault>> = {
  'full, and refuses writes': of('full', true),
  'read-only, as after a failover': of('read-only', true),
  frozen: of('frozen', false),
  'restarted empty': of('killed', false),
  'closed to scripts and writes for this user': {
    begin: ({ redis }) => redis.command('ACL', 'SETUSER', 'default', '-eval', '-set'),
    end: ({ redis }) => redis.command('ACL', 'SETUSER', 'default', '+@all'),
    isHeard: false,
  },
  'cut off from the process that hears the answer': {
    begin: ({ proxies }) => proxies[0]?.cut(),
    end: ({ proxies }) => proxies[0]?.mend(),
    isHeard: false,
  },
};

describe.skipIf(redisIsMissing())('a refund that is heard while Redis is', () => {
  let bench: Bench;

  beforeAll(async () => {
    // With real deadlines: a Redis that is frozen must not hold anybody up.
    bench = await Bench.start({ processes: 3, proxies: 3, skews: SKEWS });
  });
  afterEach(async () => {
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
    const heard = await fleet.workers[0]?.do('ask', {
      code,
      times: 1,
      via: 'client',
      fresh: true,
    });
    expect(heard?.no).toBe(1);
    // From now on nobody can be asked: what is served comes out of a cache.
    service.isOut = true;
    for (let look = 0; look < 3; look++) expect(await answersOf(code, [0])).toEqual([false]);
    if (fault.isHeard) {
      await until(
        'the others have heard',
        async () => !(await answersOf(code, [1, 2])).includes(true),
      );
      // Also one that starts only now, and heard no message.
      const late = await TestFleet.start({ serviceUrl: service.url }, [bench.redis.url]);
      expect((await late.ask(code)).yes).toBe(0);
      await late.stop();
    }
    await fault.end(bench);
    await until('all have heard', async () => {
      await fleet.all('pass', { milliseconds: 5000 });
      return !(await answersOf(code, [0, 1, 2])).includes(true);
    });
    // And it stays so.
    for (let look = 0; look < 5; look++) {
      expect(await answersOf(code, [0, 1, 2])).toEqual([false, false, false]);
    }
  });
});
