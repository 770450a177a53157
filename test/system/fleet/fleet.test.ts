import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { REDIS_SERVER, VALKEY_SERVER } from '../../support/programs.js';
import { type RedisServer, redisIsMissing, SOON, startRedis } from '../../support/redis-server.js';
import { account, purchase, refusal, success } from '../../support/wire.js';

// "Over a fleet": real processes with both libraries, on a real server, with clocks that are hours apart.

const HOUR = 3_600_000;
const FLEET = [
  ['node-redis', -3 * HOUR],
  ['ioredis', 0],
  ['node-redis', 5 * HOUR],
] as const;

/** The service: what it says of codes, and how often it was asked about one. */
async function startService() {
  const state = { says: 'positive' as 'positive' | 'negative' | 'nothing', asked: 0 };
  const server = createServer(async (req, res) => {
    const purchase_code = new URLSearchParams(await text(req)).get('purchase_code');
    res.setHeader('content-type', 'application/json');
    if (purchase_code === null) return res.end(JSON.stringify(success({ data: account })));
    state.asked++;
    const sold = success({ data: { purchase: { ...purchase, purchase_code } } });
    const { says } = state;
    // What a proxy says. It is neither an answer nor an outage.
    if (says === 'nothing') return res.end('<html>');
    res.end(JSON.stringify(says === 'positive' ? sold : refusal('Invalid purchase code')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, { url, close: () => server.close().closeAllConnections() });
}

class Process {
  readonly #answers = new Map<number, (answer: unknown) => void>();
  #id = 0;

  private constructor(readonly child: ChildProcess) {
    child.on('message', ({ id, answer }: { id: number; answer: unknown }) => {
      this.#answers.get(id)?.(answer);
    });
  }

  static async start(...args: [library: string, redis: string, service: string, skew: number]) {
    const cwd = inject('builtPackage');
    const program = join(cwd, 'process.js');
    copyFileSync(new URL('./fixtures/process.js', import.meta.url), program);
    const started = new Process(fork(program, args.map(String), { cwd }));
    await new Promise((resolve) => started.#answers.set(0, resolve));
    return started;
  }

  /** What it says of a code: whether it is sold, or the error. */
  ask(code: string, fresh = false): Promise<unknown> {
    const id = ++this.#id;
    this.child.send({ id, code, fresh });
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }

  /** Ends, at once. */
  kill(): void {
    this.child.kill('SIGKILL');
  }
}

const SERVERS = Object.entries({ Redis: REDIS_SERVER, Valkey: VALKEY_SERVER }).filter(
  (each): each is [string, string] => each[1] !== undefined,
);

describe.skipIf(redisIsMissing()).each(SERVERS)('A fleet on %s', (_name, program) => {
  let redis: RedisServer;
  let service: Awaited<ReturnType<typeof startService>>;
  let fleet: Process[] = [];
  const start = ([library, skew]: (typeof FLEET)[number]) =>
    Process.start(library, redis.url, service.url, skew);
  beforeAll(async () => {
    [redis, service] = await Promise.all([startRedis(program), startService()]);
    fleet = await Promise.all(FLEET.map(start));
  });
  afterAll(async () => {
    for (const each of fleet) each.kill();
    service?.close();
    await redis?.stop();
  });

  const all = (code: string) => Promise.all(fleet.map((each) => each.ask(code)));

  /** A code that all have, from one request. On a busy machine a call can miss its short deadline: then with another code. */
  async function shareCode(): Promise<string> {
    service.says = 'positive';
    return vi.waitFor(async () => {
      const [code, before] = [randomUUID(), service.asked];
      for (const each of fleet) expect(await each.ask(code)).toBe(true);
      expect(service.asked - before).toBe(1);
      return code;
    }, SOON);
  }

  /** The service withdraws a code, one process hears it, and the service says nothing more about it. */
  async function refund(code: string): Promise<void> {
    service.says = 'negative';
    expect(await fleet[0]?.ask(code, true)).toBe(false);
    service.says = 'nothing';
  }

  const allRefuse = (code: string) =>
    vi.waitFor(async () => expect(await all(code)).toEqual(fleet.map(() => false)), SOON);

  it('asks once about a code, and a refund that one process hears counts in all', async () => {
    const code = await shareCode();
    await refund(code);
    await allRefuse(code);
  });

  it('refuses what was refunded while a process was frozen and its connections were cut', async () => {
    const code = await shareCode();
    const frozen = fleet[1]?.child as ChildProcess;
    frozen.kill('SIGSTOP');
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await refund(code);
    frozen.kill('SIGCONT');
    await allRefuse(code);
  });

  it('asks the service about what it has cached when Redis has restarted empty, and goes on sharing', async () => {
    const [refunded, kept] = [await shareCode(), await shareCode()];
    await redis.kill();
    await refund(refunded);
    await redis.restart();
    // The service is down: the last answer serves, though Redis no longer has it.
    expect(await fleet[1]?.ask(kept)).toBe(true);
    service.says = 'negative';
    await allRefuse(refunded);
    await allRefuse(kept);
    const later = await shareCode();
    await refund(later);
    await allRefuse(later);
  });

  it('keeps a refund of which the process that heard it was killed', async () => {
    const code = await shareCode();
    await refund(code);
    fleet.shift()?.kill();
    fleet.push(await start(FLEET[0]));
    await allRefuse(code);
  });
});
