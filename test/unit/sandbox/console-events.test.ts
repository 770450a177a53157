import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { Response } from 'express';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Changes } from '../../../src/sandbox/changes.js';
import { createClock } from '../../../src/sandbox/clock.js';
import { LiveEvents } from '../../../src/sandbox/console/live-events.js';
import { createSandbox } from '../../../src/sandbox/index.js';
import { RequestRecord } from '../../../src/sandbox/record.js';
import { arrive, type Running, start } from './support.js';

interface Told {
  readonly event: string;
  readonly data: string;
}

/** A console that listens: gives what it is told, event by event, and `undefined` at the end. */
async function listen(origin: string) {
  const response = await fetch(`${origin}/sandbox/console/events`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<Told | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end !== -1) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const event = /^event: (.*)$/m.exec(block)?.[1];
        if (event) return { event, data: /^data: (.*)$/m.exec(block)?.[1] ?? '' };
      } else {
        const read = await reader?.read().catch(() => undefined);
        if (!read || read.done) return undefined;
        text += read.value;
      }
    }
  };
  /** Skips to the first event of that kind that the test is satisfied with. */
  const until = async (event: string, isIt: (data: string) => boolean = () => true) => {
    for (;;) {
      const told = await next();
      if (told === undefined) throw new Error(`no more events; ${event} never came`);
      if (told.event === event && isIt(told.data)) return told.data;
    }
  };
  return { response, next, until, leave: () => reader?.cancel() };
}

/** A response whose reader has stopped to read until `drain` is called. */
class StuckResponse extends Writable {
  readonly #waiting: (() => void)[] = [];
  #sent = '';

  constructor() {
    super({ highWaterMark: 16_384, decodeStrings: false });
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
  it('tell of a request when it comes in and when it is answered, without secrets', async () => {
    const running = await start();
    const console_ = await listen(running.baseUrl);
    expect(console_.response.headers.get('content-type')).toContain('text/event-stream');
    running.sandbox.faults.latency = 100;
    const code = running.code('supported');
    const answered = running.validate(code);
    const open = await console_.until('rows', (data) => data.includes('>open<'));
    await answered;
    const done = await console_.until('rows', (data) => data.includes('>200<'));
    expect(JSON.parse(done)[0].number).toBe(JSON.parse(open)[0].number);
    expect(done).toContain('purchase_code</b> [redacted]');
    for (const secret of [code, running.apiKey]) expect(open + done).not.toContain(secret);
  });

  it('tell of every kind of change, whoever made it', async () => {
    const running = await start();
    const { sandbox } = running;
    const { until } = await listen(running.baseUrl);
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
      await until('changed');
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
      const changes = new Changes();
      const record = new RequestRecord(createClock(Date.now));
      const live = new LiveEvents(record, changes);
      const listener = () => {
        const res = new StuckResponse();
        live.serve({} as never, res as unknown as Response, () => undefined);
        return res;
      };
      return { changes, live, listener, record, res: listener() };
    }

    it('a burst costs a listener its last 100 rows, not thousands', async () => {
      const { record, res } = serve();
      for (let i = 0; i < 400; i++) arrive(record, '/api/items/all');
      vi.advanceTimersByTime(50);
      const [, data = '[]'] = /^event: rows\ndata: (.*)$/m.exec(await res.drain()) ?? [];
      const numbers = (JSON.parse(data) as { number: number }[]).map(({ number }) => number);
      expect(numbers).toEqual(Array.from({ length: 100 }, (_, i) => i + 301));
    });

    it('one that does not read holds up nobody', async () => {
      const { changes, listener } = serve();
      const reader = listener();
      for (let i = 0; i < 900; i++) {
        changes.note();
        vi.advanceTimersByTime(50);
        if (i % 100 === 99) await reader.drain();
      }
      expect((await reader.drain()).match(/event: changed/g)).toHaveLength(900);
    });

    it('one that does not read costs bounded memory, and is told once that it missed something', async () => {
      const { changes, res } = serve();
      // Within its four heartbeats, or it would be let go.
      for (let i = 0; i < 900; i++) {
        changes.note();
        vi.advanceTimersByTime(50);
      }
      const kept = res.writableLength;
      expect(kept).toBeGreaterThan(16_000);
      expect(kept).toBeLessThan(17_000);
      const before = res.writableNeedDrain;
      const sent = await res.drain();
      expect(before).toBe(true);
      expect(sent.match(/event: behind/g)).toHaveLength(1);
      expect(sent.endsWith('event: behind\ndata: \n\n')).toBe(true);
      expect(sent.length).toBeLessThan(17_100);
    });

    it('one that does not read is let go after four heartbeats', () => {
      const { changes, res } = serve();
      for (let i = 0; i < 1000; i++) {
        changes.note();
        vi.advanceTimersByTime(50);
      }
      const atMost = 6 * 15_000;
      vi.advanceTimersByTime(atMost);
      expect(res.destroyed).toBe(true);
    });

    it('one that has left costs nothing any more', () => {
      const { changes, live, res } = serve();
      live.close();
      expect(res.destroyed).toBe(true);
      changes.note();
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
