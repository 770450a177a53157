import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, redisIsMissing, startRedis } from '../../support/redis-server.js';
import { TestFleet } from './support/fleet.js';
import { sum } from './support/outcomes.js';
import { CountingService, INVALID } from './support/service.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { until } from './support/until.js';

const LOCK_LIFE = 2000;

describe.skipIf(redisIsMissing())('one process apart from the others', () => {
  let redis: RedisServer;
  let service: CountingService;
  let proxies: TcpProxy[];
  let fleet: TestFleet;

  beforeAll(async () => {
    [redis, service] = await Promise.all([startRedis(), CountingService.start()]);
    proxies = await Promise.all(Array.from({ length: 4 }, () => TcpProxy.start(redis.port)));
    const settings = { serviceUrl: service.url, apiKey: 'key-of-the-shop', guessLimit: 5 };
    fleet = await TestFleet.start(
      { ...settings, limits: {} },
      proxies.map(({ url }) => url),
    );
    await fleet.ask('warming', 50);
  }, 30_000);
  afterAll(async () => {
    await fleet?.stop();
    for (const proxy of proxies ?? []) proxy.close();
    service?.close();
    await redis?.stop();
  });

  /** All are connected again, and none rests after failures. */
  const allShare = () =>
    until('all share', async () => {
      const code = `probe-${Math.random().toString(36).slice(2)}`;
      await fleet.workers[2]?.do('ask', { code, times: 1, via: 'client' });
      await fleet.ask(code);
      return service.calls(code) === 1;
    });

  it.each([
    ['node-redis', 0],
    ['ioredis', 1],
  ])(
    'that was away while a code was invalidated forgets all when it is back (%s)',
    { timeout: 20_000 },
    async (kind, n) => {
      const code = `missed-${kind}`;
      await fleet.ask(code);
      proxies[n]?.cut();
      await fleet.workers[2]?.do('invalidate', { code });
      await Promise.all([2, 3].map((i) => fleet.workers[i]?.do('forgotten', { code })));
      // It cannot know, and goes on with what it has.
      expect(await fleet.workers[n]?.do('peek', { code })).toBe('yes');
      const begun = performance.now();
      proxies[n]?.mend();
      await fleet.workers[n]?.do('forgotten', { code });
      console.log(
        `reconnected with ${kind}: forgot after ${Math.round(performance.now() - begun)} ms`,
      );
      const before = service.calls(code);
      expect((await fleet.ask(code)).yes).toBe(4);
      expect(service.calls(code)).toBeGreaterThan(before);
      await allShare();
    },
  );

  it('that invalidates while it is away does not take the old answer when it is back', {
    timeout: 20_000,
  }, async () => {
    const code = 'invalidated-alone';
    const [alone] = fleet.workers;
    await fleet.ask(code);
    expect(service.calls(code)).toBe(1);
    proxies[0]?.cut();
    await alone?.do('invalidate', { code });
    proxies[0]?.mend();
    await allShare();
    await alone?.do('ask', { code, times: 1, via: 'client' });
    expect(service.calls(code)).toBe(2);
  });

  it('guesses are counted over all processes', { timeout: 10_000 }, async () => {
    const guess = (n: number, visitor = 'a-guesser') =>
      fleet.workers[n % 4]?.do('visit', { code: `${INVALID}${visitor}-${n}`, visitor });
    const statuses = [];
    for (let n = 0; n < 5; n++) statuses.push(await guess(n));
    expect(statuses).toEqual([403, 403, 403, 403, 403]);
    const before = service.calls();
    // Each process, also one that saw a single guess itself.
    for (let n = 5; n < 9; n++) expect(await guess(n)).toBe(429);
    expect(service.calls()).toBe(before);
    expect(await guess(9, 'somebody-else')).toBe(403);
  });

  it('a claim is granted to one process only', { timeout: 10_000 }, async () => {
    for (let n = 0; n < 10; n++) {
      const granted = await fleet.all('claim', { name: `claim-${n}` });
      expect(granted.filter(Boolean)).toHaveLength(1);
    }
  });

  // The last one, for it leaves a process less.
  it('that is killed while it asks for all delays them no longer than the lock lives', {
    timeout: 20_000,
  }, async () => {
    const code = 'asked-by-the-dead';
    const [holder, ...others] = fleet.workers;
    // The service does not answer the first.
    let open = (): void => {};
    service.gate = new Promise((resolve) => {
      open = resolve;
    });
    const lost = holder?.do('ask', { code, times: 1, via: 'client' }).catch(() => 'killed');
    await until('the service is asked', () => service.calls(code) === 1);
    service.gate = undefined;
    const waiting = Promise.all(
      others.map((worker) => worker.do('ask', { code, times: 20, via: 'client' })),
    );
    await holder?.kill();
    const { yes, why, slowest } = sum(await waiting);
    open();
    console.log(
      `holder of the lock killed: the others waited ${Math.round(slowest)} ms at most, and asked ${service.calls(code) - 1} times`,
    );
    expect(await lost).toBe('killed');
    expect(why).toEqual([]);
    expect(yes).toBe(60);
    expect(slowest).toBeLessThan(LOCK_LIFE + 1500);
    // One of them, or each at the worst.
    expect(service.calls(code)).toBeLessThanOrEqual(4);
  });
});
