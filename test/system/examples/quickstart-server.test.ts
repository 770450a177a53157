import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createSandbox } from 'marketgate/sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

const SERVER = fileURLToPath(new URL('../../../examples/quickstart/server.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Listens until the test is over. */
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The quickstart in a process of its own, as "npm run demo" starts it. */
class Running {
  readonly #child: ChildProcess;
  readonly ended: Promise<number | string | null>;
  out = '';
  err = '';
  #changed: () => void = () => {};

  constructor(env: Record<string, string>) {
    // Of the outer process only what a shell would have: no NODE_ENV=test, no MARKETPLACE_… of a developer.
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    this.#child = spawn(process.execPath, ['--import', 'tsx', SERVER], {
      cwd: ROOT,
      env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#add('out', text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#add('err', text));
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        resolve(code ?? signal);
        this.#changed();
      });
    });
    onTestFinished(() => {
      this.#child.kill('SIGKILL');
    });
  }

  signal(name: 'SIGINT' | 'SIGTERM'): void {
    this.#child.kill(name);
  }

  /** The first match of what it prints. */
  async prints(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.out);
      if (found) return found[1] ?? found[0];
      if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.out}${this.err}`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  #add(stream: 'out' | 'err', text: string): void {
    this[stream] += text;
    this.#changed();
  }
}

describe('npm run demo', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'says where to click, serves it, and ends on %s',
    async (signal) => {
      const running = new Running({ PORT: '0' });
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
      expect(running.out).toContain(`${origin}/redeem`);
      running.signal(signal);
      expect(await running.ended).toBe(0);
      expect(running.err).toBe('');
    },
  );

  it('finishes the answer it is giving before it ends', async () => {
    // A marketplace that holds every answer back until the gate opens.
    const sandbox = createSandbox();
    let openGate = (): void => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    let wasAsked = false;
    const service = createServer((req, res) => {
      wasAsked = true;
      void gate.then(() => sandbox.app(req, res));
    });
    const serviceUrl = await listen(service);
    const running = new Running({
      PORT: '0',
      MARKETPLACE_BASE_URL: serviceUrl,
      MARKETPLACE_API_KEY: sandbox.data.workspaces[0]?.api_key ?? '',
      MARKETPLACE_AUTH_URL: serviceUrl,
      MARKETPLACE_APP_ID: 'app',
      MARKETPLACE_APP_SECRET: 'secret',
    });
    const origin = await running.prints(/is open at (http:\S+)/);
    expect(await running.prints(/on the marketplace: (\S+)/)).toBe(`${origin}/callback`);

    const front = fetch(origin);
    await vi.waitFor(() => expect(wasAsked).toBe(true));
    running.signal('SIGTERM');
    // It takes no new visitors …
    await vi.waitFor(() => expect(fetch(`${origin}/assets/icon.svg`)).rejects.toThrow(), 5000);
    openGate();
    // … and the one inside gets the page.
    expect((await front).status).toBe(200);
    expect(await running.ended).toBe(0);
  });

  it('says what is missing of a real service, and ends', async () => {
    const running = new Running({ MARKETPLACE_API_KEY: 'very-secret', PORT: '0' });
    expect(await running.ended).toBe(1);
    expect(running.err).toContain('Missing: MARKETPLACE_BASE_URL, MARKETPLACE_AUTH_URL');
    expect(running.err).not.toMatch(/very-secret|at .*\.ts/);
    expect(running.out).toBe('');
  });

  it('does not start in production without a session secret', async () => {
    const running = new Running({ NODE_ENV: 'production', PORT: '0' });
    expect(await running.ended).toBe(1);
    expect(running.err).toContain('SESSION_SECRET must be set in production');
  });

  it('does not take another port than the one it was given', async () => {
    const { port } = new URL(await listen(createServer()));
    const running = new Running({ PORT: port });
    expect(await running.ended).toBe(1);
    expect(running.err).toContain(`Port ${port} is taken.`);
  });
});
