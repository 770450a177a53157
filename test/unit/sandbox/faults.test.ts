import { expect } from 'vitest';
import { createSandbox, type SandboxFaults } from '../../../src/sandbox/index.js';
import { exchange, it, newAuthKey, type Running } from './support.js';

const path = (running: Running) => `/api/account/details?api_key=${running.apiKey}`;
const ask = (running: Running) => running.get(path(running));

it('latency holds an answer back, by a number or between two', async ({ running }) => {
  for (const latency of [60, [60, 70]] as const) {
    running.sandbox.faults.latency = latency as number;
    const startedAt = performance.now();
    expect((await ask(running)).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
  }
});

it('errorRate 1 fails every request, 0.5 every second one of both interfaces', async ({
  running,
}) => {
  const { faults } = running.sandbox;
  faults.errorRate = 1;
  const failed = await ask(running);
  expect(failed).toMatchObject({ status: 500, text: expect.stringMatching(/^<!doctype html>/) });
  faults.errorRate = 0.5;
  const statuses = [];
  for (let i = 0; i < 2; i++) {
    statuses.push((await ask(running)).status);
    statuses.push((await running.get('/api/get_user_info')).status);
  }
  expect(statuses).toEqual([200, 500, 200, 500]);
});

it('rateLimit is 429 with so many seconds as Retry-After, html a page with 200, truncated half the JSON', async ({
  running,
}) => {
  const { faults } = running.sandbox;
  const { text: whole } = await ask(running);
  for (const [fault, status, retryAfter, text] of [
    [{ rateLimit: true }, 429, '30', /^<!doctype html>/],
    [{ rateLimit: 7 }, 429, '7', /^<!doctype html>/],
    [{ html: true }, 200, null, /^<!doctype html>/],
    [{ truncated: true }, 200, null, whole.slice(0, Math.floor(whole.length / 2))],
  ] as [Partial<SandboxFaults>, number, string | null, string | RegExp][]) {
    faults.clear();
    Object.assign(faults, fault);
    const answer = await ask(running);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter]);
    if (typeof text === 'string') expect(answer.text).toBe(text);
    else expect(answer.text).toMatch(text);
  }
});

it('endless goes on until the reader leaves, but has no body for HEAD', async ({ running }) => {
  running.sandbox.faults.endless = true;
  const url = running.baseUrl + path(running);
  const reader = (await fetch(url)).body?.getReader();
  for (let chunks = 0; chunks < 4; chunks++) expect((await reader?.read())?.done).toBe(false);
  await reader?.cancel();
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

it('reset breaks the connection in the middle of the body', async ({ running }) => {
  running.sandbox.faults.reset = true;
  const response = await fetch(running.baseUrl + path(running));
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
});

it('faults of a path come before those of its API, these before the general ones, and none hits pages', async ({
  running,
}) => {
  const { faults } = running.sandbox;
  /** What became of a request of each: its status, or in how many seconds it can be sent again. */
  const answers = async () => {
    const paths = ['/api/account/details', '/api/items/all', '/api/get_user_info'];
    const got = paths.map((each) => running.get(`${each}?api_key=${running.apiKey}`));
    return (await Promise.all(got)).map(
      ({ status, headers }) => headers.get('retry-after') ?? status,
    );
  };
  faults.at('/api/items/all').rateLimit = true;
  faults.at('login-api').errorRate = 1;
  expect(await answers()).toEqual([200, '30', 500]);
  faults.rateLimit = 1;
  faults.at('key-api').rateLimit = 2;
  expect(await answers()).toEqual(['2', '30', '1']);
  for (const page of ['/sandbox/console', `/api/oauth?app_id=${running.appId}`, '/health']) {
    expect((await running.get(page)).status).toBe(200);
  }
  faults.clear();
  expect(await answers()).toEqual([200, 200, 200]);
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

it('a fault is for one API or an endpoint that exists; another path throws, and the error names these', async ({
  running: { sandbox, send },
}) => {
  const paths = [
    ...['/api/account/details', '/api/items/all', '/api/items/item', '/api/purchases/validation'],
    ...['/api/authorize', '/api/get_user_info'],
  ] as const;
  for (const path of paths) {
    sandbox.faults.at(path).rateLimit = true;
    for (const method of ['GET', 'POST']) expect((await send(path, { method })).status).toBe(429);
  }
  const sentence = `faults.at: expected key-api, login-api, ${paths.join(', ')}`;
  for (const wrong of ['/items/all', '/api/items/all/', '/api/oauth', '/sandbox/login'] as const) {
    expect(() => sandbox.faults.at(wrong)).toThrow(new TypeError(sentence));
  }
});

it('a misspelt fault, or one with a wrong value, throws, and is named', () => {
  const { faults } = createSandbox();
  for (const [name, value] of Object.entries({ latancy: 5, errorRate: 1.5 })) {
    expect(() => Object.assign(faults, { [name]: value })).toThrow(`faults.${name}`);
  }
});
