import { Agent, request } from 'undici';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { redisIsMissing, startRedis } from '../../support/redis-server.js';
import { runExample } from './run-example.js';

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

it.skipIf(redisIsMissing())(
  'examples/fleet shares logins and answers among its workers, replaces one that dies, and ends as a whole',
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const running = runExample('fleet/server.ts', {
      ...{ PORT: '0', WORKERS: `${WORKERS}`, REDIS_URL: redis.url },
    });
    const origin = await running.prints(/workers serve (http:\/\/localhost:\d+)/);
    const code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})/);
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
      await vi.waitFor(
        async () => {
          const { status, text } = await ask(`${origin}/me`, { cookie: browser.cookies(origin) });
          expect([status, text]).toEqual([200, expect.stringContaining('"user_id":"3001"')]);
          seen.add((JSON.parse(text) as { worker: number }).worker);
          expect(seen.size).toBe(WORKERS);
        },
        // Processes start slowly on a busy machine.
        { timeout: 25_000, interval: 50 },
      );
      return [...seen];
    };

    expect((await ask(`${origin}/`)).text).toContain('<h1>Fleet</h1>');
    expect(await Promise.all(Array.from({ length: 8 }, () => download()))).toEqual(
      Array(8).fill(200),
    );
    const before = await validations();
    // A second one where a busy machine made Redis miss its deadline.
    expect([1, 2]).toContain(before);
    const [victim = 0] = await logIn();
    process.kill(victim, 'SIGKILL');
    await running.prints(/worker \d+ ended \(SIGKILL\)/);
    const pids = await logIn();
    expect(pids).not.toContain(victim);
    // The new one finds the answer in Redis.
    for (let n = 0; n < 4; n++) expect(await download()).toBe(200);
    expect(await validations()).toBe(before);
    expect(await download('wrong-code')).toBe(403);

    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  },
);
