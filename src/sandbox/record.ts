import type { Request, RequestHandler, Response } from 'express';
import type { SandboxClock } from './clock.js';
import { bodyParameters, queryParameters } from './parameters.js';
import { redactedName, redactedPath, redactedValue } from './redact.js';

/** How many requests are kept. */
const MAX_RECORDS = 1000;

/** Which part of the sandbox a request went to. */
export type SandboxInterface = 'key-api' | 'login-api' | 'page' | 'media';

/** One request the sandbox got. Holds no secret: see {@link SandboxRequest.params}. */
export interface SandboxRequest {
  /** When it came in, in epoch milliseconds by the sandbox's clock. */
  at: number;
  /** The HTTP method. */
  method: string;
  /** Without the query, which carries secrets. */
  path: string;
  /** What it asked for. */
  interface: SandboxInterface;
  /** The HTTP status that was sent; 0 while there is none (a hanging answer, say). */
  status: number;
  /** Query and body parameters: their values, or `[redacted]` where one is or looks like a secret. */
  params: Record<string, string>;
  /** Real milliseconds until the answer ended, or so far. */
  durationMs: number;
}

/** A request with its number, which stays the same while its answer is under way. */
export interface NumberedRequest extends SandboxRequest {
  readonly number: number;
}

interface Entry {
  readonly number: number;
  readonly request: Omit<SandboxRequest, 'status' | 'durationMs'>;
  readonly response: Response;
  readonly startedAt: number;
  endedAt: number | undefined;
}

/** Which interface a path belongs to. */
export function interfaceOf(path: string): SandboxInterface {
  if (/^\/api\/(account|items|purchases)\//i.test(path)) return 'key-api';
  if (/^\/api\//i.test(path)) return 'login-api';
  if (path.startsWith('/media/')) return 'media';
  return 'page';
}

const requestOf = ({ request, response, startedAt, endedAt }: Entry): SandboxRequest => ({
  ...request,
  params: { ...request.params },
  // Read from the response when asked: a client may see an answer before "finish" is emitted here.
  status: response.headersSent ? response.statusCode : 0,
  durationMs: Math.round(((endedAt ?? performance.now()) - startedAt) * 10) / 10,
});

/** The requests one sandbox got, newest last, the oldest dropped beyond 1,000. */
export class RequestRecord {
  readonly #clock: SandboxClock;
  readonly #entries: Entry[] = [];
  readonly #byRequest = new WeakMap<Request, Entry>();
  readonly #watchers = new Set<(number: number) => void>();
  readonly #cleared: () => void;
  #count = 0;

  constructor(clock: SandboxClock, onClear: () => void = () => {}) {
    this.#clock = clock;
    this.#cleared = onClear;
  }

  /** A copy of the record. */
  list(): SandboxRequest[] {
    return this.#entries.map(requestOf);
  }

  /** The last so many requests, newest last, with their numbers; without those for pictures and sounds. */
  latest(most: number): NumberedRequest[] {
    const found: NumberedRequest[] = [];
    for (let i = this.#entries.length - 1; i >= 0 && found.length < most; i--) {
      const entry = this.#entries[i];
      if (entry && entry.request.interface !== 'media') {
        found.push({ number: entry.number, ...requestOf(entry) });
      }
    }
    return found.reverse();
  }

  /** Calls `watcher` with the number of each request that comes in, is read, or is answered. */
  watch(watcher: (number: number) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Forgets what came in so far. */
  clear(): void {
    this.#entries.length = 0;
    this.#cleared();
  }

  /** Notes every request as it comes in, except those of the console. */
  readonly arrivals: RequestHandler = (req, res, next) => {
    // The console shows the record, and its forms carry secrets.
    if (/^\/sandbox\/console(\/|$)/i.test(req.path)) return next();
    const entry: Entry = {
      number: ++this.#count,
      request: {
        at: this.#clock.now(),
        method: req.method,
        path: redactedPath(req.path),
        interface: interfaceOf(req.path),
        params: {},
      },
      response: res,
      startedAt: performance.now(),
      endedAt: undefined,
    };
    this.#byRequest.set(req, entry);
    this.#entries.push(entry);
    if (this.#entries.length > MAX_RECORDS) this.#entries.shift();
    this.#note(entry, queryParameters(req));
    res.once('close', () => {
      entry.endedAt = performance.now();
      this.#tell(entry);
    });
    this.#tell(entry);
    next();
  };

  /** Adds the parameters of a body, once it was read. */
  readonly bodies: RequestHandler = (req, _res, next) => {
    const entry = this.#byRequest.get(req);
    if (entry) {
      this.#note(entry, bodyParameters(req));
      this.#tell(entry);
    }
    next();
  };

  #tell({ number }: Entry): void {
    for (const watcher of this.#watchers) watcher(number);
  }

  #note(entry: Entry, parameters: ReadonlyMap<string, unknown>): void {
    for (const [name, value] of parameters) {
      entry.request.params[redactedName(name)] = redactedValue(name, value);
    }
  }
}
