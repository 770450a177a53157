import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { Response } from 'express';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LiveEvents } from '../../../src/sandbox/console/live-events.js';
import { createSandbox } from '../../../src/sandbox/index.js';
import { type Running, start } from './support.js';

/** A console that listens. */
async function listen(origin: string) {
  const response = await fetch(`${origin}/sandbox/console/events`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    response,
    /** Waits for the next event; `undefined` at the end of the stream. */
    next: async (): Promise<string | undefined> => {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end !== -1) {
          const block = text.slice(0, end);
          text = text.slice(end + 2);
          if (block.startsWith('event: ')) return block.split('\n')[0];
        } else {
          const read = await reader?.read().catch(() => undefined);
          if (!read || read.done) return undefined;
          text += read.value;
        }
      }
    },
    leave: () => reader?.cancel(),
  };
}

/** A response whose reader has stopped to read until `drain` is called. */
class StuckResponse extends Writable {
  readonly #waiting: (() => void)[] = [];
  #sent = '';

  constructor() {
    super({ highWaterMark: 256, decodeStrings: false });
  }

  writeHead(): this {
    return this;
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.#sent += chunk;
    this.#waiting.push(done);
  }

  /** Reads until nothing is left, and gives all that was sent so far. */
  async drain(): Promise<string> {
    for (let done = this.#waiting.shift(); done; done = this.#waiting.shift()) {
      done();
      await new Promise((resolve) => process.nextTick(resolve));
    }
    return this.#sent;
  }
}

/** A listener that never reads what it is sent. */
async function deafListener(running: Running): Promise<Socket> {
  const socket = connect(Number(new URL(running.baseUrl).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.once('error', () => undefined);
  const first = new Promise((resolve) => socket.once('data', resolve));
  socket.write('GET /sandbox/console/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await first;
  socket.pause();
  return socket;
}

describe('live events of the console', () => {
  it('follow a request when it comes in and when it is answered', async () => {
    const running = await start();
    const { response, next } = await listen(running.baseUrl);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const rows = async () =>
      /<tbody id="rows"[\s\S]*?<\/tbody>/.exec((await running.get('/sandbox/console')).text)?.[0];
    running.sandbox.faults.latency = 300;
    const code = running.code('supported');
    const answered = running.validate(code);
    expect(await next()).toBe('event: changed');
    await expect.poll(rows).toContain('>open<');
    await answered;
    expect(await next()).toBe('event: changed');
    await expect.poll(rows).toContain('>200<');
    expect(await rows()).toContain('purchase_code</b> [redacted]');
    for (const secret of [code, running.apiKey]) expect(await rows()).not.toContain(secret);
  });

  it('follow every kind of change', async () => {
    const running = await start();
    const { sandbox } = running;
    const { next } = await listen(running.baseUrl);
    for (const change of [
      () => Object.assign(sandbox.faults, { bom: true }),
      () => sandbox.faults.clear(),
      () => Object.assign(sandbox.dialect, { nulls: true }),
      () => sandbox.clock.advance(1000),
      () => sandbox.data.rotateApiKey('northlight'),
      () => sandbox.data.revokeApiKey('northlight'),
      () => sandbox.data.addPurchase({ item_id: 1042 }),
      () => sandbox.data.refundPurchase(running.code('supported')),
      () => sandbox.data.setSupportedUntil(running.code('extended'), 0),
      () => sandbox.data.deleteItem(1042),
      () => sandbox.data.removeUser('3001'),
      () => Object.assign(sandbox, { redirectUrl: undefined }),
      () => sandbox.clearRequests(),
    ]) {
      change();
      expect(await next()).toBe('event: changed');
    }
  });

  it('close() ends them at once, and listeners that do not read too', async () => {
    const running = await start();
    const { next } = await listen(running.baseUrl);
    const deaf = await deafListener(running);
    const cut = new Promise((resolve) => deaf.once('close', resolve));
    deaf.resume();
    await running.sandbox.close();
    expect(await next()).toBeUndefined();
    await cut;
    // And the next start has none left.
    const again = await running.sandbox.listen();
    expect((await listen(again.baseUrl)).response.status).toBe(200);
  });

  it('close() ends them also where the app listens by itself', async () => {
    const sandbox = createSandbox();
    const server = createServer(sandbox.app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { next } = await listen(`http://127.0.0.1:${port}`);
    await sandbox.close();
    expect(await next()).toBeUndefined();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('there are at most 64, and who leaves makes room', async () => {
    const running = await start();
    const all = await Promise.all(Array.from({ length: 64 }, () => listen(running.baseUrl)));
    expect((await listen(running.baseUrl)).response.status).toBe(503);
    await all[0]?.leave();
    const status = async () => {
      const one = await listen(running.baseUrl);
      await one.leave();
      return one.response.status;
    };
    await expect.poll(status).toBe(200);
  });

  describe('to listeners of any speed', () => {
    function serve() {
      vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const live = new LiveEvents();
      const listener = () => {
        const res = new StuckResponse();
        live.serve({} as never, res as unknown as Response, () => undefined);
        return res;
      };
      const change = () => {
        live.changed();
        vi.advanceTimersByTime(100);
      };
      return { live, change, listener, res: listener() };
    }
    const count = (text: string) => text.match(/event: changed/g)?.length ?? 0;

    it('a burst is one event', async () => {
      const { live, res } = serve();
      for (let i = 0; i < 400; i++) live.changed();
      vi.advanceTimersByTime(100);
      expect(count(await res.drain())).toBe(1);
    });

    it('one that does not read delays no other', async () => {
      const { change, listener } = serve();
      const reader = listener();
      for (let i = 0; i < 90; i++) {
        change();
        if (i % 5 === 4) await reader.drain();
      }
      expect(count(await reader.drain())).toBe(90);
    });

    it('one that does not read costs bounded memory, and catches up with one event', async () => {
      const { change, res } = serve();
      for (let i = 0; i < 100; i++) change();
      expect(res.writableNeedDrain).toBe(true);
      expect(res.writableLength).toBeLessThan(300);
      const write = vi.spyOn(res, 'write');
      change();
      expect(write).not.toHaveBeenCalled();
      await res.drain();
      expect(write.mock.calls).toEqual([['event: changed\ndata:\n\n']]);
    });

    it('one that does not read is let go after four heartbeats', () => {
      const { change, res } = serve();
      for (let i = 0; i < 30; i++) change();
      vi.advanceTimersByTime(6 * 15_000);
      expect(res.destroyed).toBe(true);
    });

    it('one that has left costs nothing any more', () => {
      const { live, res } = serve();
      live.close();
      expect(res.destroyed).toBe(true);
      live.changed();
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
