import { Writable } from 'node:stream';
import type { Response } from 'express';
import { describe, expect, vi } from 'vitest';
import { LiveEvents } from '../../../src/sandbox/console/live-events.js';
import { createSandbox } from '../../../src/sandbox/index.js';
import { listen } from '../../support/listen.js';
import { it } from './support.js';

/** A console that is open. */
async function open(origin: string) {
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
  };
}

/** A response whose reader never reads. */
class StuckResponse extends Writable {
  constructor() {
    super({ highWaterMark: 256, decodeStrings: false });
  }

  writeHead(): this {
    return this;
  }

  override _write(): void {}
}

/** Stops the time that passes between two events. */
const useFakeTimeouts = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

describe('live events of the console', () => {
  it('follow a request when it comes in and when it is answered', async ({ running }) => {
    const { response, next } = await open(running.baseUrl);
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

  it('follow every kind of change', async ({ running }) => {
    const { sandbox } = running;
    const { next } = await open(running.baseUrl);
    useFakeTimeouts();
    for (const change of [
      () => Object.assign(sandbox.faults, { bom: true }),
      () => sandbox.faults.clear(),
      () => Object.assign(sandbox.dialect, { nulls: true }),
      () => sandbox.clock.advance(1000),
      () => sandbox.data.rotateApiKey('northlight'),
      () => sandbox.data.addPurchase({ item_id: 1042 }),
      () => sandbox.data.revokeToken('x'),
      () => Object.assign(sandbox, { redirectUrl: undefined }),
      () => sandbox.clearRequests(),
    ]) {
      change();
      vi.advanceTimersByTime(100);
      expect(await next()).toBe('event: changed');
    }
  });

  it('close() ends them also where the app listens by itself', async () => {
    const sandbox = createSandbox();
    const { next } = await open(await listen(sandbox.app));
    await sandbox.close();
    expect(await next()).toBeUndefined();
  });

  it('a burst is one event; one that does not read is cut off, which leaves nothing behind', () => {
    useFakeTimeouts();
    const live = new LiveEvents();
    const [stuck, reader] = [new StuckResponse(), new StuckResponse()];
    const write = vi.spyOn(reader, 'write').mockReturnValue(true);
    for (const res of [stuck, reader]) {
      live.serve({} as never, res as unknown as Response, () => undefined);
    }
    write.mockClear();
    for (let i = 0; i < 400; i++) live.notify();
    vi.advanceTimersByTime(100);
    expect(write.mock.calls).toEqual([['event: changed\ndata:\n\n']]);
    for (let i = 0; i < 30; i++) {
      live.notify();
      vi.advanceTimersByTime(100);
    }
    expect([stuck.destroyed, stuck.writableLength < 300]).toEqual([true, true]);
    expect([reader.destroyed, write.mock.calls.length]).toEqual([false, 31]);
    live.close();
    live.notify();
    expect([reader.destroyed, vi.getTimerCount()]).toEqual([true, 0]);
  });
});
