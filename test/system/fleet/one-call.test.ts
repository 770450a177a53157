import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, redisIsMissing, startRedis } from '../../support/redis-server.js';
import { TestFleet } from './support/fleet.js';
import { CountingService, INVALID } from './support/service.js';
import { until } from './support/until.js';

const PROCESSES = 4;

describe.skipIf(redisIsMissing())('four processes, one Redis', () => {
  let redis: RedisServer;
  let service: CountingService;
  let fleet: TestFleet;
  let attempt = 0;

  beforeAll(async () => {
    [redis, service] = await Promise.all([startRedis(), CountingService.start()]);
    const settings = { serviceUrl: service.url, apiKey: 'key-of-the-shop', guessLimit: 5 };
    const urls = Array.from({ length: PROCESSES }, () => redis.url);
    fleet = await TestFleet.start({ ...settings, limits: {} }, urls);
    // Compiled, connected and listening, as a fleet is that has served for a while.
    for (const via of ['client', 'guard'] as const) await fleet.ask(`warming-${via}`, 250, via);
  }, 30_000);
  afterAll(async () => {
    await fleet?.stop();
    service?.close();
    await redis?.stop();
  });

  it.each(['client', 'guard'] as const)(
    '250 requests in each for one cold code, through the %s: one call',
    // Again on a starved machine: there Redis itself misses its deadline, and a process asks alone.
    { timeout: 15_000, retry: 2 },
    async (via) => {
      attempt++;
      // Several times: a race that is lost one time in ten would not be seen otherwise.
      for (let n = 0; n < 5; n++) {
        const code = `cold-${via}-${n}-${attempt}`;
        const { yes, requests, why } = await fleet.ask(code, 250, via);
        expect(why).toEqual([]);
        expect([yes, requests]).toEqual([1000, 1000]);
        expect(service.calls(code)).toBe(1);
      }
    },
  );

  it('a no is shared as well', { timeout: 10_000 }, async () => {
    const code = `${INVALID}for-all`;
    expect((await fleet.ask(code, 50)).no).toBe(200);
    expect(service.calls(code)).toBe(1);
  });

  it('invalidate in one is obeyed by all, at once', { timeout: 15_000 }, async () => {
    const took: number[] = [];
    for (let n = 0; n < 10; n++) {
      const code = `invalidated-${n}`;
      await fleet.ask(code);
      const before = service.calls(code);
      expect(await fleet.all('peek', { code })).toEqual(['yes', 'yes', 'yes', 'yes']);
      const heard = fleet.all('forgotten', { code });
      const by = fleet.workers[n % PROCESSES];
      const [begun = 0, ...ends] = await Promise.all([by?.do('invalidate', { code }), heard]);
      took.push(Math.max(...ends.flat()) - begun);
      await fleet.ask(code);
      expect(service.calls(code)).toBe(before + 1);
    }
    took.sort((a, b) => a - b);
    const [median = 0, slowest = 0] = [took[5], took.at(-1)];
    console.log(
      `invalidate, until the last of ${PROCESSES} processes obeyed: median ${median.toFixed(1)} ms, slowest ${slowest.toFixed(1)} ms`,
    );
    expect(slowest).toBeLessThan(1000);
  });

  it('invalidate() of everything makes the next lookup ask, in all', {
    timeout: 10_000,
  }, async () => {
    const code = 'one-of-everything';
    await fleet.ask(code);
    await fleet.workers[0]?.do('invalidate', {});
    await fleet.all('forgotten', { code });
    expect((await fleet.ask(code)).yes).toBe(PROCESSES);
    expect(service.calls(code)).toBe(2);
  });

  it('an answer that was asked for before an invalidate is not shared after it', {
    timeout: 10_000,
  }, async () => {
    const code = 'asked-for-before';
    const [one, two] = fleet.workers;
    const ask = (of: typeof one, each: string) =>
      of?.do('ask', { code: each, times: 1, via: 'client' });
    await ask(one, 'a-later-one');
    let open = (): void => {};
    service.gate = new Promise((resolve) => {
      open = resolve;
    });
    const old = ask(one, code);
    await until('the service is asked', () => service.calls(code) === 1);
    service.gate = undefined;
    await two?.do('invalidate', { code });
    // Messages come in the order in which they are sent: when this one is heard, the other was.
    await two?.do('invalidate', { code: 'a-later-one' });
    await one?.do('forgotten', { code: 'a-later-one' });
    open();
    expect((await old)?.yes).toBe(1);
    await ask(two, code);
    expect(service.calls(code)).toBe(2);
  });

  it('who finds the lock free looks once more before it asks', {
    timeout: 20_000,
    retry: 2,
  }, async () => {
    attempt++;
    // Codes one after the other, in all processes with a little delay between them: the answer comes
    // between another's look and its turn at the lock.
    service.latency = 0;
    const codes = Array.from({ length: 400 }, (_, n) => `just-now-${n}-${attempt}`);
    const now = Date.now();
    await Promise.all(
      fleet.workers.map((worker, n) =>
        worker.do('traffic', { now, codes: n % 2 ? codes.toReversed() : codes }),
      ),
    );
    await fleet.all('traffic', { now, codes });
    const twice = codes.filter((code) => service.calls(code) > 1);
    expect(twice).toEqual([]);
  });
});
