import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
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
    // What a proxy says. It is neither an answer nor an outage.
    if (state.says === 'nothing') return res.end('<html>');
    const sold = success({ data: { purchase: { ...purchase, purchase_code } } });
    res.end(JSON.stringify(state.says === 'positive' ? sold : refusal('Invalid purchase code')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, { url, close: () => server.close().closeAllConnections() });
}

/** Starts a process on a server of Redis and a service, with a clock that is this far off. */
async function startProcess(
  ...args: [library: string, redis: string, service: string, skew: number]
) {
  const cwd = inject('builtPackage');
  const program = join(cwd, 'process.js');
  copyFileSync(new URL('./fixtures/process.js', import.meta.url), program);
  const child = fork(program, args.map(String), { cwd });
  await once(child, 'message');
  return child;
}

/** What a process says of a code: whether it is sold, or the error. */
async function ask(child: ChildProcess, code: string, fresh = false): Promise<unknown> {
  child.send({ code, fresh });
  return (await once(child, 'message'))[0];
}

describe.skipIf(redisIsMissing())('A fleet', () => {
  let redis: RedisServer;
  let service: Awaited<ReturnType<typeof startService>>;
  let fleet: ChildProcess[] = [];
  const start = ([library, skew]: (typeof FLEET)[number]) =>
    startProcess(library, redis.url, service.url, skew);
  beforeAll(async () => {
    [redis, service] = await Promise.all([startRedis(), startService()]);
    fleet = await Promise.all(FLEET.map(start));
  });
  afterAll(async () => {
    for (const each of fleet) each.kill('SIGKILL');
    service?.close();
    await redis?.stop();
  });

  /** A code that all have, from one request. On a busy machine a call can miss its short deadline: then with another code. */
  async function shareCode(): Promise<string> {
    service.says = 'positive';
    return vi.waitFor(async () => {
      const [code, before] = [randomUUID(), service.asked];
      for (const each of fleet) expect(await ask(each, code)).toBe(true);
      expect(service.asked - before).toBe(1);
      return code;
    }, SOON);
  }

  /** The service withdraws a code, one process hears it, and the service says nothing more about it. */
  async function refund(code: string): Promise<void> {
    service.says = 'negative';
    expect(await ask(fleet[0] as ChildProcess, code, true)).toBe(false);
    service.says = 'nothing';
  }

  const allRefuse = (code: string) =>
    vi.waitFor(async () => {
      for (const each of fleet) expect(await ask(each, code)).toBe(false);
    }, SOON);

  it('asks once about a code, and a refund that one process hears counts in all, also when that is killed', async () => {
    const code = await shareCode();
    await refund(code);
    fleet.shift()?.kill('SIGKILL');
    fleet.push(await start(FLEET[0]));
    await allRefuse(code);
  });

  it('refuses what was refunded while a process was frozen and its connections were cut', async () => {
    const code = await shareCode();
    fleet[1]?.kill('SIGSTOP');
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await refund(code);
    fleet[1]?.kill('SIGCONT');
    await allRefuse(code);
  });

  it('asks the service about what it has cached when Redis has restarted empty, and goes on sharing', async () => {
    const [refunded, kept] = [await shareCode(), await shareCode()];
    await redis.kill();
    await refund(refunded);
    await redis.restart();
    // The service is down: the last answer serves, though Redis no longer has it.
    expect(await ask(fleet[1] as ChildProcess, kept)).toBe(true);
    service.says = 'negative';
    for (const code of [refunded, kept]) await allRefuse(code);
    const later = await shareCode();
    await refund(later);
    await allRefuse(later);
  });
});
