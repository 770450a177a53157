import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect } from 'vitest';
import {
  createSandbox,
  type SandboxFaults,
  type SandboxSnapshot,
} from '../../../src/sandbox/index.js';
import { exchange, it, newAuthKey, type Running, start } from './support.js';

const path = (running: Running) => `/api/account/details?api_key=${running.apiKey}`;
const ask = (running: Running) => running.get(path(running));

/** A sandbox with these faults. */
async function failing(faults: Partial<SandboxFaults>): Promise<Running> {
  const running = await start({ clock: () => Date.UTC(2030, 0, 1) });
  Object.assign(running.sandbox.faults, faults);
  return running;
}

describe('each fault', () => {
  it('latency holds the answer back, and nothing else', async () => {
    const running = await failing({ latency: 60 });
    const startedAt = performance.now();
    expect((await ask(running)).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
    running.sandbox.faults.latency = [60, 70];
    const again = performance.now();
    expect((await ask(running)).status).toBe(200);
    expect(performance.now() - again).toBeGreaterThanOrEqual(55);
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
    [{ rateLimit: 0 }, 429, { 'retry-after': '0' }],
    [{ rateLimit: 7 }, 429, { 'retry-after': '7' }],
    [{ rateLimit: { retryAfter: 90 } }, 429, { 'retry-after': '90' }],
    [
      { rateLimit: { retryAfter: 60, form: 'http-date' } },
      429,
      { 'retry-after': 'Tue, 01 Jan 2030 00:01:00 GMT', date: 'Tue, 01 Jan 2030 00:00:00 GMT' },
    ],
    [{ redirect: true }, 302, { location: 'https://elsewhere.example/' }],
    [{ redirect: 'http://other.example/x' }, 302, { location: 'http://other.example/x' }],
    [{ redirect: { status: 307 } }, 307, { location: 'https://elsewhere.example/' }],
    [{ html: true }, 200, { 'content-type': 'text/html; charset=utf-8' }],
    [{ contentType: 'text/plain' }, 200, { 'content-type': 'text/plain' }],
    [{ contentType: true }, 200, { 'content-type': 'text/html; charset=utf-8' }],
  ])('%j: HTTP %i with %j', async (faults, status, expected) => {
    const { headers, text, body, ...answer } = await ask(await failing(faults));
    expect(answer.status).toBe(status);
    for (const [name, value] of Object.entries(expected)) expect(headers.get(name)).toBe(value);
    if ('html' in faults) expect(text).toMatch(/^<!doctype html>/);
    if ('contentType' in faults) expect(body.status).toBe('success');
  });

  it.each<[Partial<SandboxFaults>, string]>([
    [{ bom: true }, '\uFEFF'],
    [{ warnings: true }, '<br />\n<b>Warning</b>'],
    [{ bom: true, warnings: true, latency: 5, contentType: true }, '\uFEFF<br />\n<b>Warning</b>'],
  ])('%j: %j ahead of the JSON', async (faults, ahead) => {
    const { text } = await ask(await failing(faults));
    expect(text.startsWith(ahead)).toBe(true);
    expect(JSON.parse(text.slice(text.indexOf('{'))).status).toBe('success');
  });

  it('truncated: a whole HTTP answer, half the JSON', async ({ running }) => {
    const { text: whole } = await ask(running);
    running.sandbox.faults.truncated = true;
    const { status, text } = await ask(running);
    expect([status, text]).toEqual([200, whole.slice(0, Math.floor(whole.length / 2))]);
  });

  it('oversize: valid JSON of exactly so many bytes, without a Content-Length', async () => {
    const { headers, text, body } = await ask(await failing({ oversize: 300_000 }));
    expect(text.length).toBe(300_000);
    expect(headers.get('content-length')).toBeNull();
    expect(body.status).toBe('success');
  });

  it('gzipBomb: small on the wire, large unpacked', async () => {
    const running = await failing({ gzipBomb: 5_000_000 });
    const response = await request(running.baseUrl + path(running));
    const packed = Buffer.from(await response.body.arrayBuffer());
    expect(response.headers['content-encoding']).toBe('gzip');
    expect(packed.length).toBeLessThan(50_000);
    expect(gunzipSync(packed).length).toBe(5_000_000);
  });

  it.each([true, 'slow'] as const)(
    'endless (%s): goes on until the reader leaves',
    async (fault) => {
      const running = await failing({ endless: fault });
      const reader = (await fetch(running.baseUrl + path(running))).body?.getReader();
      for (let chunks = 0; chunks < 4; chunks++) expect((await reader?.read())?.done).toBe(false);
      await reader?.cancel();
      running.sandbox.faults.clear();
      expect((await ask(running)).status).toBe(200);
    },
  );

  it.each([{ endless: true }, { endless: 'slow' }, { oversize: 1e9 }] as const)(
    'a HEAD with %j ends, and others are answered',
    async (fault) => {
      const running = await failing(fault);
      const response = await fetch(running.baseUrl + path(running), { method: 'HEAD' });
      expect([response.status, await response.text()]).toEqual([200, '']);
      running.sandbox.faults.clear();
      expect((await ask(running)).status).toBe(200);
    },
  );

  it('reset: the connection breaks in the middle of the body', async () => {
    const running = await failing({ reset: true });
    const response = await fetch(running.baseUrl + path(running));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('hang: no answer, whatever the patience', async () => {
    const running = await failing({ hang: true });
    const asked = fetch(running.baseUrl + path(running), { signal: AbortSignal.timeout(80) });
    await expect(asked).rejects.toThrow(/timeout/);
    expect(running.sandbox.requests.at(-1)?.status).toBe(0);
  });
});

describe('where faults hit', () => {
  it.each<[SandboxFaults['only'], string, string]>([
    ['login-api', '/api/get_user_info', '/api/account/details'],
    ['key-api', '/api/account/details', '/api/get_user_info'],
    ['/api/items/all', '/api/items/all', '/api/account/details'],
  ])('only: %s', async (only, hit, spared) => {
    const running = await failing({ errorRate: 1, only });
    expect((await running.get(hit)).status).toBe(500);
    expect((await running.get(spared)).status).not.toBe(500);
  });

  it('several at once, each in a scope of its own: the path before the API before the general ones', async ({
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
    Object.assign(faults, { redirect: true, only: 'key-api' });
    expect(await statuses()).toEqual([302, 302, 500]);
    faults.at('/api/items/all').redirect = { status: 308 };
    faults.at('key-api').redirect = { status: 303 };
    expect(await statuses()).toEqual([303, 308, 500]);
    Object.assign(faults.at('login-api'), { times: 1 });
    expect([await statuses(), await statuses()]).toEqual([
      [303, 308, 500],
      [303, 308, 200],
    ]);
    faults.clear();
    expect(await statuses()).toEqual([200, 200, 200]);
    expect(() => faults.at('everywhere' as never)).toThrow('faults.at: expected');
    expect(() => Object.assign(faults.at('key-api'), { only: 'key-api' })).toThrow(
      'faults.only@key-api: there is no such switch',
    );
  });

  it('never pages and media', async () => {
    const running = await failing({ errorRate: 1, hang: true });
    const login = `/api/oauth?app_id=${running.appId}`;
    for (const page of ['/', login, '/media/items/1042/thumbnail.svg']) {
      expect((await running.get(page)).status).toBe(200);
    }
  });

  it('only so many times', async () => {
    const running = await failing({ errorRate: 1, times: 2 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await ask(running)).status);
    expect(statuses).toEqual([500, 500, 200]);
  });

  it('a lost answer has spent the auth_key; a refused request has not', async ({ running }) => {
    const [refused, lost] = [newAuthKey(running, '3001'), newAuthKey(running, '3002')];
    Object.assign(running.sandbox.faults, { errorRate: 1, times: 1 });
    expect((await exchange(running, refused)).status).toBe(500);
    expect((await exchange(running, refused)).body).toHaveProperty('access_token');
    Object.assign(running.sandbox.faults, { reset: true, times: 1 });
    await expect(exchange(running, lost)).rejects.toThrow();
    expect((await exchange(running, lost)).body.error).toBe(true);
  });

  it.each<[string, (running: Running, before: SandboxSnapshot) => void]>([
    ['clear()', ({ sandbox }) => sandbox.faults.clear()],
    ['restore()', ({ sandbox }, before) => sandbox.restore(before)],
    ['setting it', () => {}],
  ])('errorRate counts from the beginning after %s, also with times', async (_how, reset) => {
    const running = await start();
    const before = running.sandbox.snapshot();
    const statuses = [];
    for (const times of [undefined, 1, 3]) {
      Object.assign(running.sandbox.faults, { errorRate: 0.5, times });
      for (let i = 0; i < (times ?? 3); i++) statuses.push((await ask(running)).status);
      reset(running, before);
    }
    expect(statuses).toEqual([200, 500, 200, 200, 200, 500, 200]);
  });

  it('clear() ends them all', async ({ running }) => {
    const before = { ...running.sandbox.faults };
    Object.assign(running.sandbox.faults, { hang: true, latency: 9, only: 'key-api', times: 3 });
    running.sandbox.faults.clear();
    expect({ ...running.sandbox.faults }).toEqual(before);
    expect((await ask(running)).status).toBe(200);
  });
});

/** Values that a switch does not take; there is no "latancy". */
const WRONG: Record<string, unknown[]> = {
  latency: [-1, '5', 2 ** 31, [5], [1, -1]],
  errorRate: [1.5],
  only: ['everything'],
  times: [0, 1.5],
  rateLimit: [0.5, { retryAfter: 0.5 }, { retryAfter: 1e15, form: 'http-date' }],
  oversize: [0.5, Number.NaN],
  gzipBomb: [1.5, 1e12],
  endless: ['fast'],
  latancy: [5],
};

it.each(
  Object.entries(WRONG).flatMap(([name, values]) => values.map((value) => [name, value] as const)),
)('faults.%s = %j is wrong, and named', (name, value) => {
  const { faults } = createSandbox();
  const named = { name: 'TypeError', message: expect.stringContaining(`faults.${name}`) };
  expect(() => Object.assign(faults, { [name]: value })).toThrow(expect.objectContaining(named));
});
