import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { type RedisServer, redisIsMissing, startRedis } from '../../support/redis-server.js';
import { type RunningExample, startExample } from './run-example.js';

/** Processes start slowly on a busy machine. */
const PATIENT = { timeout: 25_000, interval: 50 };
const WORKERS = 2;

/** On a new connection, because the cluster distributes connections and not requests. */
async function ask(url: string, headers: Record<string, string> = {}) {
  const dispatcher = new Agent({ pipelining: 0 });
  try {
    const { statusCode, body } = await request(url, { headers, dispatcher });
    return { status: statusCode, text: await body.text() };
  } finally {
    await dispatcher.close();
  }
}

describe.skipIf(redisIsMissing())('examples/fleet', { timeout: 30_000 }, () => {
  let redis: RedisServer;
  let running: RunningExample;
  let origin: string;
  let code: string;

  const download = async (purchaseCode = code) =>
    (await ask(`${origin}/items/1042/download`, { 'x-purchase-code': purchaseCode })).status;
  /** The validations that were sent to the marketplace. */
  const validations = async (): Promise<number> => {
    const counts = JSON.parse((await ask(`${origin}/fleet`)).text) as Record<string, string>;
    const sent = Object.entries(counts).filter(([what]) => what.endsWith('/validation'));
    return sent.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  /** Logs in, and expects every worker to know the user. Gives the ids of their processes. */
  const logIn = async (): Promise<number[]> => {
    const browser = new Browser();
    await browser.logIn(`${origin}/login`, '3001');
    const seen = new Set<number>();
    await vi.waitFor(async () => {
      const { status, text } = await ask(`${origin}/me`, { cookie: browser.cookies(origin) });
      expect([status, text]).toEqual([200, expect.stringContaining('"user_id":"3001"')]);
      seen.add((JSON.parse(text) as { worker: number }).worker);
      expect(seen.size).toBe(WORKERS);
    }, PATIENT);
    return [...seen];
  };

  beforeAll(async () => {
    redis = await startRedis();
    running = startExample('fleet/server.ts', {
      ...{ PORT: '0', WORKERS: `${WORKERS}`, REDIS_URL: redis.url },
    });
    origin = await running.prints(/workers serve (http:\/\/localhost:\d+)/);
    code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})/);
  });
  afterAll(async () => {
    await running.end();
    await redis.stop();
  });

  it('has a front page, sends one request for all workers, and counts a failed attempt', async () => {
    for (let n = 0; n < 6; n++) expect(await download()).toBe(200);
    expect(await Promise.all(Array.from({ length: 30 }, () => download()))).toEqual(
      Array(30).fill(200),
    );
    // A second one where a busy machine made Redis miss its deadline.
    await vi.waitFor(async () => expect(await validations()).toBeGreaterThan(0), PATIENT);
    expect(await validations()).toBeLessThan(3);
    expect(await download('wrong-code')).toBe(403);
    expect((await ask(`${origin}/`)).text).toContain('<h1>Fleet</h1>');
  });

  it('replaces a worker that dies; the new one finds the answer in Redis', async () => {
    const [victim = 0] = await logIn();
    const before = await validations();
    process.kill(victim, 'SIGKILL');
    await running.prints(/worker \d+ ended \(SIGKILL\)/);
    expect(await logIn()).not.toContain(victim);
    for (let n = 0; n < 6; n++) expect(await download()).toBe(200);
    expect(await validations()).toBe(before);
  });

  it('serves downloads while Redis is down, and logins when it is back', async () => {
    await redis.kill();
    for (let n = 0; n < 4; n++) expect(await download()).toBe(200);
    expect((await ask(`${origin}/login`)).status).toBe(503);
    await redis.restart();
    await vi.waitFor(async () => {
      // Each worker connects again by itself.
      for (let n = 0; n < 2 * WORKERS; n++) {
        expect((await ask(`${origin}/login`)).status).toBe(302);
      }
    }, PATIENT);
    await logIn();
  });

  it('ends as a whole', async () => {
    const pids = await logIn();
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
