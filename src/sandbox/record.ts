import type { Request, RequestHandler } from 'express';
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
  readonly status: number;
  /** Query and body parameters: their values, or `[redacted]` where one is or looks like a secret. */
  params: Record<string, string>;
  /** Real milliseconds until the answer ended, or so far. */
  readonly durationMs: number;
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

const copyOf = (request: SandboxRequest): SandboxRequest => ({
  ...request,
  params: { ...request.params },
});

/** The requests that one sandbox got, newest last, the oldest dropped beyond 1,000. */
export class RequestRecord {
  readonly #clock: SandboxClock;
  readonly #changed: () => void;
  readonly #ended: (request: SandboxRequest) => void;
  readonly #requests: SandboxRequest[] = [];
  readonly #byRequest = new WeakMap<Request, SandboxRequest>();

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
    return this.#requests.map(copyOf);
  }

  clear(): void {
    this.#requests.length = 0;
    this.#changed();
  }

  /** Notes every request as it comes in, except those of the console. */
  readonly arrivals: RequestHandler = (req, res, next) => {
    // The console shows the record, and its forms carry secrets.
    if (/^\/sandbox\/console(\/|$)/i.test(req.path)) return next();
    const startedAt = performance.now();
    let endedAt: number | undefined;
    const request: SandboxRequest = {
      at: this.#clock.now(),
      method: req.method,
      path: req.path.split('/').map(redacted).join('/'),
      interface: interfaceOf(req.path),
      // Read when asked for: a client can see an answer before it has ended here.
      get status() {
        return res.headersSent ? res.statusCode : 0;
      },
      params: {},
      get durationMs() {
        return Math.round(((endedAt ?? performance.now()) - startedAt) * 10) / 10;
      },
    };
    this.#byRequest.set(req, request);
    this.#requests.push(request);
    if (this.#requests.length > MAX_RECORDS) this.#requests.shift();
    res.once('close', () => {
      endedAt = performance.now();
      this.#changed();
      this.#ended(copyOf(request));
    });
    this.#note(request, queryParameters(req));
    next();
  };

  readonly bodies: RequestHandler = (req, _res, next) => {
    const request = this.#byRequest.get(req);
    if (request) this.#note(request, bodyParameters(req));
    next();
  };

  #note({ params }: SandboxRequest, parameters: Parameters): void {
    for (const [name, value] of parameters) params[redacted(name)] = redactedValue(name, value);
    this.#changed();
  }
}
