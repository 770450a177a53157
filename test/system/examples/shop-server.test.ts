import { createSandbox } from 'marketgate/sandbox';
import { Agent, request } from 'undici';
import { describe, expect, it, vi } from 'vitest';
import { listen } from '../../support/listen.js';
import { runExample, runSources } from './run-example.js';

const SERVER = 'shop/server.ts';

/** On a separate connection, which is not kept open: an open one would delay the end of the server. */
async function statusOf(url: string): Promise<number> {
  const dispatcher = new Agent({ pipelining: 0 });
  const { statusCode, body } = await request(url, { dispatcher });
  await body.dump();
  return statusCode;
}

describe('npm run demo', { timeout: 40_000 }, () => {
  it('needs no build: says where to click, serves it, and ends on Ctrl-C', async () => {
    const running = runSources(`examples/${SERVER}`, { PORT: '0' });
    const origin = await running.prints(/(http:\/\/localhost:\d+)\/ {2}the catalogue/);
    await running.prints(/Ctrl-C stops it/);
    const front = await fetch(origin);
    expect([front.status, await front.text()]).toEqual([
      200,
      expect.stringContaining('Fjord Light'),
    ]);
    const code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})"/);
    const file = await fetch(`${origin}/items/1042/download`, {
      headers: { 'x-purchase-code': code },
    });
    expect(file.status).toBe(200);
    await file.arrayBuffer();
    expect(running.output()).toContain(`${origin}/redeem`);
    running.child.kill('SIGINT');
    expect(await running.ended).toBe(0);
    expect(running.errors()).toBe('');
  });

  it('on SIGTERM finishes the request in progress before it ends', async () => {
    // A marketplace that holds every answer back until the gate opens.
    const sandbox = createSandbox();
    let openGate = (): void => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    let wasAsked = false;
    const serviceUrl = await listen((req, res) => {
      wasAsked = true;
      void gate.then(() => sandbox.app(req, res));
    });
    const running = runExample(SERVER, {
      PORT: '0',
      MARKETPLACE_BASE_URL: serviceUrl,
      MARKETPLACE_API_KEY: sandbox.data.workspaces[0]?.api_key ?? '',
      MARKETPLACE_AUTH_URL: serviceUrl,
      MARKETPLACE_APP_ID: 'app',
      MARKETPLACE_APP_SECRET: 'secret',
    });
    const origin = await running.prints(/is open at (http:\S+)/);
    expect(await running.prints(/on the marketplace: (\S+)/)).toBe(`${origin}/callback`);

    const front = statusOf(origin);
    await vi.waitFor(() => expect(wasAsked).toBe(true), { timeout: 15_000, interval: 5 });
    running.child.kill('SIGTERM');
    // It takes no new visitors …
    await vi.waitFor(
      () => expect(statusOf(`${origin}/assets/icon.svg`)).rejects.toThrow('ECONNREFUSED'),
      15_000,
    );
    openGate();
    // … and the one inside gets the page.
    expect(await front).toBe(200);
    expect(await running.ended).toBe(0);
  });

  it('says what is missing of a real service, and ends', async () => {
    const running = runExample(SERVER, { MARKETPLACE_API_KEY: 'very-secret', PORT: '0' });
    expect(await running.ended).toBe(1);
    expect(running.output()).toBe(running.errors());
    expect(running.errors()).toContain('Missing: MARKETPLACE_BASE_URL, MARKETPLACE_AUTH_URL');
    expect(running.errors()).not.toMatch(/very-secret|at .*\.js/);
  });

  it('does not take another port than the one it was given', async () => {
    const { port } = new URL(await listen(() => undefined));
    const running = runExample(SERVER, { PORT: port });
    expect(await running.ended).toBe(1);
    expect(running.errors()).toContain(`Port ${port} is taken.`);
  });
});
