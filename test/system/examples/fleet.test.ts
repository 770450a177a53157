import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { redisIsMissing, startRedis } from '../../support/redis-server.js';

const SERVER = fileURLToPath(new URL('../../../examples/fleet/server.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const VALIDATION = 'POST /api/purchases/validation';

interface Fleet {
  workers: { worker: number; pid: number; answered: number; upstream: Record<string, number> }[];
}

/** The example in processes of its own, as a user starts it. */
class Running {
  readonly #child: ChildProcess;
  readonly ended: Promise<number | string | null>;
  out = '';
  err = '';

  constructor(env: Record<string, string>) {
    // Of the outer process only what a shell would have: no NODE_ENV=test, no REDIS_URL of a developer.
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    this.#child = spawn(process.execPath, ['--import', 'tsx', SERVER], {
      cwd: ROOT,
      env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(code ?? signal));
    });
    onTestFinished(async () => {
      // It ends its Redis itself; killed at once, it could not.
      this.signal('SIGTERM');
      const tooLong = setTimeout(() => this.signal('SIGKILL'), 7000);
      await this.ended;
      clearTimeout(tooLong);
    }, 10_000);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async prints(pattern: RegExp): Promise<string> {
    return vi.waitFor(
      () => {
        const found = pattern.exec(this.out);
        if (!found) throw new Error(`it printed: ${this.out}${this.err}`);
        return found[1] ?? found[0];
      },
      { timeout: 15_000, interval: 20 },
    );
  }
}

/** On a connection of its own, for the cluster deals out connections and not requests. */
async function ask(url: string, headers: Record<string, string> = {}) {
  const dispatcher = new Agent({ pipelining: 0 });
  try {
    const { statusCode, body, headers: answered } = await request(url, { headers, dispatcher });
    return { status: statusCode, text: await body.text(), type: answered['content-type'] };
  } finally {
    await dispatcher.close();
  }
}

