import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfigError, readConfig } from '../../../examples/fleet/config.js';
import { Browser } from '../../support/browser.js';
import { redisIsMissing, startRedis } from '../../support/redis-server.js';
import { type RunningExample, runExample, startExample } from './run-example.js';

const SERVER = 'fleet/server.ts';
/** Processes start slowly on a machine that is busy. */
const PATIENT = { timeout: 25_000, interval: 50 };
const VALIDATION = 'POST /api/purchases/validation';

interface Worker {
  readonly worker: number;
  readonly pid: number;
  readonly answered: number;
  readonly upstream: Readonly<Record<string, number>>;
}

/** On a separate connection, because the cluster deals out connections and not requests. */
async function ask(url: string, headers: Record<string, string> = {}) {
  const dispatcher = new Agent({ pipelining: 0 });
  try {
    const { statusCode, body } = await request(url, { headers, dispatcher });
    return { status: statusCode, text: await body.text() };
  } finally {
    await dispatcher.close();
  }
}

/** What a running fleet printed about itself. */
async function shopOf(running: RunningExample) {
  const origin = await running.prints(/workers serve (http:\/\/localhost:\d+)/);
  const code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})"/);
  const id = await running.prints(/\/items\/(\d+)\/download/);
  const download = (purchaseCode = code) =>
    ask(`${origin}/items/${id}/download`, { 'x-purchase-code': purchaseCode });
  return {
    origin,
    download,
    downloads: async (count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => download()));
      return answers.map(({ status }) => status);
    },
    workers: async () =>
      (JSON.parse((await ask(`${origin}/fleet`)).text) as { workers: Worker[] }).workers,
  };
}

const callsOf = (workers: readonly Worker[]): number =>
  workers.reduce((total, { upstream }) => total + (upstream[VALIDATION] ?? 0), 0);

/** Logs in, and expects that every worker knows the user. */
async function expectLogin(origin: string, workers: number): Promise<Browser> {
  const browser = new Browser();
  const landed = await browser.logIn(`${origin}/login`);
  expect(landed.text).toContain('Logged in as');
  const seen = new Set<number>();
  // The cluster deals out connections in turn.
  for (let n = 0; n < 2 * workers; n++) {
    const { status, text } = await ask(`${origin}/me`, { cookie: browser.cookies(origin) });
    expect([status, text]).toEqual([200, expect.stringContaining('"user_id"')]);
    seen.add((JSON.parse(text) as Worker).worker);
  }
  expect(seen.size).toBe(workers);
  return browser;
}

describe.skipIf(redisIsMissing())('examples/fleet', { timeout: 30_000 }, () => {
  let running: RunningExample;
  let shop: Awaited<ReturnType<typeof shopOf>>;

  beforeAll(async () => {
    const TOKEN_KEYS = Buffer.alloc(32, 7).toString('base64');
    running = startExample(SERVER, { PORT: '0', WORKERS: '3', TOKEN_KEYS });
    shop = await shopOf(running);
  });
  afterAll(() => running.end());

  it('asks once for all workers', async () => {
    // One after the other first: workers that have just started are slow.
    for (let n = 0; n < 6; n++) expect((await shop.download()).status).toBe(200);
    expect(await shop.downloads(30)).toEqual(Array(30).fill(200));
    const workers = await vi.waitFor(async () => {
      await shop.download();
      const all = await shop.workers();
      expect(all.filter(({ answered }) => answered > 0)).toHaveLength(3);
      return all;
    }, PATIENT);
    // One; on a machine so busy that Redis misses its deadline, a worker asks by itself.
    expect(callsOf(workers)).toBeLessThan(3);
    expect((await shop.download('wrong-code')).status).toBe(403);
    expect((await shop.download()).text).toContain('Thank you');
  });

  it('shows its pages', async () => {
    const page = async (path: string) =>
      (await ask(`${shop.origin}${path}`, { accept: 'text/html' })).text;
    expect(await page('/fleet')).toContain('<table>');
    expect(await page('/')).toContain('Log in');
    expect((await ask(`${shop.origin}/me`)).status).toBe(401);
  });

  it('logs in and out once for all workers', async () => {
    const browser = await expectLogin(shop.origin, 3);
    const cookie = browser.cookies(shop.origin);
    const left = await browser.submit(`${shop.origin}/logout`, {});
    expect(left.text).toContain('does not know you');
    expect((await ask(`${shop.origin}/me`, { cookie })).status).toBe(401);
  });

  it('says that its port is taken, and ends', async () => {
    const { port } = new URL(shop.origin);
    const second = runExample(SERVER, { PORT: port, WORKERS: '1' });
    expect(await second.ended).toBe(1);
    expect(second.errors()).toContain(`Port ${port} is taken.`);
  });

  it('replaces a worker that dies; the new one finds the answer in Redis', async () => {
    const asked = () => running.output().match(/asked POST \/api\/purchases\/validation: /g);
    await shop.download();
    const before = asked();
    expect(before).not.toBeNull();
    const [victim = 0] = (await shop.workers()).map(({ pid }) => pid);
    process.kill(victim, 'SIGKILL');
    await running.prints(/worker \d+ ended \(SIGKILL\)/);
    await vi.waitFor(async () => {
      const now = (await shop.workers()).map(({ pid }) => pid);
      expect(now).toHaveLength(3);
      expect(now).not.toContain(victim);
    }, PATIENT);
    expect(await shop.downloads(6)).toEqual(Array(6).fill(200));
    expect(asked()).toEqual(before);
  });

  it('ends as a whole', async () => {
    const pids = (await shop.workers()).map(({ pid }) => pid);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(ask(shop.origin)).rejects.toThrow();
    // A ping to Redis can be in progress when its client is destroyed.
    expect(running.errors().replaceAll('Redis: Disconnects client\n', '')).toBe('');
  });

  it('serves downloads while Redis is away, and logins when it is back', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const other = runExample(SERVER, { PORT: '0', WORKERS: '2', REDIS_URL: redis.url });
    const { origin, download } = await shopOf(other);
    await redis.kill();
    for (let n = 0; n < 4; n++) expect((await download()).status).toBe(200);
    expect((await ask(`${origin}/login`)).status).toBe(503);
    await redis.restart();
    // Each worker says so.
    await other.prints(/Redis: back[\s\S]*Redis: back/);
    // With no TOKEN_KEYS.
    await expectLogin(origin, 2);
    // Nothing but that Redis went away, once for each worker.
    expect(other.errors()).not.toMatch(/Error|\.js:/);
  });
});

describe('examples/fleet, started wrongly', () => {
  it('says how to get a Redis when there is none, and ends', async () => {
    const running = runExample(SERVER, { PORT: '0', PATH: '/nowhere' });
    expect(await running.ended).toBe(1);
    expect(running.errors()).toContain('Set REDIS_URL');
    expect(running.errors()).not.toContain('.js:');
  });

  it('says what is missing of a real service', () => {
    const read = () => readConfig({ MARKETPLACE_API_KEY: 'very-secret' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow('Missing: MARKETPLACE_BASE_URL');
    expect(read).not.toThrow('very-secret');
  });
});
