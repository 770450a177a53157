import { randomUUID } from 'node:crypto';
import type { Request } from 'express';
import { redisGuessLimit } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CLIENT_KINDS,
  CLIENTS,
  isClusterKind,
  type RedisServer,
  redisIsMissing,
  startRedis,
} from '../../support/redis-server.js';

const SOON = { timeout: 15_000, interval: 20 };
const WHO = '203.0.113.7';

describe.skipIf(redisIsMissing()).each(CLIENT_KINDS)('redisGuessLimit with %s', (kind) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ cluster: isClusterKind(kind) });
  });
  afterAll(() => server?.stop());

  async function open(options: {
    prefix: string;
    limit?: number;
    window?: number;
    timeout?: number;
  }) {
    const { client, close } = await CLIENTS[kind](server.url);
    const limit = redisGuessLimit({ client, timeout: 5000, ...options });
    await vi.waitFor(() => client.get('any'), SOON);
    return { limit, close };
  }

  it('counts the guesses of the whole fleet', async () => {
    const prefix = `${randomUUID()}:`;
    const [here, there] = [await open({ prefix }), await open({ prefix })];
    expect(await here.limit.left(WHO)).toEqual({ left: 10, retryAfter: 0 });
    for (let i = 0; i < 6; i++) await here.limit.count(WHO);
    await Promise.all(Array.from({ length: 3 }, () => there.limit.count(WHO)));
    for (const { limit } of [here, there]) expect((await limit.left(WHO)).left).toBe(1);
    await there.limit.count(WHO);
    const { left, retryAfter } = await here.limit.left(WHO);
    expect(left).toBe(0);
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect((await here.limit.left('198.51.100.1')).left).toBe(10);
    here.close();
    there.close();
  });

  it('begins a new window when one is over', async () => {
    const { limit, close } = await open({ prefix: `${randomUUID()}:`, limit: 2, window: 300 });
    await limit.count(WHO);
    await limit.count(WHO);
    await vi.waitFor(async () => expect((await limit.left(WHO)).left).toBe(2), SOON);
    await limit.count(WHO);
    expect((await limit.left(WHO)).left).toBe(1);
    close();
  });

  it('gives a count that has lost its end one again', async () => {
    const prefix = `${randomUUID()}:`;
    const { limit, close } = await open({ prefix });
    await limit.count(WHO);
    const [key] = (await server.command('KEYS', `${prefix}*`)) as string[];
    await server.command('PERSIST', `${key}`);
    await limit.count(WHO);
    expect(Number(await server.command('PTTL', `${key}`))).toBeGreaterThan(0);
    close();
  });

  it('keeps no address in Redis', async () => {
    const prefix = `${randomUUID()}:`;
    const { limit, close } = await open({ prefix });
    await limit.count(WHO);
    const keys = await server.command('KEYS', '*');
    expect(JSON.stringify(keys)).toContain(prefix);
    expect(JSON.stringify(keys)).not.toContain(WHO);
    close();
  });

  it('goes on counting here while Redis is away, and with the fleet after it', async () => {
    const prefix = `${randomUUID()}:`;
    const settings = { prefix, limit: 4, timeout: 300 };
    const [here, there] = [await open(settings), await open(settings)];
    await here.limit.count(WHO);
    await server.kill();
    expect((await here.limit.left(WHO)).left).toBe(3);
    await here.limit.count(WHO);
    await here.limit.count(WHO);
    expect((await here.limit.left(WHO)).left).toBe(1);
    // Who has not guessed at this process is let on: an outage refuses nobody.
    expect((await there.limit.left(WHO)).left).toBe(4);
    await server.restart();
    await vi.waitFor(async () => {
      await there.limit.count('somebody else');
      expect((await here.limit.left('somebody else')).left).toBeLessThan(4);
    }, SOON);
    // Redis came back empty, but what was counted here still holds.
    expect((await here.limit.left(WHO)).left).toBe(1);
    here.close();
    there.close();
  });

  it('holds nobody up while Redis hangs', async () => {
    const { client, close } = await CLIENTS[kind](server.url);
    await vi.waitFor(() => client.get('any'), SOON);
    const limit = redisGuessLimit({ client, limit: 3, prefix: `${randomUUID()}:` });
    server.freeze();
    try {
      const begin = performance.now();
      await limit.count(WHO);
      expect((await limit.left(WHO)).left).toBe(2);
      expect(performance.now() - begin).toBeLessThan(5000);
    } finally {
      server.thaw();
    }
    close();
  });

  it('takes what is no count for none', async () => {
    const prefix = `${randomUUID()}:`;
    const { limit, close } = await open({ prefix });
    await limit.count(WHO);
    const [key] = (await server.command('KEYS', `${prefix}*`)) as string[];
    for (const rubbish of ['x', '', '{}']) {
      await server.command('SET', `${key}`, rubbish);
      expect((await limit.left(WHO)).left).toBe(9);
      await limit.left(WHO);
    }
    close();
  });
});

it.skipIf(redisIsMissing())('counts by address, or as it is told', async () => {
  const server = await startRedis();
  const { client, close } = await CLIENTS.ioredis(server.url);
  const request = (ip: string) => ({ ip }) as Request;
  expect(redisGuessLimit({ client }).by(request('2001:db8:1:2::3'))).toBe('20010db8000100/56');
  const by = () => 'a customer';
  expect(redisGuessLimit({ client, by }).by(request(WHO))).toBe('a customer');
  close();
  await server.stop();
});
