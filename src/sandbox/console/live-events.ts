import type { RequestHandler, Response } from 'express';
import type { Changes } from '../changes.js';
import type { RequestRecord } from '../record.js';
import { ROWS, requestRow } from './requests-table.js';

/** What happens within this many milliseconds is told together. */
const GATHER = 50;
const HEARTBEAT = 15_000;
const MAX_LISTENERS = 64;

interface Listener {
  readonly res: Response;
  /** It reads too slowly and was not told something: it is to look at everything once it has caught up. */
  isBehind: boolean;
  /** Heartbeats in a row that it was too slow for. */
  missed: number;
}

const message = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

/**
 * Tells open consoles what happens, as server-sent events: `rows` with the requests that came in or were
 * answered, `changed` when something else of the sandbox did, `behind` for who could not keep up. A listener
 * that does not read is sent nothing more until it does, so it costs no memory and holds up nobody.
 */
export class LiveEvents {
  readonly #record: RequestRecord;
  readonly #changes: Changes;
  readonly #listeners = new Set<Listener>();
  readonly #numbers = new Set<number>();
  #isChanged = false;
  #gathering: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;

  constructor(record: RequestRecord, changes: Changes) {
    this.#record = record;
    this.#changes = changes;
  }

  /** GET …/events */
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
    this.#start();
    res.on('drain', () => {
      listener.missed = 0;
      if (!listener.isBehind) return;
      listener.isBehind = false;
      res.write(message('behind', ''));
    });
    res.once('close', () => this.#leave(listener));
  };

  /** Ends all streams at once. */
  close(): void {
    for (const listener of [...this.#listeners]) {
      this.#leave(listener);
      listener.res.destroy();
    }
  }

  #start(): void {
    if (this.#stop) return;
    const heartbeat = setInterval(() => this.#beat(), HEARTBEAT).unref();
    const leave = [
      this.#record.watch((number) => {
        this.#numbers.add(number);
        this.#gather();
      }),
      this.#changes.watch(() => {
        this.#isChanged = true;
        this.#gather();
      }),
      () => clearInterval(heartbeat),
      () => clearTimeout(this.#gathering),
    ];
    this.#stop = () => {
      for (const each of leave) each();
    };
  }

  #leave(listener: Listener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
    this.#gathering = undefined;
    this.#numbers.clear();
    this.#isChanged = false;
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#tell();
    }, GATHER).unref();
  }

  #tell(): void {
    // Only what a console still shows: a burst of thousands is told as its last rows.
    const rows = this.#record
      .latest(ROWS)
      .filter(({ number }) => this.#numbers.has(number))
      .map((request) => ({ number: request.number, html: requestRow(request).toString() }));
    const text = [
      rows.length > 0 ? message('rows', JSON.stringify(rows)) : '',
      this.#isChanged ? message('changed', '') : '',
    ].join('');
    this.#numbers.clear();
    this.#isChanged = false;
    if (text !== '') for (const listener of this.#listeners) this.#send(listener, text);
  }

  #send(listener: Listener, text: string): void {
    if (listener.res.writableNeedDrain) listener.isBehind = true;
    else listener.res.write(text);
  }

  /** Keeps proxies from cutting a silent stream, and finds out who has left without a word. */
  #beat(): void {
    for (const listener of [...this.#listeners]) {
      if (!listener.res.writableNeedDrain) listener.res.write(':\n\n');
      else if (++listener.missed > 3) listener.res.destroy();
    }
  }
}
