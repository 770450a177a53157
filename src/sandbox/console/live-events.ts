import type { RequestHandler, Response } from 'express';

/** Changes within this many milliseconds make one event. */
const BATCH_INTERVAL = 100;

/** Server-sent events that say "something changed" to open consoles, which then fetch the page again. */
export class LiveEvents {
  readonly #listeners = new Set<Response>();
  #gathering: NodeJS.Timeout | undefined;

  /** Something changed that a console shows. Costs nothing while none is open. */
  readonly notify = (): void => {
    if (this.#listeners.size === 0) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      for (const res of this.#listeners) {
        // One that does not read is cut off, so that it costs no memory; a browser connects again.
        if (res.writableNeedDrain) res.destroy();
        else res.write('event: changed\ndata:\n\n');
      }
    }, BATCH_INTERVAL).unref();
  };

  readonly serve: RequestHandler = (_req, res) => {
    res.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
    });
    res.write('retry: 1000\n\n');
    this.#listeners.add(res);
    res.once('close', () => this.#listeners.delete(res));
  };

  close(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    for (const res of this.#listeners) res.destroy();
    this.#listeners.clear();
  }
}
