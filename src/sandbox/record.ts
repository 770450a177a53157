import type { Request, RequestHandler, Response } from 'express';
import type { SandboxClock } from './clock.js';
import { bodyParameters, type Parameters, queryParameters } from './request.js';

const MAX_RECORDS = 1000;

/** Which part of the sandbox a request went to. */
export type SandboxInterface = 'key-api' | 'login-api' | 'page' | 'media';

/** One request that the sandbox got, without secrets. */
export interface SandboxRequest {
  /** When it came in, in epoch milliseconds by the sandbox's clock. */
  at: number;
  /** The HTTP method. */
  method: string;
  /** Without the query, which carries secrets. */
  path: string;
  /** Which part of the sandbox it went to. */
  interface: SandboxInterface;
  /** The HTTP status that was sent; 0 while there is none (a hanging answer, say). */
  status: number;
  /** Query and body parameters: their values, or `[redacted]` where one is or looks like a secret. */
  params: Record<string, string>;
  /** Real milliseconds until the answer ended, or so far. */
  durationMs: number;
}

interface Entry {
  readonly request: Omit<SandboxRequest, 'status' | 'durationMs'>;
  readonly response: Response;
  readonly startedAt: number;
  endedAt: number | undefined;
}

export function interfaceOf(path: string): SandboxInterface {
  if (/^\/api\/(account|items|purchases)\//i.test(path)) return 'key-api';
  if (/^\/api\//i.test(path)) return 'login-api';
  return path.startsWith('/media/') ? 'media' : 'page';
}

const REDACTED = '[redacted]';

/** Parameter names that carry secrets on either interface or on the sandbox's own pages. */
const SECRET_NAME = /key|secret|token|code|pass|auth|cookie|attempt|session/i;

/** Secrets also turn up in the wrong place: key-like words, UUIDs, anything long without a blank. */
const SECRET_SHAPE = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}|[\w~+/=-]{24,}/i;

const redacted = (text: string): string =>
  SECRET_SHAPE.test(text) || text.length > 100 ? REDACTED : text;

function redactedValue(name: string, value: unknown): string {
  const isSecret = SECRET_NAME.test(name) || (typeof value === 'object' && value !== null);
  return isSecret ? REDACTED : redacted(String(value));
}

const requestOf = ({ request, response, startedAt, endedAt }: Entry): SandboxRequest => ({
  ...request,
  params: { ...request.params },
  // Read when asked for: a client can see an answer before "finish" is emitted here.
  status: response.headersSent ? response.statusCode : 0,
  durationMs: Math.round(((endedAt ?? performance.now()) - startedAt) * 10) / 10,
});

/** The requests that one sandbox got, newest last, the oldest dropped beyond 1,000. */
export class RequestRecord {
  readonly #clock: SandboxClock;
  readonly #changed: () => void;
  readonly #ended: (request: SandboxRequest) => void;
  readonly #entries: Entry[] = [];
  readonly #byRequest = new WeakMap<Request, Entry>();

  /** @param onRequest is called with each request when its answer has ended. */
  constructor(
    clock: SandboxClock,
    onChange: () => void = () => {},
    onRequest: (request: SandboxRequest) => void = () => {},
  ) {
    this.#clock = clock;
    this.#changed = onChange;
    this.#ended = onRequest;
  }

  list(): SandboxRequest[] {
    return this.#entries.map(requestOf);
  }

  /** The last so many requests, newest first, without those for pictures and sounds. */
  latest(most: number): SandboxRequest[] {
    const entries = this.#entries.filter(({ request }) => request.interface !== 'media');
    return entries.slice(-most).reverse().map(requestOf);
  }

  clear(): void {
    this.#entries.length = 0;
    this.#changed();
  }

  /** Notes every request as it comes in, except those of the console. */
  readonly arrivals: RequestHandler = (req, res, next) => {
    // The console shows the record, and its forms carry secrets.
    if (/^\/sandbox\/console(\/|$)/i.test(req.path)) return next();
    const entry: Entry = {
      request: {
        at: this.#clock.now(),
        method: req.method,
        path: req.path.split('/').map(redacted).join('/'),
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
    res.once('close', () => {
      entry.endedAt = performance.now();
      this.#changed();
      this.#ended(requestOf(entry));
    });
    this.#note(entry, queryParameters(req));
    next();
  };

  readonly bodies: RequestHandler = (req, _res, next) => {
    const entry = this.#byRequest.get(req);
    if (entry) this.#note(entry, bodyParameters(req));
    next();
  };

  #note({ request }: Entry, parameters: Parameters): void {
    for (const [name, value] of parameters) {
      request.params[redacted(name)] = redactedValue(name, value);
    }
    this.#changed();
  }
}
