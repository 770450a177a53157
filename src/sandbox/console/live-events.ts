import type { RequestHandler, Response } from 'express';

/** Changes within this many milliseconds make one event. */
const GATHER = 100;
const HEARTBEAT = 15_000;
const MAX_LISTENERS = 64;
const CHANGED = 'event: changed\ndata:\n\n';

interface Listener {
  readonly res: Response;
  /** It reads too slowly and missed an event: it gets one when it has caught up. */
  isBehind: boolean;
  /** Heartbeats in a row that it was too slow for. */
  missed: number;
}

/**
 * Server-sent events that say "something changed" to open consoles, which then fetch the page again. A
 * listener that does not read is sent nothing more until it does, so it costs no memory and delays no other.
 */
export class LiveEvents {
  readonly #listeners = new Set<Listener>();
  #gathering: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  /** Something changed that a console shows. Costs nothing while none is open. */
  readonly changed = (): void => {
    if (this.#listeners.size === 0) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      for (const listener of this.#listeners) {
        if (listener.res.writableNeedDrain) listener.isBehind = true;
        else listener.res.write(CHANGED);
      }
    }, GATHER).unref();
  };

  readonly serve: RequestHandler = (_req, res) => {
    if (this.#listeners.size >= MAX_LISTENERS) {
      res.writeHead(503, { 'Retry-After': '10' }).end();
      return;
    }
    res.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
    });
    res.write('retry: 1000\n\n');
    const listener: Listener = { res, isBehind: false, missed: 0 };
    this.#listeners.add(listener);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT).unref();
    res.on('drain', () => {
      listener.missed = 0;
      if (listener.isBehind) res.write(CHANGED);
      listener.isBehind = false;
    });
    res.once('close', () => this.#leave(listener));
  };

  close(): void {
    for (const listener of [...this.#listeners]) {
      this.#leave(listener);
      listener.res.destroy();
    }
  }

  #leave(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#gathering);
    this.#heartbeat = undefined;
    this.#gathering = undefined;
  }

  /** Keeps proxies from cutting a silent stream, and ends streams that nobody reads any more. */
  #beat(): void {
    for (const listener of [...this.#listeners]) {
      if (!listener.res.writableNeedDrain) listener.res.write(':\n\n');
      else if (++listener.missed > 3) listener.res.destroy();
    }
  }
}