describe.skipIf(redisIsMissing())('examples/fleet', () => {
  const TOKEN_KEYS = Buffer.alloc(32, 7).toString('base64');

  it('asks once for all workers, replaces one that dies, and ends as a whole', {
    timeout: 40_000,
  }, async () => {
    const running = new Running({ PORT: '0', WORKERS: '3', TOKEN_KEYS });
    const origin = await running.prints(/3 workers serve (http:\/\/localhost:\d+)/);
    const url = origin.replace('localhost', '127.0.0.1');
    const code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})"/);
    const id = await running.prints(/\/items\/(\d+)\/download/);
    const fleet = async () => JSON.parse((await ask(`${url}/fleet`)).text) as Fleet;
    const download = () => ask(`${url}/items/${id}/download`, { 'x-purchase-code': code });

    const answers = await Promise.all(Array.from({ length: 30 }, download));
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(200));
    expect(answers[0]?.text).toContain('Thank you');
    const workers = await vi.waitFor(async () => {
      await download();
      const all = (await fleet()).workers;
      expect(all.filter(({ answered }) => answered > 0)).toHaveLength(3);
      return all;
    }, 5000);
    const pids = workers.map(({ pid }) => pid);
    const calls = workers.map(({ upstream }) => upstream[VALIDATION] ?? 0);
    expect(calls.reduce((total, each) => total + each, 0)).toBe(1);
    expect(running.out.match(/asked POST \/api\/purchases\/validation/g)).toHaveLength(1);

    expect(
      (await ask(`${url}/items/${id}/download`, { 'x-purchase-code': 'wrong-code' })).status,
    ).toBe(403);
    expect((await ask(`${url}/fleet`, { accept: 'text/html' })).text).toContain('<table>');
    expect((await ask(`${url}/me`)).status).toBe(401);
    expect((await ask(`${url}/`, { accept: 'text/html' })).text).toContain('Log in');

    const [victim = 0] = pids;
    process.kill(victim, 'SIGKILL');
    await running.prints(/worker \d+ ended \(SIGKILL\)/);
    await vi.waitFor(
      async () => {
        expect(
          (await Promise.all(Array.from({ length: 6 }, download))).map(({ status }) => status),
        ).toEqual(Array(6).fill(200));
        const now = (await fleet()).workers.map(({ pid }) => pid);
        expect(now).toHaveLength(3);
        expect(now).not.toContain(victim);
      },
      { timeout: 10_000, interval: 50 },
    );
    expect(running.out.match(/asked POST \/api\/purchases\/validation: /g)).toHaveLength(2);

    const left = (await fleet()).workers.map(({ pid }) => pid);
    running.signal('SIGTERM');
    expect(await running.ended).toBe(0);
    for (const pid of left) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(ask(url)).rejects.toThrow();
    expect(running.err).toBe('');
  });

  it.each([
    ['encrypted', TOKEN_KEYS],
    ['plain', ''],
  ])('logs in once for all workers (tokens %s)', { timeout: 30_000 }, async (_how, keys) => {
    const running = new Running({ PORT: '0', WORKERS: '3', TOKEN_KEYS: keys });
    const origin = await running.prints(/3 workers serve (http:\/\/localhost:\d+)/);
    const browser = new Browser();
    const landed = await browser.logIn(`${origin}/login`);
    expect(landed.text).toContain('Logged in as');
    const cookie = browser.cookies(origin);
    const workers = new Set<number>();
    // The cluster deals out connections in turn.
    for (let n = 0; n < 6; n++) {
      const { status, text } = await ask(`${origin}/me`, { cookie });
      expect([status, text]).toEqual([200, expect.stringContaining('"user_id"')]);
      workers.add((JSON.parse(text) as { worker: number }).worker);
    }
    expect(workers.size).toBe(3);
    expect((await browser.submit(`${origin}/logout`, {})).text).toContain('does not know you');
    expect((await ask(`${origin}/me`, { cookie })).status).toBe(401);
    expect(running.err).toBe('');
  });

  it('serves downloads while Redis is away, and logins when it is back', {
    timeout: 30_000,
  }, async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const running = new Running({ PORT: '0', WORKERS: '2', REDIS_URL: redis.url });
    const origin = await running.prints(/2 workers serve (http:\/\/localhost:\d+)/);
    const code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})"/);
    const id = await running.prints(/\/items\/(\d+)\/download/);
    await redis.kill();
    for (let n = 0; n < 4; n++) {
      const download = await ask(`${origin}/items/${id}/download`, { 'x-purchase-code': code });
      expect(download.status).toBe(200);
    }
    expect((await ask(`${origin}/login`)).status).toBe(503);
    await redis.restart();
    await vi.waitFor(
      async () => {
        const landed = await new Browser().logIn(`${origin}/login`);
        expect(landed.text).toContain('Logged in as');
      },
      { timeout: 10_000, interval: 50 },
    );
    // Nothing but that Redis went away, once for each worker.
    expect(running.err).not.toMatch(/Error|\.ts:/);
  });

  it('says how to get a Redis when there is none, and ends', { timeout: 15_000 }, async () => {
    const running = new Running({ PORT: '0', PATH: '/nowhere' });
    expect(await running.ended).toBe(1);
    expect(running.err).toContain('Set REDIS_URL');
    expect(running.err).not.toContain('.ts:');
  });

  it('says that its port is taken, and ends', { timeout: 20_000 }, async () => {
    const first = new Running({ PORT: '0', WORKERS: '1' });
    const port = await first.prints(/serve http:\/\/localhost:(\d+)/);
    const second = new Running({ PORT: port, WORKERS: '2' });
    expect(await second.ended).toBe(1);
    expect(second.err).toContain(`Port ${port} is taken.`);
  });

  it('says what is missing of a real service, and ends', { timeout: 15_000 }, async () => {
    const running = new Running({ MARKETPLACE_API_KEY: 'very-secret' });
    expect(await running.ended).toBe(1);
    expect(running.err).toContain('Missing: MARKETPLACE_BASE_URL');
    expect(running.err).not.toMatch(/very-secret/);
  });
});
