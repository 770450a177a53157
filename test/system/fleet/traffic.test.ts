import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
import { Bench } from './support/bench.js';
import { sum } from './support/outcomes.js';
import { INVALID } from './support/service.js';

const CODES = 300;
const SECONDS = 60;
const TTL = 20_000;
const STEP = 1000;
const LIMITS = { ttl: TTL, invalidTtl: TTL, staleWhileRevalidate: 10_000 };
/** In each process and simulated second. */
const REQUESTS = 30;

describe.skipIf(redisIsMissing())('a minute of mixed traffic', () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ isPatient: true, lockFactor: 60, limits: LIMITS });
    bench.service.latency = 2;
  });
  afterAll(() => bench?.stop());

  it('an answer of a host whose clock is a second ahead is shared', async () => {
    const [one, two] = bench.fleet.workers;
    const now = Date.now();
    await one?.do('traffic', { now: now + 1000, codes: ['asked-ahead'] });
    await two?.do('traffic', { now, codes: ['asked-ahead'] });
    expect(bench.service.calls('asked-ahead')).toBe(1);
  });

  it('costs one call for each code and TTL', async () => {
    const { fleet, service } = bench;
    // Of ten codes one is wrong; half of the traffic is about a tenth of the codes, as in a shop.
    const codes = Array.from(
      { length: CODES },
      (_, n) => `${n % 10 === 0 ? INVALID : ''}code-${n}`,
    );
    const random = randomFrom(5);
    const pick = (): string =>
      codes[Math.floor(random() * (random() < 0.5 ? CODES / 10 : CODES))] ?? '';
    const begun = Date.now();
    let now = begun;
    let calls = 0;
    // Each call that finds none within the last TTL opens a new one: what a single process would do.
    const opened = new Map<string, number>();
    let needed = 0;
    service.onCall = (code) => {
      calls++;
      // A call that began in one simulated second can arrive in the next.
      if (now - (opened.get(code) ?? 0) < TTL - STEP) return;
      opened.set(code, now);
      needed++;
    };
    const all = [];
    for (let second = 0; second < SECONDS; second++) {
      now = begun + second * STEP;
      all.push(
        ...(await Promise.all(
          fleet.workers.map((worker) =>
            worker.do('traffic', { now, codes: Array.from({ length: REQUESTS }, pick) }),
          ),
        )),
      );
    }
    const { requests, failed, why } = sum(all);
    expect(why).toEqual([]);
    expect(failed).toBe(0);
    expect(requests).toBe(4 * SECONDS * REQUESTS);
    expect(opened.size).toBeGreaterThan(CODES * 0.9);
    expect(calls / needed).toBeLessThanOrEqual(1.05);
  });
});

/** Always the same numbers, so that a failure can be seen again (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
