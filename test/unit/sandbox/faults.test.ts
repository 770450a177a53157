import { describe, expect } from 'vitest';
import { createSandbox, type SandboxFaults } from '../../../src/sandbox/index.js';
import { exchange, it, newAuthKey, type Running, start } from './support.js';

const path = (running: Running) => `/api/account/details?api_key=${running.apiKey}`;
const ask = (running: Running) => running.get(path(running));

/** A sandbox with these faults. */
async function failing(faults: Partial<SandboxFaults>): Promise<Running> {
  const running = await start();
  Object.assign(running.sandbox.faults, faults);
  return running;
}

describe('each fault', () => {
  it.each([60, [60, 70]] as const)('latency %j holds the answer back', async (latency) => {
    const running = await failing({ latency: latency as number });
    const startedAt = performance.now();
    expect((await ask(running)).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
  });

  it('errorRate 1 fails every request, 0.5 every second one of both interfaces', async () => {
    const running = await failing({ errorRate: 1 });
    const failed = await ask(running);
    expect(failed.status).toBe(500);
    expect(failed.headers.get('content-type')).toContain('text/html');
    running.sandbox.faults.errorRate = 0.5;
    const statuses = [];
    for (let i = 0; i < 2; i++) {
      statuses.push((await ask(running)).status);
      statuses.push((await running.get('/api/get_user_info')).status);
    }
    expect(statuses).toEqual([200, 500, 200, 500]);
  });

  it.each<[Partial<SandboxFaults>, number, Record<string, string>]>([
    [{ rateLimit: true }, 429, { 'retry-after': '30' }],
    [{ rateLimit: 7 }, 429, { 'retry-after': '7' }],
    [{ html: true }, 200, { 'content-type': 'text/html; charset=utf-8' }],
  ])('%j: HTTP %i with %j', async (faults, status, expected) => {
    const { headers, text, ...answer } = await ask(await failing(faults));
    expect(answer.status).toBe(status);
    for (const [name, value] of Object.entries(expected)) expect(headers.get(name)).toBe(value);
    if ('html' in faults) expect(text).toMatch(/^<!doctype html>/);
  });

  it('truncated: a whole HTTP answer, half the JSON', async ({ running }) => {
    const { text: whole } = await ask(running);
    running.sandbox.faults.truncated = true;
    const { status, text } = await ask(running);
    expect([status, text]).toEqual([200, whole.slice(0, Math.floor(whole.length / 2))]);
  });

  it('endless: goes on until the reader leaves', async () => {
    const running = await failing({ endless: true });
    const url = running.baseUrl + path(running);
    const reader = (await fetch(url)).body?.getReader();
    for (let chunks = 0; chunks < 4; chunks++) expect((await reader?.read())?.done).toBe(false);
    await reader?.cancel();
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    running.sandbox.faults.clear();
    expect((await ask(running)).status).toBe(200);
  });

  it('reset: the connection breaks in the middle of the body', async () => {
    const running = await failing({ reset: true });
    const response = await fetch(running.baseUrl + path(running));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });
});

describe('where faults hit', () => {
  it('several at once: those of a path before those of its API, and these before the general ones', async ({
    running,
  }) => {
    const { faults } = running.sandbox;
    const statuses = async () => {
      const paths = ['/api/account/details', '/api/items/all', '/api/get_user_info'];
      const answers = paths.map((each) => running.get(`${each}?api_key=${running.apiKey}`));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    faults.at('/api/items/all').rateLimit = true;
    faults.at('login-api').errorRate = 1;
    expect(await statuses()).toEqual([200, 429, 500]);
    faults.rateLimit = 1;
    expect(await statuses()).toEqual([429, 429, 429]);
    faults.at('/api/items/all').rateLimit = false;
    faults.at('key-api').html = true;
    faults.rateLimit = false;
    expect(await statuses()).toEqual([200, 200, 500]);
    faults.clear();
    expect(await statuses()).toEqual([200, 200, 200]);
    expect(() => faults.at('everywhere' as never)).toThrow('faults.at: expected');
  });

  it('never pages and media', async () => {
    const running = await failing({ errorRate: 1, hang: true });
    const login = `/api/oauth?app_id=${running.appId}`;
    for (const page of ['/sandbox/console', login, '/media/items/1042/thumbnail.svg']) {
      expect((await running.get(page)).status).toBe(200);
    }
  });

  it('a lost answer has spent the auth_key; a refused request has not', async ({ running }) => {
    const [refused, lost] = [newAuthKey(running, '3001'), newAuthKey(running, '3002')];
    running.sandbox.faults.errorRate = 1;
    expect((await exchange(running, refused)).status).toBe(500);
    running.sandbox.faults.clear();
    expect((await exchange(running, refused)).body).toHaveProperty('access_token');
    running.sandbox.faults.reset = true;
    await expect(exchange(running, lost)).rejects.toThrow();
    running.sandbox.faults.clear();
    expect((await exchange(running, lost)).body.error).toBe(true);
  });
});

it.each<[string, unknown]>([
  ['latency', 2 ** 31],
  ['latency', [5]],
  ['errorRate', 1.5],
  ['rateLimit', 0.5],
  ['endless', 'slow'],
  ['latancy', 5],
])('faults.%s = %j is a TypeError that names it', (name, value) => {
  const { faults } = createSandbox();
  const named = { name: 'TypeError', message: expect.stringContaining(`faults.${name}`) };
  expect(() => Object.assign(faults, { [name]: value })).toThrow(expect.objectContaining(named));
});

it('undefined puts a switch back', () => {
  const { faults, dialect } = createSandbox({ dialect: { tokenMinutes: 1 } });
  Object.assign(faults, { latency: 5, html: true });
  Object.assign(faults, { latency: undefined, html: undefined });
  Object.assign(dialect, { tokenMinutes: undefined });
  const initial = createSandbox();
  expect({ ...faults, ...dialect }).toStrictEqual({ ...initial.faults, ...initial.dialect });
});
