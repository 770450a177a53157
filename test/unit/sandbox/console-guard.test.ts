import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { it, type Running, start } from './support.js';

/** Asks with exactly these headers: fetch would not send a Host or Sec-Fetch-Site of ours. */
async function ask(
  running: Running,
  path: string,
  headers: Record<string, string>,
  form?: Record<string, string>,
) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const asked = httpRequest(running.baseUrl + path, {
    method: form ? 'POST' : 'GET',
    headers: { ...(form && type), ...headers },
  });
  asked.end(form && new URLSearchParams(form).toString());
  const [response] = await once(asked, 'response');
  return { status: response.statusCode, text: (await response.toArray()).join('') };
}

const rotate = (running: Running, headers: Record<string, string>) =>
  ask(running, '/sandbox/console/rotate-key', headers, { workspace: 'northlight' });

const keyOf = (running: Running) => running.sandbox.data.workspaces[0]?.api_key;

const CROSS = { 'sec-fetch-site': 'cross-site' };
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

describe('another website neither drives nor reads the console', () => {
  const HOSTS = ['evil.example', 'evil.example:4000', '127.0.0.1.evil.example', 'localhost.evil.x'];
  // A hostile network resolves names without a dot.
  HOSTS.push('sandbox:4000', '192.168.1.5:4000', '127.1.evil');

  it.each<Record<string, string>>([
    CROSS,
    // A page of another port of this machine.
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { ...CROSS, 'sec-fetch-mode': 'cors' },
    { ...CROSS, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    { ...NAVIGATION, 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' },
    // A name of its own that it points at this machine: to the browser this is one site.
    ...HOSTS.map((host) => ({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })),
  ])('%j', async (headers) => {
    const running = await start();
    expect((await rotate(running, headers)).status).toBe(403);
    expect(keyOf(running)).toBe(running.apiKey);
    for (const path of ['console', 'console/events', 'console/script.js', 'api', 'api/snapshot']) {
      const { status, text } = await ask(running, `/sandbox/${path}`, headers);
      expect(status).toBe(403);
      expect(text).not.toContain(running.apiKey);
    }
  });

  it('sends no CORS header, and lets nobody embed it', async ({ running }) => {
    for (const path of ['/sandbox/console', '/sandbox/api/show']) {
      const { headers } = await running.get(path, { origin: running.baseUrl });
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    }
  });
});

describe('its developer can', () => {
  it.each<Record<string, string>>([
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { host: 'localhost:4000', origin: 'http://localhost:4000' },
    { host: 'app.localhost:4000' },
    { host: '[::1]:4000' },
    { host: '127.0.0.2:4000', origin: 'http://127.0.0.2:4000' },
  ])('%j', async (headers) => {
    const running = await start();
    expect((await rotate(running, headers)).status).toBe(303);
    expect(keyOf(running)).not.toBe(running.apiKey);
  });

  it('follow a link to it from anywhere, but not send a form', async ({ running }) => {
    const headers = { ...CROSS, ...NAVIGATION };
    expect((await ask(running, '/sandbox/console', headers)).status).toBe(200);
    expect((await rotate(running, headers)).status).toBe(403);
  });

  it('name other hosts', async () => {
    const running = await start({ consoleHosts: ['Sandbox.Example.test'] });
    const status = async (host: string) =>
      (await ask(running, '/sandbox/console', { host })).status;
    expect(await status('sandbox.example.test')).toBe(200);
    expect(await status('sandbox.example.test:8443')).toBe(200);
    expect(await status('x.sandbox.example.test')).toBe(403);
    const wrong = () => Reflect.apply(createSandbox, undefined, [{ consoleHosts: 'x' }]);
    expect(wrong).toThrow('consoleHosts');
  });

  it('use the address that it listens on, and every address where it listens on all', async ({
    running: { sandbox },
  }) => {
    await sandbox.close();
    const { baseUrl } = await sandbox.listen(0, '0.0.0.0');
    const running = { baseUrl } as Running;
    const status = async (host: string) => (await ask(running, '/sandbox/api', { host })).status;
    expect(await status('192.168.1.5:4000')).toBe(200);
    expect(await status('sandbox:4000')).toBe(403);
  });

  it('the service answers under any name, for it has no cookies to abuse', async ({ running }) => {
    const path = `/api/account/details?api_key=${running.apiKey}`;
    expect((await ask(running, path, { host: 'market.example' })).status).toBe(200);
  });
});
